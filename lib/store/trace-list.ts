/**
 * The trace list (specification 4.7): pages found by keyset on (sort key, id), which an index serves at any depth. The
 * bodies of traces are never read.
 */
import type { Sql } from 'postgres'
import type { Edge } from '../cursor.ts'
import { list } from './json.ts'
import { edgeAbove, edgeBelow, type Sort, TRACE_ORDERS } from './order.ts'
import { readScoreMaps } from './scores.ts'
import { renderSummary, type SummaryRow } from './trace-json.ts'

/** Filters are exact and combine with AND; `from` and `to` (canonical timestamps) are for the newest-first order only. */
export interface TraceFilters {
  readonly status?: string | undefined
  readonly model?: string | undefined
  readonly name?: string | undefined
  readonly tag?: string | undefined
  /** In lower case; 'unassigned' is what keys without an environment stamp. */
  readonly environment?: string | undefined
  readonly sessionId?: string | undefined
  readonly userId?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export interface TraceQuery extends TraceFilters {
  readonly sort: Sort
  readonly limit: number
  /** At most one of the two. */
  readonly after?: Edge | undefined
  readonly before?: Edge | undefined
}

export interface TracePage {
  /** The summaries, as the text of a JSON array. */
  readonly traces: string
  /** Where the page after this one begins; undefined: this is the last. */
  readonly next: Edge | undefined
  /** Where the page before this one ends; undefined: this is the first. */
  readonly previous: Edge | undefined
}

interface Row extends SummaryRow {
  readonly seq: number
  readonly scoreCount: number
  /** The sort key as exact text. */
  readonly key: string | number
}

const SORT_COLUMNS = { newest: 'started_at', slowest: 'duration_ms', costliest: 'cost_usd' } as const
const FILTER_COLUMNS = [
  ['status', 'status'],
  ['model', 'model'],
  ['name', 'name'],
  ['environment', 'environment'],
  ['sessionId', 'session_id'],
  ['userId', 'user_id']
] as const

/** Down the list (older, faster, cheaper) or up. */
type Direction = 'down' | 'up'

/** The first `limit` rows from an edge on, nearest first. */
function walk(sql: Sql, projectId: number, query: TraceQuery, direction: Direction, edge: Edge, limit: number) {
  const down = direction === 'down'
  const key = sql(SORT_COLUMNS[query.sort])
  const way = down ? sql`desc` : sql`asc`
  const beyond = down ? (edge.inclusive ? sql`<=` : sql`<`) : edge.inclusive ? sql`>=` : sql`>`
  const conditions = [sql`project_id = ${projectId}`]
  for (const [filter, column] of FILTER_COLUMNS) {
    const value = query[filter]
    if (value !== undefined) conditions.push(sql`and ${sql(column)} = ${value}`)
  }
  if (query.tag !== undefined) conditions.push(sql`and tags @> array[${query.tag}]`)
  // The bound ahead; the one behind is in the edge.
  if (query.sort !== 'newest') conditions.push(sql`and ${key} is not null`)
  else if (down) conditions.push(sql`and started_at >= ${query.from ?? '-infinity'}`)
  else conditions.push(sql`and started_at <= ${query.to ?? 'infinity'}`)
  return sql<Row[]>`
    select seq, score_count as "scoreCount", ${key} as key, id, name, status, environment,
      started_at as "startedAt", ended_at as "endedAt", duration_ms as "durationMs", provider, model,
      session_id as "sessionId", user_id as "userId", tags, input_tokens as "inputTokens",
      output_tokens as "outputTokens", total_tokens as "totalTokens", cost_usd as "costUsd",
      span_count as "spanCount", error_count as "errorCount", estimated_bytes as "estimatedBytes",
      ingested_at as "ingestedAt"
    from traces
    where ${conditions} and (${key}, id) ${beyond} (${edge.key}, ${edge.tie})
    order by ${key} ${way}, id ${way}
    limit ${limit}`
}

/** One page of a project's traces. */
export async function listTraces(sql: Sql, projectId: number, query: TraceQuery): Promise<TracePage> {
  const { after, before, limit } = query
  const order = TRACE_ORDERS[query.sort]
  const down = before === undefined
  const edge = down ? edgeBelow(order, after, query.to) : edgeAbove(order, before, query.from)
  const edgeBehind = { ...edge, inclusive: !edge.inclusive }
  const [ahead, behind] = await Promise.all([
    // One row more than asked for shows whether anything follows.
    walk(sql, projectId, query, down ? 'down' : 'up', edge, limit + 1),
    down && after === undefined ? [] : walk(sql, projectId, query, down ? 'up' : 'down', edgeBehind, 1)
  ])
  const rows = ahead.slice(0, limit)
  if (!down) rows.reverse()
  const [follows, precedes] = [ahead.length > limit, behind.length > 0]
  // An empty page leads back to what lies behind its own cursor, the row at the cursor included.
  const edgeAt = (row: Row | undefined): Edge =>
    row === undefined ? edgeBehind : { key: String(row.key), tie: row.id, inclusive: false }
  return {
    traces: list(await renderSummaries(sql, projectId, rows)),
    next: (down ? follows : precedes) ? edgeAt(rows.at(-1)) : undefined,
    previous: (down ? precedes : follows) ? edgeAt(rows[0]) : undefined
  }
}

async function renderSummaries(sql: Sql, projectId: number, rows: readonly Row[]): Promise<string[]> {
  const scored = rows.filter(row => row.scoreCount > 0).map(row => row.seq)
  const maps = scored.length === 0 ? undefined : await readScoreMaps(sql, projectId, scored)
  return rows.map(row => renderSummary(row, maps?.get(row.seq) ?? '{}'))
}
