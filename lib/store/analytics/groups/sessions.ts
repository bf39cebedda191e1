/**
 * Lists a project's sessions, ordered by their last trace, newest first. No table stores sessions. A session's position
 * in the list is the position of its last trace in the trace list. The session's sums are computed from its traces,
 * which are found by an index. Recording a trace therefore costs nothing extra, and the list stays correct after any
 * change or deletion. The drawback is that a page examines a limited number of traces, so a page may be short or empty
 * even if more pages follow.
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES } from '../../../database/tables.ts'
import { hashInSql } from '../../../rows/list-numbers.ts'
import type { Edge } from '../../lists/cursor.ts'
import { edgeBelow, TRACE_ORDERS } from '../../lists/order.ts'
import { readSummaries, type Summary } from '../../lists/summary-page.ts'
import { walkTraces } from '../../lists/trace-walk.ts'

/** Maximum number of traces that a page examines. Most pages are full after a few hundred traces. */
export const MOST_LOOKED_AT = 5000
/** Maximum number of a user's traces that a page of the user's sessions examines. */
const MOST_OF_USER = 1000
/** Maximum number of traces summed per session, newest first. */
export const MOST_ADDED_UP = 500

export interface SessionPageQuery {
  /** Prefix of the session id. A session whose id equals the prefix comes first, regardless of its age. */
  readonly prefix?: string | undefined
  /** Selects sessions that have a trace in this environment, ordered by their last trace in the environment. */
  readonly environment?: string | undefined
  /** Selects sessions that have a trace of this user, ordered by the user's last trace in the session. */
  readonly userId?: string | undefined
  /** Start of the period in which the sessions must have a trace; undefined for all sessions. */
  readonly from?: string | undefined
  readonly limit: number
  /** Position in the list of traces, newest first. */
  readonly after?: Edge | undefined
}

/** Sums over the traces of a session or user. */
export interface SessionGroupSums {
  readonly id: string
  readonly traces: number
  /** Whether more traces exist than were summed. */
  readonly isMore: boolean
  /** Number of failed traces. */
  readonly errors: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Total cost; null if no trace has a cost. */
  readonly costUsd: number | null
  readonly firstAt: string
  /** Start of the last trace. */
  readonly lastAt: string
}

type Row = SessionGroupSums & { readonly traceId: string }

/**
 * Returns SQL for the sums of sessions. `from` yields each session's last trace (id, session_id, started_at); $1 is the
 * project. Queries for a session's traces include `order by`, so that PostgreSQL uses the index on sessions.
 */
const sumsOf = (from: string) => `
  select last.session_id as id, last.id as "traceId", last.started_at as "lastAt", s.*, (
      select started_at from traces
      where project_id = $1 and session_id = last.session_id order by session_id, started_at, id limit 1
    ) as "firstAt"
  from ${from} last cross join lateral (
    select least(count(*), ${MOST_ADDED_UP})::int as traces, count(*) > ${MOST_ADDED_UP} as "isMore",
      count(*) filter (where status = 'error' and place <= ${MOST_ADDED_UP})::int as errors,
      coalesce(sum(input_tokens) filter (where place <= ${MOST_ADDED_UP}), 0)::float8 as "inputTokens",
      coalesce(sum(output_tokens) filter (where place <= ${MOST_ADDED_UP}), 0)::float8 as "outputTokens",
      sum(cost_usd) filter (where place <= ${MOST_ADDED_UP}) as "costUsd"
    from (
      select status, input_tokens, output_tokens, cost_usd, row_number() over () as place from (
        select status, input_tokens, output_tokens, cost_usd from traces
        where project_id = $1 and session_id = last.session_id
        order by session_id desc, started_at desc, id desc limit ${MOST_ADDED_UP + 1}
      ) t
    ) t
  ) s
  order by last.started_at desc, last.id desc`

export async function listSessions(sql: Sql, projectId: number, query: SessionPageQuery, mostLookedAt?: number) {
  const { prefix, environment, userId, from, limit, after } = query
  const order = TRACE_ORDERS.newest
  const edge = edgeBelow(order, after, undefined)
  const length = mostLookedAt ?? (userId === undefined ? MOST_LOOKED_AT : MOST_OF_USER)
  const exact = prefix === undefined || after !== undefined ? [] : await readExact(sql, projectId, prefix, query)
  const values: (string | number)[] = [projectId]
  const bind = (value: string | number) => `$${values.push(value)}`
  /** Returns the conditions that a trace must meet to give its session a position in the list. */
  const counts = (trace: string) =>
    (environment === undefined ? '' : `and (${trace}.environment = ${bind(environment)}) is true`) +
    (userId === undefined ? '' : ` and (${trace}.user_id = ${bind(userId)}) is true`)
  const walked = walkBelow(edge, { userId, from }, length, bind)
  const begins =
    prefix === undefined ? '' : `and starts_with(t.session_id, ${bind(prefix)}) and t.session_id <> ${bind(prefix)}`
  const rows = await sql.unsafe<Row[]>(
    sumsOf(`(
      select t.id, t.started_at, t.session_id from (${walked}) t
      where t.session_id is not null ${begins} ${counts('t')} and coalesce((
        select false from traces l
        where l.project_id = $1 and l.session_id = t.session_id and (l.started_at, l.id) > (t.started_at, t.id)
          ${counts('l')}
        order by l.session_id, l.started_at, l.id limit 1
      ), true)
      order by t.started_at desc, t.id desc limit ${bind(limit + 1)}
    )`),
    values,
    { prepare: true }
  )
  const found = rows.slice(0, limit)
  const last = found.at(-1)
  return {
    groups: [...exact, ...found.map(({ traceId: _, ...sums }) => sums)],
    next:
      rows.length > limit && last !== undefined
        ? { key: last.lastAt, tie: last.traceId, inclusive: false }
        : await edgeOfSessionWalk(sql, projectId, edge, { userId, from }, length)
  }
}

