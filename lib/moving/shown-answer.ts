/** Converts a response of `GET /api/v1/traces/{id}` to the rows from which tables and datasets are written. */
import type { AuthoredScore, ShownTrace } from '../store/answers/traces.ts'
import { type Json, parseExact, stringifyExact } from '../trace/json/exact-json.ts'

type Members = Readonly<Record<string, Json>>

/** Members that contain free JSON. Rows have these as JSON text. */
const FREE: ReadonlySet<string> = new Set(['input', 'output', 'metadata', 'attributes', 'events', 'value'])
/** Members whose empty value is null in rows. */
const EMPTY: Readonly<Record<string, string>> = { metadata: '{}', attributes: '{}', events: '[]' }

/** Each character of a row's string is one byte, as in rows that are read for an export. */
export function shownOf(answer: string): ShownTrace {
  const { trace, spans, scores } = parseExact(answer) as {
    readonly trace: Members
    readonly spans: readonly Members[]
    readonly scores: readonly Members[]
  }
  return {
    trace: rowOf(trace) as unknown as ShownTrace['trace'],
    spans: spans.map(span => rowOf(span) as unknown as ShownTrace['spans'][number]),
    scores: scores.map(score => ({ ...(rowOf(score) as unknown as AuthoredScore), authorId: null }))
  }
}

function rowOf({ usage, ...members }: Members): Members {
  const row = Object.entries(members).map(([name, value]) => [
    name,
    FREE.has(name) && value !== null ? freeOf(name, stringifyExact(value)) : textOf(value)
  ])
  const { inputTokens = null, outputTokens = null, totalTokens = null } = (usage ?? {}) as Members
  return { ...Object.fromEntries(row), inputTokens, outputTokens, totalTokens }
}

const freeOf = (name: string, json: string): string | null => (json === EMPTY[name] ? null : bytesOf(json))

const textOf = (value: Json): Json =>
  typeof value === 'string' ? bytesOf(value) : Array.isArray(value) ? value.map(textOf) : numberOf(value)

/** Numbers in rows are doubles, written as in API responses. */
const numberOf = (value: Json): Json =>
  typeof value === 'object' && value !== null && 'isLosslessNumber' in value ? Number(String(value)) : value

const bytesOf = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')
