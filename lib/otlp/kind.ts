/** Finds out what kind of step a span is. */
import type { DialectKind } from './dialect.ts'
import { dialects, namesOf } from './dialects.ts'
import type { Fields } from './fields.ts'

const MODEL_NAMES = namesOf(dialect => dialect.model)

/**
 * The kind from the first dialect that states one. A span that states no kind, but names a model, is a call of that.
 */
export function readKind(fields: Fields): DialectKind {
  for (const dialect of dialects) {
    const kind = dialect.kind(fields)
    if (kind !== undefined) return kind
  }
  return fields.find(MODEL_NAMES) === undefined ? 'custom' : 'llm'
}
