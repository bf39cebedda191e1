/**
 * Lists a project's users, ordered by their last trace, newest first, with the sums of their traces over a period. A
 * user's position in the list is the position of the user's last trace in the trace list. Sums are stored by day
 * (lib/store/analytics/rollups/users.ts), so the cost of reading a user's sums does not depend on the number of traces.
 * A page examines a limited number of traces, so a page may be short or empty even if more pages follow.
 */
import type { Sql } from 'postgres'
import { toDollars } from '../../../rollups/amounts.ts'
import type { Sums } from '../../../rollups/series.ts'
import { hashInSql } from '../../../rows/list-numbers.ts'
import type { Edge } from '../../lists/cursor.ts'
import { edgeBelow, TRACE_ORDERS } from '../../lists/order.ts'
import { listTraces } from '../../lists/trace-list.ts'
import { dayOf as dayInSql } from '../rollups/deltas.ts'
import { userListInSql } from '../rollups/users.ts'
import { edgeOfWalk, readUserSessions, type SessionGroupSums, type SessionPageQuery } from './sessions.ts'

/** Maximum number of traces that a page examines. */
export const MOST_USERS_LOOKED_AT = 5000

/**
 * Like a query for sessions. `prefix` is a prefix of the user id. If `environment` is set, only traces in this
 * environment determine the listed users, their positions and their sums.
 */
export interface UserQuery extends SessionPageQuery {
  /** Start of the first day (UTC) whose ended traces are summed. */
  readonly from: string
}

export interface UserListPage {
  readonly groups: readonly SessionGroupSums[]
  readonly next: Edge | undefined
}

interface Seen {
  readonly id: string
  readonly traceId: string
  readonly lastAt: string
}

type Bind = (value: string | number) => string

/** Returns SQL for the project's families, optionally limited to an environment. */
const familiesOf = (environment: string | undefined, bind: Bind) =>
  `(select family, environment from trace_families where project_id = $1
    ${environment === undefined ? '' : `and environment = ${bind(environment)}`})`

/**
 * Returns SQL for a user's last trace across all families. The `order by` clause includes the list number so that
 * PostgreSQL uses the index on list numbers.
 */
const lastTraceOf = (user: string, families: string) => `(
  select t.id, t.started_at from ${families} f cross join lateral (
    select id, started_at from traces
    where project_id = $1 and user_family = ${hashInSql(user, 'f.family')}
    order by user_family desc, started_at desc, id desc limit 1
  ) t order by t.started_at desc, t.id desc limit 1)`

export async function listTracedUsers(
  sql: Sql,
  projectId: number,
  query: UserQuery,
  mostLookedAt = MOST_USERS_LOOKED_AT
): Promise<UserListPage> {
  const { prefix, environment, from, limit, after } = query
  const edge = edgeBelow(TRACE_ORDERS.newest, after, undefined)
  const values: (string | number)[] = [projectId]
  const bind: Bind = value => `$${values.push(value)}`
  const [key, tie] = [bind(edge.key), bind(edge.tie)]
  // Whether an earlier page lists the user, that is, whether the user has a trace closer to the top. `exists` would
  // ignore the order and the limit, so PostgreSQL would read all traces closer to the top.
  const wasSeen =
    after === undefined
      ? 'false'
      : `coalesce((
        select true from ${familiesOf(environment, bind)} f cross join lateral (
          select id from traces
          where project_id = $1 and user_family = ${hashInSql('u.id', 'f.family')}
            and (started_at, id) ${edge.inclusive ? '>' : '>='} (${key}, ${tie})
          order by user_family, started_at, id limit 1
        ) t limit 1
      ), false)`
  const begins = prefix === undefined ? '' : `and starts_with(user_id, ${bind(prefix)}) and user_id <> ${bind(prefix)}`
  const found = await sql.unsafe<Seen[]>(
    `with looked as materialized (
      select id, started_at, user_id, environment from traces
      where project_id = $1 and started_at >= ${bind(from)}
        and (started_at, id) ${edge.inclusive ? '<=' : '<'} (${key}, ${tie})
      order by started_at desc, id desc limit ${bind(mostLookedAt)}
    ), fitting as materialized (
      select id, started_at, user_id from looked
      where user_id is not null ${begins} ${environment === undefined ? '' : `and environment = ${bind(environment)}`}
    ), users as (
      select distinct on (user_id) user_id as id, id as trace_id, started_at
      from fitting order by user_id, started_at desc, id desc
    )
    -- "offset 0" keeps PostgreSQL from checking all users for earlier pages: only those nearest the edge are checked.
    select id, trace_id as "traceId", started_at as "lastAt"
    from (select * from users order by started_at desc, trace_id desc offset 0) u where not ${wasSeen}
    order by started_at desc, trace_id desc limit ${bind(limit + 1)}`,
    values,
    { prepare: true }
  )
  const exact = prefix === undefined || after !== undefined ? [] : await readLast(sql, projectId, prefix, environment)
  const shown = found.slice(0, limit)
  const last = shown.at(-1)
  const next: Edge | undefined =
    found.length > limit && last !== undefined
      ? { key: last.lastAt, tie: last.traceId, inclusive: false }
      : await edgeOfWalk(sql, projectId, edge, mostLookedAt, from)
  return { groups: await addUp(sql, projectId, [...exact, ...shown], query), next }
}

