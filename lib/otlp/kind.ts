import type { DialectKind } from './dialect.ts'
import { dialects, namesOf } from './dialects.ts'
import type { Fields } from './fields.ts'

const MODEL_NAMES = namesOf(dialect => dialect.model)

/** Returns the kind from the first dialect that states one; otherwise llm for spans that name a model, and custom. */
export function readKind(fields: Fields): DialectKind {
  for (const dialect of dialects) {
    const kind = dialect.kind(fields)
    if (kind !== undefined) return kind
  }
  return fields.find(MODEL_NAMES) === undefined ? 'custom' : 'llm'
}
