/** Reads sums of traces: step by step or as a whole, by groups if asked for. */
import type { Sql } from 'postgres'
import { type Period, STEPS } from '../../../rollups/period.ts'
import type { GroupSums, StepSums, Sums } from '../../../rollups/series.ts'
import { type ChartFilters, sumsOf } from './sums.ts'

export const SPLITS = ['model', 'name', 'status', 'environment'] as const
export type Split = (typeof SPLITS)[number]

/** The groups that are shown by themselves, those with the most traces. */
const MOST_GROUPS = 60

const ADDED = `sum(traces)::float8 as traces, sum(errors)::float8 as errors, sum(priced)::float8 as priced,
  sum(input_tokens)::float8 as "inputTokens", sum(output_tokens)::float8 as "outputTokens", sum(cost)::float8 as cost,
  sum(latency)::text as latency`

/** SQL of the number of the step that a row's start is in. */
const stepAt = (sql: Sql, { from, step }: Period) =>
  sql`floor((extract(epoch from start)::float8 * 1000 - ${from}::float8) / ${STEPS[step]}::float8)::int`

/** The sums of all that fits, by step. */
export async function readSeries(
  sql: Sql,
  projectId: number,
  period: Period,
  filters: ChartFilters
): Promise<StepSums[]> {
  return sql<StepSums[]>`
    select ${stepAt(sql, period)} as at, ${sql.unsafe(ADDED)}
    from (${sumsOf(sql, projectId, { period, filters })}) s group by 1`
}

/** The sums over all traces of a period: one row, or none. */
export async function readTotal(sql: Sql, projectId: number, period: Period, filters: ChartFilters): Promise<Sums[]> {
  return sql<Sums[]>`
    select ${sql.unsafe(ADDED)}
    from (${sumsOf(sql, projectId, { period, filters, isWhole: true })}) s having count(*) > 0`
}

export interface SeriesTotals {
  /** Those with the most traces first, and last what all others add up to. */
  readonly rows: readonly GroupSums[]
  /** How many groups are not shown by themselves. Names that had no room of their own count as one. */
  readonly others: number
}

export async function readTotals(
  sql: Sql,
  projectId: number,
  period: Period,
  split: Split,
  filters: ChartFilters
): Promise<SeriesTotals> {
  const key = sql(split)
  // A row without a name is of all names that had no room.
  const isRest = split === 'name' ? sql`name is null` : sql`false`
  const rows = await sql<(GroupSums & { others: number })[]>`
    with counted as materialized (
      select ${key} as key, ${isRest} as is_rest, sum(traces) as traces, sum(errors) as errors, sum(priced) as priced,
        sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
        sum(cost) as cost, sum(latency) as latency
      from (${sumsOf(sql, projectId, { period, filters, fields: [split], isWhole: true })}) s
      group by 1, 2 having sum(traces) > 0
    ), ranked as (
      select *, is_rest or row_number() over (order by is_rest, traces desc, key) > ${MOST_GROUPS} as is_other
      from counted
    )
    select case when is_other then null else key end as key, is_other as "isOther", ${sql.unsafe(ADDED)},
      count(*)::int as others
    from ranked group by 1, 2 order by 2, sum(traces) desc, 1 nulls first`
  return { rows, others: rows.find(({ isOther }) => isOther)?.others ?? 0 }
}
