/** What traces add up to step by step, split into groups if asked for. */
import type { Sql } from 'postgres'
import { type Period, STEPS } from '../../rollups/period.ts'
import type { SumRow } from '../../rollups/series.ts'
import { type ChartFilters, familiesOf, MOST_KINDS, nameOf, sumsIn } from './sums.ts'

export const SPLITS = ['model', 'name', 'status', 'environment'] as const
export type Split = (typeof SPLITS)[number]

/** The groups that are shown by themselves, those with the most traces. */
const MOST_GROUPS = 60

export interface Series {
  readonly rows: readonly SumRow[]
  /** How many groups are not shown by themselves. Names that had no room of their own count as one. */
  readonly others: number
}

export async function readSeries(
  sql: Sql,
  projectId: number,
  period: Period,
  split: Split | undefined,
  filters: ChartFilters
): Promise<Series> {
  const needsKinds = split === 'name' || filters.name !== undefined
  const isKind = filters.name === undefined ? sql`` : sql`and f.kind = s.list`
  const key = split === undefined ? sql`null::text` : split === 'name' ? sql`s.list::text` : sql`f.${sql(split)}`
  const rows = await sql<(SumRow & { others: number })[]>`
    with families as materialized (${familiesOf(sql, projectId, filters)}),
    counted as materialized (
      select floor((extract(epoch from s.start)::float8 * 1000 - ${period.from}::float8) / ${STEPS[period.step]}::float8)::int as at,
        ${key} as key, s.list = s.family as is_rest,
        sum(s.traces) as traces, coalesce(sum(s.traces) filter (where f.status = 'error'), 0) as errors,
        sum(s.priced) as priced, sum(s.input_tokens) as input_tokens, sum(s.output_tokens) as output_tokens,
        sum(s.cost) as cost, sum(s.latency) as latency
      from (${sumsIn(sql, projectId, period, needsKinds ? 'kind' : 'family')}) s
      join families f on f.family = s.family ${isKind}
      group by 1, 2, 3
    ),
    ${split === 'name' ? namedGroups(sql, projectId) : sql`keyed as (select *, false as is_other from counted)`},
    groups as (
      select key, is_other, row_number() over (order by is_other, sum(traces) desc, key) as place
      from keyed group by key, is_other having sum(traces) > 0
    ),
    shown as (
      select key, place, is_other or place > ${MOST_GROUPS} as is_other, is_other as is_rest from groups
    )
    select k.at, case when s.is_other then null else k.key end as key, s.is_other as "isOther",
      sum(k.traces)::float8 as traces, sum(k.errors)::float8 as errors, sum(k.priced)::float8 as priced,
      sum(k.input_tokens)::float8 as "inputTokens", sum(k.output_tokens)::float8 as "outputTokens",
      sum(k.cost)::float8 as cost, sum(k.latency)::text as latency,
      (select count(*) from shown where is_other) as others
    from keyed k join shown s on s.key is not distinct from k.key and s.is_rest = k.is_other
    group by 1, 2, 3`
  return { rows, others: rows[0]?.others ?? 0 }
}

/** SQL of the steps that bring kinds together by their names. */
const namedGroups = (sql: Sql, projectId: number) => sql`
  kinds as materialized (
    select key::bigint as list from counted where not is_rest group by key order by sum(traces) desc, key limit ${MOST_KINDS}
  ), named as materialized (
    select k.list::text as key, ${nameOf(sql, projectId)} as name from kinds k
  ), keyed as materialized (
    select c.at, n.name as key, n.name is null as is_other, sum(c.traces) as traces, sum(c.errors) as errors,
      sum(c.priced) as priced, sum(c.input_tokens) as input_tokens, sum(c.output_tokens) as output_tokens,
      sum(c.cost) as cost, sum(c.latency) as latency
    from counted c left join named n on n.key = c.key group by 1, 2, 3
  )`
