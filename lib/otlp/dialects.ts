/**
 * All dialects in order of precedence. Product-specific conventions come before general conventions. A span may use
 * several dialects, and each field is taken from the first dialect that has it.
 */
import type { Json } from '../trace/json/exact-json.ts'
import type { Dialect, TraceNames } from './dialect.ts'
import { codingAgents, goose } from './dialects/coding-agents.ts'
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

/**
 * Logfire is last because a Logfire message is a better name than the span's own name, but a worse name than that of an
 * agent or tool.
 */
export const dialects: readonly Dialect[] = [
  langfuse,
  mlflow,
  codingAgents,
  openInference,
  vercelAi,
  openLlmetry,
  pydanticAi,
  genAi,
  goose,
  logfire
]

/** Returns every dialect's attribute names for a field, in order of precedence, without duplicates. */
export const namesOf = (list: (dialect: Dialect) => readonly string[] | undefined): readonly string[] => [
  ...new Set(dialects.flatMap(dialect => list(dialect) ?? []))
]

export const traceNamesOf = (list: (names: TraceNames) => readonly string[] | undefined): readonly string[] =>
  namesOf(({ trace }) => trace && list(trace))

/**
 * Attributes whose strings MLflow encodes as JSON. Names without MLflow's prefix are encoded that way only on MLflow's
 * spans.
 */
const QUOTED = new Set(namesOf(({ quoted }) => quoted))

const MLFLOW = 'mlflow.'

/** Returns an attribute's value, decoded if it is a JSON-encoded string. */
export function unquoted(fields: Fields, name: string): Json {
  const value = fields.get(name)
  // Checking for a quotation mark keeps ids that begin with a digit from being parsed as JSON.
  if (typeof value !== 'string' || !QUOTED.has(name) || !/^\s*"/.test(value)) return value
  const isMlflow = name.startsWith(MLFLOW) || fields.sender.isMlflow || fields.names(MLFLOW).length > 0
  if (!isMlflow) return value
  const read = readForm(value, 'json')
  return typeof read === 'string' ? read : value
}