type Bind = (value: string | number) => string
type Walked = Pick<SessionPageQuery, 'userId' | 'from'>

/**
 * Returns SQL for the next traces below the edge, newest first: all traces, or those of a user, which are merged from
 * the user's traces of each family.
 */
function walkBelow(edge: Edge, { userId, from }: Walked, length: number, bind: Bind): string {
  const isBeyond = edge.inclusive ? '<=' : '<'
  const since = from === undefined ? '' : ` and started_at >= ${bind(from)}`
  const beyond = `project_id = $1 and (started_at, id) ${isBeyond} (${bind(edge.key)}, ${bind(edge.tie)})${since}`
  const columns = 'id, started_at, session_id, environment, user_id'
  const most = bind(length)
  if (userId === undefined) {
    return `select ${columns} from traces where ${beyond} order by started_at desc, id desc limit ${most}`
  }
  const user = `${bind(userId)}::text`
  return `select t.* from (select family from trace_families where project_id = $1) f cross join lateral (
      select ${columns} from traces
      where ${beyond} and user_family = ${hashInSql(user, 'f.family')} and user_id = ${user}
      order by user_family desc, started_at desc, id desc limit ${most}
    ) t order by t.started_at desc, t.id desc limit ${most}`
}

/** Returns the session whose id is `id`, if one of its newest traces meets the query's other conditions. */
async function readExact(sql: Sql, projectId: number, id: string, { userId, environment }: SessionPageQuery) {
  const [last] = await sql<{ startedAt: string }[]>`
    select started_at as "startedAt" from (
      select id, started_at, user_id, environment from traces where project_id = ${projectId} and session_id = ${id}
      order by session_id desc, started_at desc, id desc limit ${MOST_LOOKED_AT}
    ) t
    where (${userId ?? null}::text is null or user_id = ${userId ?? null})
      and (${environment ?? null}::text is null or environment = ${environment ?? null})
    order by started_at desc, id desc limit 1`
  if (last === undefined) return []
  return (await readSessionSums(sql, projectId, [id])).map(sums => ({ ...sums, lastAt: last.startedAt }))
}

/** Returns the position at which listSessions' walk ended; undefined if the walk reached the end. */
async function edgeOfSessionWalk(
  sql: Sql,
  projectId: number,
  edge: Edge,
  { userId, from }: Walked,
  length: number
): Promise<Edge | undefined> {
  if (userId === undefined) return edgeOfWalk(sql, projectId, edge, length, from)
  const values: (string | number)[] = [projectId]
  const bind: Bind = value => `$${values.push(value)}`
  const [row] = await sql.unsafe<{ startedAt: string; id: string }[]>(
    `select t.started_at as "startedAt", t.id from (${walkBelow(edge, { userId, from }, length + 1, bind)}) t
    order by t.started_at desc, t.id desc offset ${bind(length)} limit 1`,
    values,
    { prepare: true }
  )
  return row && { key: row.startedAt, tie: row.id, inclusive: true }
}

/**
 * Returns the position at which a walk of `length` traces ended; undefined if the walk reached the end of the list, or
 * the traces that started before `from`.
 */
export async function edgeOfWalk(sql: Sql, projectId: number, edge: Edge, length: number, from = '-infinity') {
  const [row] = await sql.unsafe<{ startedAt: string; id: string }[]>(
    `select started_at as "startedAt", id from traces
    where project_id = $1 and (started_at, id) ${edge.inclusive ? '<=' : '<'} ($2, $3) and started_at >= $5
    order by started_at desc, id desc offset $4 limit 1`,
    [projectId, edge.key, edge.tie, length, from],
    { prepare: true }
  )
  return row && { key: row.startedAt, tie: row.id, inclusive: true }
}

/** Reads the sums of the given sessions that exist, ordered by their last trace, newest first. */
export async function readSessionSums(sql: Sql, projectId: number, ids: readonly string[]) {
  const rows = await sql.unsafe<Row[]>(
    sumsOf(`(
      select l.* from unnest($2::text[]) as asked (session) cross join lateral (
        select id, started_at, session_id from traces
        where project_id = $1 and session_id = asked.session order by session_id desc, started_at desc, id desc limit 1
      ) l
    )`),
    [projectId, ids as string[]],
    { prepare: true }
  )
  return rows.map(({ traceId: _, ...sums }) => sums)
}

