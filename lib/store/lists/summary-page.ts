/**
 * The traces of a list's page as one text: PostgreSQL joins what a summary shows of each trace, and node puts the JSON
 * together. Measured for a page of 50 (PostgreSQL 18, µs of CPU on a busy machine; a prepared statement in each case):
 *
 * | what PostgreSQL sends                       | PostgreSQL | node |
 * |---------------------------------------------|-----------:|-----:|
 * | 22 columns a row, decoded by the driver     |        400 | 1300 |
 * | one text a row                              |        725 |  400 |
 * | one text a page (this)                      |        700 |  350 |
 * | one text a page, JSON made by row_to_json   |       1000 |  320 |
 * | one text a page, JSON made by concat        |       1100 |  350 |
 *
 * JSON made by PostgreSQL would have to be mended as well: it writes times and the exponents of doubles in its own way.
 */
import { readTimestamp, readUuid } from '../../database/types.ts'
import type { Texts } from '../answers/json-text.ts'
import { readScoreMap, SCORE_MAP_TEXT } from '../answers/score-json.ts'
import { environmentMember, joinSummary, renderUsage, type SummaryParts } from '../answers/trace-json.ts'

/** Between values; to_json escapes it, and no other value can hold it. */
const SEPARATOR = '\u0001'

/** What is sent of a trace, the columns of traces as t: null is nothing. readSummary takes them in this order. */
const VALUES = [
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
  't.ingested_at',
  SCORE_MAP_TEXT
] as const
type Values = Texts<typeof VALUES>

/** The aggregate of a page, over rows of traces of project $1 as t in the order of the page; null where there are none. */
export const PAGE_TEXT = `string_agg(concat(${VALUES.join(", E'\\x01', ")}), E'\\x01')`

/** A trace of a page. */
export interface Summary {
  readonly id: string
  /** What lists are sorted by, as cursors have it; empty where the trace has none. */
  readonly startedAt: string
  readonly durationMs: string
  readonly costUsd: string
  /** As JSON text. */
  render(): string
}

/** Takes a page's text apart. */
export function readSummaries(page: string | null): Summary[] {
  const values = page === null ? [] : page.split(SEPARATOR)
  const each = VALUES.length
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
