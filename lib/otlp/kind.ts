/** What kind of step a span is. */
import type { SpanKind } from './dialect.ts'
import { dialects, namesOf } from './dialects.ts'
import type { Fields } from './fields.ts'

const MODEL_NAMES = namesOf(dialect => dialect.model)

/** What the first dialect says that says something; a span that names a model, and no kind, is a call of it. */
export function readKind(fields: Fields): SpanKind {
  for (const dialect of dialects) {
    const kind = dialect.kind(fields)
    if (kind !== undefined) return kind
  }
  return fields.find(MODEL_NAMES) === undefined ? 'custom' : 'llm'
}
