/** What traces add up to step by step, split into groups if asked for. */
import type { Sql } from 'postgres'
import { type Period, STEPS } from '../../../rollups/period.ts'
import type { SumRow } from '../../../rollups/series.ts'
import { type ChartFilters, sumsOf } from './sums.ts'

export const SPLITS = ['model', 'name', 'status', 'environment'] as const
export type Split = (typeof SPLITS)[number]

/** The groups that are shown by themselves, those with the most traces. */
const MOST_GROUPS = 60

/** The groups that have lists by step as well. */
const MOST_DRAWN = 10

const ADDED = `sum(traces)::float8 as traces, sum(errors)::float8 as errors, sum(priced)::float8 as priced,
  sum(input_tokens)::float8 as "inputTokens", sum(output_tokens)::float8 as "outputTokens", sum(cost)::float8 as cost`

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
      ${sql.unsafe(ADDED)}, sum(latency)::text as latency
    from (${sumsOf(sql, projectId, period, filters)}) s group by 1`
}

export interface SplitSeries {
  /** Those whose `at` is null are of the whole period. The largest groups have rows by step as well, without latency. */
  readonly rows: readonly SumRow[]
  /** How many groups are not shown by themselves. Names that had no room of their own count as one. */
  readonly others: number
}

export async function readSplitSeries(
  sql: Sql,
  projectId: number,
  period: Period,
  split: Split,
  filters: ChartFilters,
  /** Whether nothing is wanted by steps. */
  isWhole: boolean
): Promise<SplitSeries> {
  const key = sql(split)
  // A row without a name is of all names that had no room.
  const isRest = split === 'name' ? sql`name is null` : sql`false`
  const totals = await sql<(SumRow & { others: number })[]>`
    with counted as materialized (
      select ${key} as key, ${isRest} as is_rest, sum(traces) as traces, sum(errors) as errors, sum(priced) as priced,
        sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens, sum(cost) as cost, sum(latency) as latency
      from (${sumsOf(sql, projectId, period, filters, [split])}) s group by 1, 2 having sum(traces) > 0
    ), ranked as (
      select *, is_rest or row_number() over (order by is_rest, traces desc, key) > ${MOST_GROUPS} as is_other from counted
    )
    select null as at, case when is_other then null else key end as key, is_other as "isOther", ${sql.unsafe(ADDED)},
      sum(latency)::text as latency, count(*)::int as others
    from ranked group by 2, 3 order by sum(traces) desc`
  const others = totals.find(({ isOther }) => isOther)?.others ?? 0
  if (isWhole) return { rows: totals, others }
  const shown = totals.filter(({ isOther }) => !isOther).slice(0, MOST_DRAWN)
  const keys = shown.map(({ key }) => key)
  const steps = await sql<SumRow[]>`
    select ${stepAt(sql, period)} as at, ${key} as key, false as "isOther", ${sql.unsafe(ADDED)}, null as latency
    from (${sumsOf(sql, projectId, period, filters, [split])}) s
    where not ${isRest} and (${key} = any (${keys.filter(each => each !== null)}::text[])
      or (${keys.includes(null)}::bool and ${key} is null))
    group by 1, 2`
  return { rows: [...totals, ...steps], others }
}
