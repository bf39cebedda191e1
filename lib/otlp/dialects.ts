/**
 * All dialects in the order of their precedence: conventions of one product come before general ones. A span may use
 * several dialects; each field is taken from the first dialect that has it.
 */
import type { Json } from '../trace/json/exact-json.ts'
import type { Dialect, TraceNames } from './dialect.ts'
import { genAi } from './dialects/gen-ai.ts'
import { langfuse } from './dialects/langfuse.ts'
import { logfire } from './dialects/logfire.ts'
import { mlflow } from './dialects/mlflow.ts'
import { openInference } from './dialects/open-inference.ts'
import { openLlmetry } from './dialects/open-llmetry.ts'
import { pydanticAi } from './dialects/pydantic-ai.ts'
import { vercelAi } from './dialects/vercel-ai.ts'
import type { Fields } from './fields.ts'
import { readForm } from './wire/attribute-values.ts'

/** Logfire is last: its message is better than the name of the span, but worse than the name of an agent or a tool. */
export const dialects: readonly Dialect[] = [
  langfuse,
  mlflow,
  openInference,
  vercelAi,
  openLlmetry,
  pydanticAi,
  genAi,
  logfire
]

/** The names of all dialects for one field, in order, each name once. */
export const namesOf = (list: (dialect: Dialect) => readonly string[] | undefined): readonly string[] => [
  ...new Set(dialects.flatMap(dialect => list(dialect) ?? []))
]

export const traceNamesOf = (list: (names: TraceNames) => readonly string[] | undefined): readonly string[] =>
  namesOf(({ trace }) => trace && list(trace))

/** Attributes that hold a text as JSON text, at least of one sender. */
const QUOTED = new Set(namesOf(({ quoted }) => quoted))

/** The value of an attribute that a text is read from. */
export function unquoted(fields: Fields, name: string): Json {
  const value = fields.get(name)
  // An id that begins with a digit is not tried as JSON either (lib/otlp/wire/attribute-values.ts).
  if (typeof value !== 'string' || !QUOTED.has(name) || !/^\s*"/.test(value)) return value
  const read = readForm(value, 'json')
  return typeof read === 'string' ? read : value
}
