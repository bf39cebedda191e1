/** Reads one session (a conversation) of an application: its traces in the order of their start. */
import type { Sql } from 'postgres'
import { list } from '../../answers/json-text.ts'
import type { Edge } from '../../lists/cursor.ts'
import { TRACE_ORDERS } from '../../lists/order.ts'
import { readSummaries } from '../../lists/summary-page.ts'
import { walkTraces } from '../../lists/trace-walk.ts'

/** Maximum number of a session's traces that are summed, newest first, and of its users that are listed. */
export const MOST_ADDED_UP = 5000
const MOST_USERS = 20

export interface SessionSums {
  readonly traces: number
  readonly running: number
  /** Number of failed traces. */
  readonly errors: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Null if no trace has a cost. */
  readonly costUsd: number | null
  /** Sum of the traces' durations. */
  readonly durationMs: number
  readonly firstAt: string
  /** Start of the session's last trace. */
  readonly lastAt: string
  readonly users: readonly string[]
  /** Number of traces summed, if the session has more traces; otherwise null. */
  readonly newest: number | null
}

/** Returns undefined if the session has no traces. */
export async function readSession(sql: Sql, projectId: number, sessionId: string): Promise<SessionSums | undefined> {
  const [row] = await sql<[Omit<SessionSums, 'newest'> & { readonly found: number }]>`
    with newest as materialized (
      select *, row_number() over (order by started_at desc, id desc) as place from (
        select id, started_at, ended_at, duration_ms, status, input_tokens, output_tokens, cost_usd, user_id from traces
        where project_id = ${projectId} and session_id = ${sessionId}
        order by session_id desc, started_at desc, id desc limit ${MOST_ADDED_UP + 1}
      ) t
    )
    select count(*)::int as traces, (select count(*)::int from newest) as found,
      count(*) filter (where ended_at is null)::int as running, count(*) filter (where status = 'error')::int as errors,
      coalesce(sum(input_tokens), 0)::float8 as "inputTokens",
      coalesce(sum(output_tokens), 0)::float8 as "outputTokens",
      sum(cost_usd) as "costUsd", coalesce(sum(duration_ms), 0)::float8 as "durationMs",
      min(started_at) as "firstAt", max(started_at) as "lastAt",
      array(select distinct user_id from newest where user_id is not null order by 1 limit ${MOST_USERS}) as users
    from newest where place <= ${MOST_ADDED_UP}`
  const { found, ...sums } = row
  return found === 0 ? undefined : { ...sums, newest: found > MOST_ADDED_UP ? MOST_ADDED_UP : null }
}

export interface SessionPage {
  /** Trace summaries, oldest first, as a JSON array string. */
  readonly traces: string
  readonly next: Edge | undefined
}

const BEGINNING: Edge = { key: TRACE_ORDERS.newest.lowestKey, tie: TRACE_ORDERS.newest.lowestTie, inclusive: true }

/** Reads the traces after `after`, or the first page. */
export async function readSessionTraces(
  sql: Sql,
  projectId: number,
  sessionId: string,
  { after = BEGINNING, limit }: { readonly after?: Edge | undefined; readonly limit: number }
): Promise<SessionPage> {
  const start = { edge: after, down: false, isCursor: false, limit }
  const { page } = await walkTraces(sql, projectId, { sort: 'newest', sessionId, limit }, start)
  const found = readSummaries(page)
  const last = found[limit - 1]
  return {
    traces: list(found.slice(0, limit).map(trace => trace.render())),
    next: found.length > limit && last ? { key: last.startedAt, tie: last.id, inclusive: false } : undefined
  }
}