/** A user's own traces, from a time on, in one environment or in all. */
export interface OwnTraces {
  readonly userId: string
  readonly from: string
  readonly environment?: string | undefined
}

/** Reads the sums of a user's traces in each of the given sessions, ordered by the user's last trace, newest first. */
export async function readUserSessions(
  sql: Sql,
  projectId: number,
  { userId, from, environment }: OwnTraces,
  ids: readonly string[]
): Promise<SessionGroupSums[]> {
  return sql.unsafe<SessionGroupSums[]>(
    `select asked.id, s.* from unnest($2::text[]) as asked (id) cross join lateral (
      select (count(*) filter (where own))::int as traces, count(*) > ${MOST_ADDED_UP} as "isMore",
        (count(*) filter (where own and status = 'error'))::int as errors,
        coalesce(sum(input_tokens) filter (where own), 0)::float8 as "inputTokens",
        coalesce(sum(output_tokens) filter (where own), 0)::float8 as "outputTokens",
        sum(cost_usd) filter (where own) as "costUsd",
        min(started_at) filter (where own) as "firstAt", max(started_at) filter (where own) as "lastAt"
      from (
        select *, (user_id = $3 and started_at >= $4 and ($5::text is null or environment = $5)) is true as own from (
          select user_id, environment, started_at, status, input_tokens, output_tokens, cost_usd from traces
          where project_id = $1 and session_id = asked.id
          order by session_id desc, started_at desc, id desc limit ${MOST_ADDED_UP + 1}
        ) t
      ) t
    ) s where s.traces > 0 order by s."lastAt" desc, asked.id`,
    [projectId, ids as string[], userId, from, environment ?? null],
    { prepare: true }
  )
}

/** Maximum number of traces summed for a single session, newest first. */
const MOST_SUMMED_OF_ONE = 5000
/** Maximum number of users listed for a session. */
const MOST_USERS = 20

interface SessionSums extends Omit<SessionGroupSums, 'id' | 'isMore'> {
  readonly running: number
  /** Sum of the traces' durations. */
  readonly durationMs: number
  readonly users: readonly string[]
  /** Number of traces summed, if the session has further traces; otherwise null. */
  readonly newest: number | null
}

/** Returns the session; undefined if it has no traces. */
export async function readSession(sql: Sql, projectId: number, sessionId: string): Promise<SessionSums | undefined> {
  const [row] = await sql<[Omit<SessionSums, 'newest'> & { readonly found: number }]>`
    with newest as materialized (
      select *, row_number() over (order by started_at desc, id desc) as place from (
        select id, started_at, ended_at, duration_ms, status, input_tokens, output_tokens, cost_usd, user_id from traces
        where project_id = ${projectId} and session_id = ${sessionId}
        order by session_id desc, started_at desc, id desc limit ${MOST_SUMMED_OF_ONE + 1}
      ) t
    )
    select count(*)::int as traces, (select count(*)::int from newest) as found,
      count(*) filter (where ended_at is null)::int as running, count(*) filter (where status = 'error')::int as errors,
      coalesce(sum(input_tokens), 0)::float8 as "inputTokens",
      coalesce(sum(output_tokens), 0)::float8 as "outputTokens",
      sum(cost_usd) as "costUsd", coalesce(sum(duration_ms), 0)::float8 as "durationMs",
      min(started_at) as "firstAt", max(started_at) as "lastAt",
      array(select distinct user_id from newest where user_id is not null order by 1 limit ${MOST_USERS}) as users
    from newest where place <= ${MOST_SUMMED_OF_ONE}`
  const { found, ...sums } = row
  return found === 0 ? undefined : { ...sums, newest: found > MOST_SUMMED_OF_ONE ? MOST_SUMMED_OF_ONE : null }
}

interface SessionPage {
  /** Oldest first. */
  readonly traces: readonly Summary[]
  readonly next: Edge | undefined
}

const BEGINNING: Edge = { key: TRACE_ORDERS.newest.lowestKey, tie: TRACE_ORDERS.newest.lowestTie, inclusive: true }

/** Reads the page of the session's traces that follows `after`, or the first page. */
export async function readSessionTraces(
  sql: Sql,
  projectId: number,
  sessionId: string,
  { after = BEGINNING, limit }: { readonly after?: Edge | undefined; readonly limit: number }
): Promise<SessionPage> {
  const query = { sort: 'newest', sessionId, limit } as const
  const start = { edge: after, down: false, isCursor: false, limit }
  const { page } = await walkTraces({ sql, projectId, query, start, names: SCHEMA_NAMES })
  const found = readSummaries(page)
  const last = found[limit - 1]
  return {
    traces: found.slice(0, limit),
    next: found.length > limit && last ? { key: last.startedAt, tie: last.id, inclusive: false } : undefined
  }
}
