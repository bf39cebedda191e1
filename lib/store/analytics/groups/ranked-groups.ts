/**
 * Sorts a project's sessions or users by their traces in a period: by cost, tokens, errors or number of traces. The
 * newest traces of the period are added up one by one, so the work is limited, and sums cover the period alone.
 */
import type { Sql } from 'postgres'
import type { SessionGroupSums } from './sessions.ts'

export const GROUP_SORTS = ['cost', 'tokens', 'errors', 'traces'] as const
export type GroupSort = (typeof GROUP_SORTS)[number]

/** Maximum number of traces that are added up. */
const MOST_ADDED = 20_000

const ORDERS: Readonly<Record<GroupSort, string>> = {
  cost: 'sum(cost_usd) desc nulls last',
  tokens: 'coalesce(sum(input_tokens), 0) + coalesce(sum(output_tokens), 0) desc',
  errors: `count(*) filter (where status = 'error') desc`,
  traces: 'count(*) desc'
}

export interface RankedQuery {
  readonly field: 'session_id' | 'user_id'
  readonly sort: GroupSort
  /** Start of the period; undefined for all traces. */
  readonly from?: string | undefined
  readonly prefix?: string | undefined
  readonly environment?: string | undefined
  readonly limit: number
}

export interface RankedGroups {
  readonly groups: readonly SessionGroupSums[]
  /** Start of the oldest trace that was added up, if the period has older traces; otherwise null. */
  readonly since: string | null
}

/** `most` is for tests. */
export async function rankGroups(
  sql: Sql,
  projectId: number,
  { field, sort, from = '-infinity', prefix, environment, limit }: RankedQuery,
  most = MOST_ADDED
): Promise<RankedGroups> {
  const values: (string | number)[] = [projectId, from, most, limit]
  const bind = (value: string) => `$${values.push(value)}`
  const conditions = [
    prefix === undefined ? '' : `and starts_with(id, ${bind(prefix)})`,
    environment === undefined ? '' : `and environment = ${bind(environment)}`
  ]
  const rows = await sql.unsafe<(SessionGroupSums & { readonly since: string | null })[]>(
    `with looked as materialized (
      select ${field} as id, environment, started_at, status, input_tokens, output_tokens, cost_usd,
        row_number() over (order by started_at desc, id desc) as place
      from traces where project_id = $1 and started_at >= $2
      order by started_at desc, id desc limit $3::int + 1
    ), ranked as (
      select id, count(*)::int as traces, false as "isMore",
        (count(*) filter (where status = 'error'))::int as errors,
        coalesce(sum(input_tokens), 0)::float8 as "inputTokens",
        coalesce(sum(output_tokens), 0)::float8 as "outputTokens", sum(cost_usd) as "costUsd",
        min(started_at) as "firstAt", max(started_at) as "lastAt",
        row_number() over (order by ${ORDERS[sort]}, max(started_at) desc, id) as rank
      from looked where place <= $3::int and id is not null ${conditions.join(' ')}
      group by id order by rank limit $4::int
    )
    select r.*, (select min(started_at) from looked where place <= $3::int and exists (
      select from looked where place > $3::int
    )) as since from (select 1) one left join ranked r on true order by rank`,
    values,
    { prepare: true }
  )
  return {
    groups: rows.flatMap(({ since: _, ...row }) => (row.id === null ? [] : [withoutRank(row)])),
    since: rows[0]?.since ?? null
  }
}

function withoutRank(row: SessionGroupSums & { readonly rank?: number }): SessionGroupSums {
  const { rank: _, ...sums } = row
  return sums
}
