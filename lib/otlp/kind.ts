import type { DialectKind } from './dialect.ts'
import { dialects, namesOf } from './dialects.ts'
import type { Fields } from './fields.ts'

const MODEL_NAMES = namesOf(dialect => dialect.model)

/**
 * Returns the first kind that a dialect states, or else llm for a span that names a model and custom for other spans.
 */
export function readKind(fields: Fields): DialectKind {
  for (const dialect of dialects) {
    const kind = dialect.kind(fields)
    if (kind !== undefined) return kind
  }
  return fields.find(MODEL_NAMES) === undefined ? 'custom' : 'llm'
}
