/**
 * Lists a project's users, those with the newest last trace first, with the sums of their traces over a time. A user
 * has the place of their last trace in the list of traces. The sums are kept by day
 * (lib/store/analytics/rollups/users.ts), so they do not depend on how many traces a user has. A page looks at a
 * limited number of traces, and may be short or empty before the last.
 */
import type { Sql } from 'postgres'
import { toDollars } from '../../../rollups/amounts.ts'
import { hashInSql } from '../../../rows/list-numbers.ts'
import type { Edge } from '../../lists/cursor.ts'
import { edgeBelow, TRACE_ORDERS } from '../../lists/order.ts'
import { listTraces } from '../../lists/trace-list.ts'
import { userListInSql } from '../rollups/users.ts'
import { readSessionSums, type SessionGroupSums } from './session-list.ts'

/** How many traces a page looks at. */
export const MOST_USERS_LOOKED_AT = 5000

export interface UserQuery {
  /** How the id begins. A user with just this id comes first, however long they were away. */
  readonly prefix?: string | undefined
  /** Traces in this environment alone: users stand where the last of these stands, and are added up from them. */
  readonly environment?: string | undefined
  /** The beginning of the day (UTC) from which on ended traces are added up. */
  readonly from: string
  readonly limit: number
  /** A position in the order of traces, newest first. */
  readonly after?: Edge | undefined
}

export interface UserListPage {
  readonly groups: readonly SessionGroupSums[]
  readonly next: Edge | undefined
}

/** A user with their last trace. */
interface Seen {
  readonly id: string
  readonly traceId: string
  readonly lastAt: string
}

type Bind = (value: string | number) => string

/** SQL of the project's families, or of those in an environment. */
const familiesOf = (environment: string | undefined, bind: Bind) =>
  `(select family, environment from trace_families where project_id = $1
    ${environment === undefined ? '' : `and environment = ${bind(environment)}`})`

/**
 * SQL of the last trace of a user, among those of all families. The order names the number, so that PostgreSQL takes
 * its index.
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
  // A user with a trace nearer to the top is on an earlier page. On the first page there are none. (`exists` would
  // ignore the order and the limit, and PostgreSQL would read all of these traces.)
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
  const rows = await sql.unsafe<((Seen & { isEnd: boolean }) | { id: null; traceId: string; lastAt: string })[]>(
    `with looked as materialized (
      select id, started_at, user_id, environment from traces
      where project_id = $1 and started_at >= ${bind(from)}
        and (started_at, id) ${edge.inclusive ? '<=' : '<'} (${key}, ${tie})
      order by started_at desc, id desc limit ${bind(mostLookedAt + 1)}
    ), fitting as materialized (
      select id, started_at, user_id from (
        select * from looked order by started_at desc, id desc limit ${bind(mostLookedAt)}
      ) l
      where user_id is not null ${begins} ${environment === undefined ? '' : `and environment = ${bind(environment)}`}
    ), users as (
      select distinct on (user_id) user_id as id, id as trace_id, started_at
      from fitting order by user_id, started_at desc, id desc
    )
    (
      -- "offset 0" keeps PostgreSQL from checking all users for earlier pages: only those nearest the edge are checked.
      select id, trace_id as "traceId", started_at as "lastAt"
      from (select * from users order by started_at desc, trace_id desc offset 0) u where not ${wasSeen}
      order by started_at desc, trace_id desc limit ${bind(limit + 1)}
    )
    union all
    (
      select null, id, started_at from looked order by started_at desc, id desc offset ${bind(mostLookedAt)} limit 1
    )`,
    values,
    { prepare: true }
  )
  const found = rows.filter(row => row.id !== null) as Seen[]
  const beyond = rows.find(row => row.id === null)
  const exact = prefix === undefined || after !== undefined ? [] : await readLast(sql, projectId, prefix, environment)
  const shown = found.slice(0, limit)
  const last = shown.at(-1)
  const next: Edge | undefined =
    found.length > limit && last !== undefined
      ? { key: last.lastAt, tie: last.traceId, inclusive: false }
      : beyond && { key: beyond.lastAt, tie: beyond.traceId, inclusive: true }
  return { groups: await addUp(sql, projectId, [...exact, ...shown], query), next }
}

/** A user's last trace, as a list; empty if they have none. */
async function readLast(sql: Sql, projectId: number, id: string, environment?: string): Promise<Seen[]> {
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

interface SumsRow {
  readonly id: string
  readonly firstAt: string | null
  readonly traces: number
  readonly priced: number
  readonly errors: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cost: number
}

/**
 * The sums of users' ended traces, in the order of `users`: sums and news, in one snapshot. `firstAt` is the beginning
 * of the day (UTC) of the first trace that is counted; if none is, the day of the last trace.
 */
async function addUp(
  sql: Sql,
  projectId: number,
  users: readonly Seen[],
  { environment, from }: Pick<UserQuery, 'environment' | 'from'>
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
    ), firsts as (
      select l.id, u.start from lists l cross join lateral (
        select start from user_sums where project_id = $1 and list = l.list and traces > 0 order by list, start limit 1
      ) u
      union all
      select n.user_id, n.started_at
      from rollup_news n join ${familiesOf(environment, bind)} f on f.family = n.family
      where n.project_id = $1 and n.user_id = any ($2::text[]) and n.traces > 0
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
    select asked.id, (select date_trunc('day', min(start), 'UTC') from firsts where firsts.id = asked.id) as "firstAt",
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

export interface UserSums extends SessionGroupSums {
  /** The sessions of the user's newest traces, added up from all of their traces. */
  readonly sessions: readonly SessionGroupSums[]
}

/** How many of a user's newest traces their sessions are taken from: a page of a list. */
const LOOKED_AT_FOR_SESSIONS = 200
const MOST_SESSIONS = 20

/** Undefined if no trace is of this user. */
export async function readUser(sql: Sql, projectId: number, id: string, from: string): Promise<UserSums | undefined> {
  const last = await readLast(sql, projectId, id)
  const [sums] = await addUp(sql, projectId, last, { from })
  if (sums === undefined) return undefined
  const { traces } = await listTraces(sql, projectId, { sort: 'newest', userId: id, limit: LOOKED_AT_FOR_SESSIONS })
  const ids = (JSON.parse(traces) as { sessionId: string | null }[]).flatMap(({ sessionId }) => sessionId ?? [])
  const sessions = await readSessionSums(sql, projectId, [...new Set(ids)].slice(0, MOST_SESSIONS))
  return { ...sums, sessions }
}

const DAY_MS = 86_400_000
const dayOf = (iso: string): string => new Date(Math.floor(Date.parse(iso) / DAY_MS) * DAY_MS).toISOString()
