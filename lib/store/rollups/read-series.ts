/** What traces add up to step by step, split into groups if asked for. */
import type { Sql } from 'postgres'
import { type Period, STEPS } from '../../rollups/period.ts'
import type { SumRow } from '../../rollups/series.ts'
import { type ChartFilters, sumsOf } from './sums.ts'

export const SPLITS = ['model', 'name', 'status', 'environment'] as const
export type Split = (typeof SPLITS)[number]

/** The groups that are shown by themselves, those with the most traces. */
const MOST_GROUPS = 60

/** SQL of the number of the step that a row's start is in. */
const stepAt = (sql: Sql, { from, step }: Period) =>
  sql`floor((extract(epoch from start)::float8 * 1000 - ${from}::float8) / ${STEPS[step]}::float8)::int`

/** The sums of all groups together, by step. */
export async function readSeries(
  sql: Sql,
  projectId: number,
  period: Period,
  filters: ChartFilters
): Promise<SumRow[]> {
  return sql<SumRow[]>`
    select ${stepAt(sql, period)} as at, null as key, false as "isOther",
      sum(traces)::float8 as traces, sum(errors)::float8 as errors, sum(priced)::float8 as priced,
      sum(input_tokens)::float8 as "inputTokens", sum(output_tokens)::float8 as "outputTokens",
      sum(cost)::float8 as cost, sum(latency)::text as latency
    from (${sumsOf(sql, projectId, period, filters)}) s group by 1`
}

export interface SplitSeries {
  /** Those of each group by step have no latency; those of the whole period, whose `at` is null, have. */
  readonly rows: readonly SumRow[]
  /** How many groups are not shown by themselves. Names that had no room of their own count as one. */
  readonly others: number
}

export async function readSplitSeries(
  sql: Sql,
  projectId: number,
  period: Period,
  split: Split,
  filters: ChartFilters
): Promise<SplitSeries> {
  const key = sql(split)
  // A row without a name is of all names that had no room.
  const isRest = split === 'name' ? sql`name is null` : sql`false`
  const rows = await sql<(SumRow & { others: number })[]>`
    with counted as materialized (
      select ${stepAt(sql, period)} as at, ${key} as key, ${isRest} as is_rest,
        sum(traces) as traces, sum(errors) as errors, sum(priced) as priced, sum(input_tokens) as input_tokens,
        sum(output_tokens) as output_tokens, sum(cost) as cost, sum(latency) as latency
      from (${sumsOf(sql, projectId, period, filters, [split])}) s group by 1, 2, 3
    ), groups as (
      select key, is_rest, row_number() over (order by is_rest, sum(traces) desc, key) as place
      from counted group by key, is_rest having sum(traces) > 0
    ), shown as (
      select key, is_rest, is_rest or place > ${MOST_GROUPS} as is_other from groups
    ), joined as (
      select c.*, case when s.is_other then null else s.key end as shown_key, s.is_other
      from counted c join shown s on s.key is not distinct from c.key and s.is_rest = c.is_rest
    )
    select at, shown_key as key, is_other as "isOther",
      sum(traces)::float8 as traces, sum(errors)::float8 as errors, sum(priced)::float8 as priced,
      sum(input_tokens)::float8 as "inputTokens", sum(output_tokens)::float8 as "outputTokens",
      sum(cost)::float8 as cost, null as latency, (select count(*) from shown where is_other) as others
    from joined group by 1, 2, 3
    union all
    select null, shown_key, is_other, sum(traces)::float8, sum(errors)::float8, sum(priced)::float8,
      sum(input_tokens)::float8, sum(output_tokens)::float8, sum(cost)::float8, sum(latency)::text, 0
    from joined group by 2, 3`
  return { rows, others: rows[0]?.others ?? 0 }
}
