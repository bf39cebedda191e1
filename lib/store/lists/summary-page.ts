/**
 * Reads the summaries of a list's page as one string. PostgreSQL joins the values of all traces on the page, and
 * Node.js converts the values to JSON. Of all approaches measured, this approach uses the least CPU
 * (test/bench/RESULTS.md, "The text of a page"), because the driver is slow at decoding single columns, and PostgreSQL
 * is slow at producing JSON. In addition, PostgreSQL's format for times and for exponents of doubles differs from the
 * format of responses.
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { readTimestamp, readUuid } from '../../database/types.ts'
import { type AnswerTexts, list } from '../answers/json-text.ts'
import { readScoreMap, scoreMapText } from '../answers/score-json.ts'
import { environmentMember, joinSummary, renderUsage, type SummaryParts } from '../answers/trace-json.ts'

/** Separates values. `to_json` escapes this character, and values not passed through `to_json` cannot contain it. */
const SEPARATOR = '\u0001'

/**
 * SQL for a trace's values, over a row of traces as t; null becomes the empty string. readSummary expects the values in
 * this order, followed by the string of the trace's scores.
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
 * Returns SQL for the aggregate that builds a page's string. Its input rows are traces of project $1 as t, in page
 * order. The string is null if there are no rows.
 */
export const pageText = (names: TableNames): string =>
  `string_agg(concat(${VALUES}, E'\\x01', ${scoreMapText(names)}), E'\\x01')`

export interface Summary {
  readonly id: string
  /** Sort keys in the form that cursors use; an empty string if the trace has no value. */
  readonly startedAt: string
  readonly durationMs: string
  readonly costUsd: string
  /** Returns the summary as a JSON string. */
  render(): string
}

/** Splits a page's string into summaries. */
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
  // PostgreSQL's shortest notation of a double may differ from JavaScript's for the same number.
  const costUsd = count(cost)
  const usage = { inputTokens: count(inputTokens), outputTokens: count(outputTokens), totalTokens: count(totalTokens) }
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

/** Returns the summaries of the given traces that exist, newest first, as a JSON array string. */
export async function readTracesById(
  sql: Sql,
  projectId: number,
  ids: readonly string[],
  names: TableNames = SCHEMA_NAMES
): Promise<string> {
  const [{ page }] = await sql.unsafe<[{ readonly page: string | null }]>(
    `select ${pageText(names)} as page from (
      select * from ${names.traces} where project_id = $1 and id = any ($2::uuid[]) order by started_at desc, id desc
    ) t`,
    [projectId, ids as string[]],
    { prepare: true }
  )
  return list(readSummaries(page).map(trace => trace.render()))
}