/** Reads a user's last trace, as an array of at most one element. */
async function readLast(sql: Sql, projectId: number, id: string, environment: string | undefined): Promise<Seen[]> {
  const values: (string | number)[] = [projectId]
  const bind: Bind = value => `$${values.push(value)}`
  const user = `${bind(id)}::text`
  return sql.unsafe<Seen[]>(
    `select ${user} as id, t.id as "traceId", t.started_at as "lastAt"
    from ${lastTraceOf(user, familiesOf(environment, bind))} t`,
    values,
    { prepare: true }
  )
}

type SumsRow = Omit<Sums, 'latency'> & { readonly id: string; readonly firstAt: string | null }

/**
 * Returns the sums of the users' ended traces, in the order of `users`. Stored sums and rollup_news are read in one
 * snapshot. `firstAt` is the start of the day (UTC) of the first counted trace, or of the last trace if none is
 * counted.
 */
async function addUp(
  sql: Sql,
  projectId: number,
  users: readonly Seen[],
  { environment, from }: UserScope
): Promise<SessionGroupSums[]> {
  if (users.length === 0) return []
  const values: (string | number | string[])[] = [projectId, users.map(({ id }) => id)]
  const bind: Bind = value => `$${values.push(value)}`
  const since = bind(from)
  const rows = await sql.unsafe<SumsRow[]>(
    `with environments as materialized (
      select distinct environment from ${familiesOf(environment, bind)} f
    ), lists as materialized (
      select asked.id, ${userListInSql('asked.id', 'e.environment')} as list
      from unnest($2::text[]) as asked (id) cross join environments e
    ), news as materialized (
      select id, list, start, sum(traces) as traces from (
        select n.user_id as id, ${userListInSql('n.user_id', 'f.environment')} as list,
          ${dayInSql('n.started_at')} as start, n.traces
        from rollup_news n join ${familiesOf(environment, bind)} f on f.family = n.family
        where n.project_id = $1 and n.user_id = any ($2::text[])
      ) each group by id, list, start
    ), firsts as (
      select l.id, u.start from lists l cross join lateral (
        select u.start from user_sums u
        where u.project_id = $1 and u.list = l.list and u.traces + coalesce((
          select n.traces from news n where n.list = l.list and n.start = u.start
        ), 0) > 0 order by u.list, u.start limit 1
      ) u
      union all
      select n.id, n.start from news n
      where n.traces + coalesce((
        select u.traces from user_sums u where u.project_id = $1 and u.list = n.list and u.start = n.start
      ), 0) > 0
    ), sums as (
      select l.id, u.traces, u.errors, u.priced, u.input_tokens, u.output_tokens, u.cost
      from lists l cross join lateral (
        select traces, errors, priced, input_tokens, output_tokens, cost from user_sums
        where project_id = $1 and list = l.list and start >= ${since} order by list, start
      ) u
      union all
      select n.user_id, n.traces, n.errors, n.priced, n.input_tokens, n.output_tokens, n.cost
      from rollup_news n join ${familiesOf(environment, bind)} f on f.family = n.family
      where n.project_id = $1 and n.started_at >= ${since} and n.user_id = any ($2::text[])
    )
    select asked.id, (select min(start) from firsts where firsts.id = asked.id) as "firstAt",
      coalesce(sum(traces), 0)::float8 as traces, coalesce(sum(priced), 0)::float8 as priced,
      coalesce(sum(errors), 0)::float8 as errors,
      coalesce(sum(input_tokens), 0)::float8 as "inputTokens",
      coalesce(sum(output_tokens), 0)::float8 as "outputTokens", coalesce(sum(cost), 0)::float8 as cost
    from unnest($2::text[]) as asked (id) left join sums on sums.id = asked.id
    group by asked.id`,
    values,
    { prepare: true }
  )
  const sums = new Map(rows.map(row => [row.id, row]))
  return users.map(({ id, lastAt }) => {
    const { priced, cost, firstAt, ...row } = sums.get(id)!
    return {
      ...row,
      isMore: false,
      costUsd: priced === 0 ? null : toDollars(cost),
      firstAt: firstAt ?? dayOf(lastAt),
      lastAt
    }
  })
}

/** The traces that a user's sums and sessions cover. */
export type UserScope = Pick<UserQuery, 'environment' | 'from'>

export interface UserSums extends SessionGroupSums {
  /** Sessions of the user's newest traces, with the sums of the user's own traces in them. */
  readonly sessions: readonly SessionGroupSums[]
}

/** Number of a user's newest traces that are searched for sessions. Equals the length of a list page. */
const LOOKED_AT_FOR_SESSIONS = 200
const MOST_SESSIONS = 20

/** Returns the user; undefined if the user has no traces (in the environment). */
export async function readUser(
  sql: Sql,
  projectId: number,
  id: string,
  scope: UserScope
): Promise<UserSums | undefined> {
  const last = await readLast(sql, projectId, id, scope.environment)
  const [sums] = await addUp(sql, projectId, last, scope)
  if (sums === undefined) return undefined
  const newest = { ...scope, sort: 'newest', userId: id, limit: LOOKED_AT_FOR_SESSIONS } as const
  const { traces } = await listTraces(sql, projectId, newest)
  const ids = (JSON.parse(traces) as { sessionId: string | null }[]).flatMap(({ sessionId }) => sessionId ?? [])
  const some = [...new Set(ids)].slice(0, MOST_SESSIONS)
  return { ...sums, sessions: await readUserSessions(sql, projectId, { ...scope, userId: id }, some) }
}

const DAY_MS = 86_400_000
const dayOf = (iso: string): string => new Date(Math.floor(Date.parse(iso) / DAY_MS) * DAY_MS).toISOString()
