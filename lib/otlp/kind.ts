import { dialects, namesOf } from './dialects.ts'
import { type Fields, groupOf } from './fields.ts'
import type { DialectKind } from './kind-names.ts'

const MODEL_NAMES = namesOf(dialect => dialect.model)
const USAGE_NAMES = namesOf(({ usageDetails = [], inputTokens = [], outputTokens = [], totalTokens = [] }) => [
  ...usageDetails,
  ...inputTokens,
  ...outputTokens,
  ...totalTokens
])
const MODELS = groupOf(MODEL_NAMES)
const USAGE = groupOf(USAGE_NAMES)
/**
 * OpenTelemetry's kinds for spans that handle a request or a message. The token counts of such a span may be the sum
 * over the calls inside the span.
 */
const HANDLERS: readonly number[] = [2, 5]

/**
 * Returns the first kind that a dialect reports. If no dialect reports a kind, the span is an llm if it names a model
 * or reports token counts, and custom otherwise.
 */
export function readKind(fields: Fields, otelKind: number): DialectKind {
  for (const dialect of dialects) {
    const kind = dialect.kind(fields)
    if (kind !== undefined) return kind
  }
  if (fields.mentions(MODELS) && fields.find(MODEL_NAMES) !== undefined) return 'llm'
  const states = fields.mentions(USAGE) && fields.find(USAGE_NAMES) !== undefined
  return states && !HANDLERS.includes(otelKind) ? 'llm' : 'custom'
}
