/**
 * Reads the summaries of a list's page as one text. PostgreSQL joins the values of all traces of the page, and node
 * makes JSON of them. This takes the least CPU of the ways that were measured (test/bench/RESULTS.md, "The text of a
 * page"): the driver takes long to decode single columns, and PostgreSQL takes long to make JSON. Moreover, PostgreSQL
 * writes times and the exponents of doubles in JSON in another way than answers do.
 */
import type { TableNames } from '../../database/tables.ts'
import { readTimestamp, readUuid } from '../../database/types.ts'
import type { AnswerTexts } from '../answers/json-text.ts'
import { readScoreMap, scoreMapText } from '../answers/score-json.ts'
import { environmentMember, joinSummary, renderUsage, type SummaryParts } from '../answers/trace-json.ts'

/** Stands between values. to_json escapes this character, and the values without to_json cannot hold it. */
const SEPARATOR = '\u0001'

/**
 * The values of a trace, over a row of traces as t; null becomes the empty text. readSummary takes them in this order, and
 * the text of the trace's scores behind them.
 */
const COLUMNS = [
  't.id',
  'to_json(t.name)',
  't.status',
  't.environment',
  't.started_at',
  't.ended_at',
  't.duration_ms',
  'to_json(t.provider)',
  'to_json(t.model)',
  'to_json(t.session_id)',
  'to_json(t.user_id)',
  'to_json(t.tags)',
  't.input_tokens',
  't.output_tokens',
  't.total_tokens',
  't.cost_usd',
  't.span_count',
  't.error_count',
  't.estimated_bytes',
  't.ingested_at'
] as const
type Values = AnswerTexts<readonly [...typeof COLUMNS, 'scores']>
const VALUES = COLUMNS.join(", E'\\x01', ")

/**
 * SQL of the aggregate that makes the text of a page. Its rows are traces of project $1 as t, in the order of the
 * page. The text is null if there are no rows.
 */
export const pageText = (names: TableNames): string =>
  `string_agg(concat(${VALUES}, E'\\x01', ${scoreMapText(names)}), E'\\x01')`

/** One trace of a page. */
export interface Summary {
  readonly id: string
  /** The three sort keys, as cursors have them; empty if the trace has no such key. */
  readonly startedAt: string
  readonly durationMs: string
  readonly costUsd: string
  /** The summary as JSON text. */
  render(): string
}

/** Takes the text of a page apart. */
export function readSummaries(page: string | null): Summary[] {
  const values = page === null ? [] : page.split(SEPARATOR)
  const each = COLUMNS.length + 1
  return Array.from({ length: values.length / each }, (_, i) => readSummary(values.slice(i * each, (i + 1) * each)))
}

const orNull = (value: string): string => value || 'null'
const count = (value: string): number | null => (value === '' ? null : Number(value))
const time = (value: string): string => (value === '' ? 'null' : `"${readTimestamp(value)}"`)

function readSummary(values: readonly string[]): Summary {
  const [uuid, name, status, environment, started, endedAt, durationMs, ...rest] = values as unknown as Values
  const [provider, model, sessionId, userId, tags, inputTokens, outputTokens, totalTokens, cost, ...counts] = rest
  const [spanCount, errorCount, estimatedBytes, ingestedAt, scores] = counts
  const id = readUuid(uuid)
  const startedAt = readTimestamp(started)
  // PostgreSQL's shortest text of a double is the same number, but not always the text that JavaScript writes.
  const costUsd = count(cost)
  const usage = {
    inputTokens: count(inputTokens),
    outputTokens: count(outputTokens),
    totalTokens: count(totalTokens)
  }
  const parts: SummaryParts = {
    id,
    name,
    status,
    environment: environmentMember({ environment: environment || null }),
    startedAt,
    endedAt: time(endedAt),
    durationMs: orNull(durationMs),
    provider: orNull(provider),
    model: orNull(model),
    sessionId: orNull(sessionId),
    userId: orNull(userId),
    tags: tags || '[]',
    usage: renderUsage(usage),
    costUsd,
    spanCount,
    errorCount,
    estimatedBytes,
    ingestedAt: time(ingestedAt)
  }
  return {
    id,
    startedAt,
    durationMs,
    costUsd: costUsd === null ? '' : String(costUsd),
    render: () => `{${joinSummary(parts, readScoreMap(scores))}}`
  }
}
