/** Reads sums over traces: per step, in total, or by group. */
import type { Sql } from 'postgres'
import { type Period, STEPS } from '../../../rollups/period.ts'
import type { GroupSums, StepSums, Sums } from '../../../rollups/series.ts'
import { bestRankOf } from './ranks.ts'
import { type ChartFilters, sumsOf } from './sums.ts'

/** Fields by which rollups can be split. */
export type SummedField = 'model' | 'name' | 'environment'

/** Maximum number of groups listed individually. */
const MOST_GROUPS = 60

const ADDED = `sum(traces)::float8 as traces, sum(errors)::float8 as errors, sum(priced)::float8 as priced,
  sum(input_tokens)::float8 as "inputTokens", sum(output_tokens)::float8 as "outputTokens", sum(cost)::float8 as cost,
  sum(latency)::text as latency`

/** SQL for the number, from 0, of the step that contains a row's start. */
const stepAt = (sql: Sql, { from, step }: Period) =>
  sql`floor((extract(epoch from start)::float8 * 1000 - ${from}::float8) / ${STEPS[step]}::float8)::int`

/** Reads the sums of the matching traces per step. */
export async function readSeries(sql: Sql, projectId: number, period: Period, filters: ChartFilters) {
  return sql<StepSums[]>`
    select ${stepAt(sql, period)} as at, ${sql.unsafe(ADDED)}
    from (${sumsOf(sql, projectId, { period, filters })}) s group by 1`
}

/** Reads the sums of the matching traces over the whole period. Returns at most one row. */
export async function readTotal(sql: Sql, projectId: number, period: Period, filters: ChartFilters): Promise<Sums[]> {
  return sql<Sums[]>`
    select ${sql.unsafe(ADDED)}
    from (${sumsOf(sql, projectId, { period, filters, isWhole: true })}) s having count(*) > 0`
}

/**
 * Reads the sums of the groups that rank first by any of their numbers. Groups with the most traces come first. A final
 * entry sums all remaining groups; `others` is their number. Names beyond the limits of lib/rollups/name-limits.ts
 * count as one group.
 */
export async function readTotals(
  sql: Sql,
  projectId: number,
  period: Period,
  split: SummedField,
  filters: ChartFilters
) {
  const key = sql(split)
  // A row without a name contains the sums for all names beyond the limits of lib/rollups/name-limits.ts.
  const isRest = split === 'name' ? sql`name is null` : sql`false`
  const rows = await sql<(GroupSums & { others: number })[]>`
    with counted as materialized (
      select ${key} as key, ${isRest} as is_rest, sum(traces) as traces, sum(errors) as errors, sum(priced) as priced,
        sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
        sum(cost) as cost, sum(latency) as latency, ${sql.unsafe(bestRankOf('sum(traces)'))} as best
      from (${sumsOf(sql, projectId, { period, filters, fields: [split], isWhole: true })}) s
      group by 1, 2 having sum(traces) > 0
    ), ranked as (
      select *, is_rest or row_number() over (order by is_rest, best, traces desc, key) > ${MOST_GROUPS} as is_other
      from counted
    )
    select case when is_other then null else key end as key, is_other as "isOther", ${sql.unsafe(ADDED)},
      count(*)::int as others
    from ranked group by 1, 2 order by 2, sum(traces) desc, 1 nulls first`
  return { rows, others: rows.find(({ isOther }) => isOther)?.others ?? 0 }
}

interface GroupSeriesAsked {
  readonly period: Period
  readonly split: SummedField
  readonly filters: ChartFilters
  /** Groups to read separately. All others form one more group. */
  readonly keys: readonly (string | null)[]
}

/** Reads the sums of some groups, and of all others, per step. */
export async function readGroupSeries(sql: Sql, projectId: number, { period, split, filters, keys }: GroupSeriesAsked) {
  const key = sql(split)
  const named = keys.filter(each => each !== null)
  // A row without a name contains the sums for all names beyond the limits of lib/rollups/name-limits.ts.
  const hasNone = split !== 'name' && keys.includes(null)
  return sql<(StepSums & GroupSums)[]>`
    select at, case when is_other then null else key end as key, is_other as "isOther", ${sql.unsafe(ADDED)}
    from (
      select ${stepAt(sql, period)} as at, ${key} as key,
        (case when ${key} is null then ${!hasNone}::bool else ${key} <> all (${named}::text[]) end) as is_other, s.*
      from (${sumsOf(sql, projectId, { period, filters, fields: [split] })}) s
    ) labelled
    group by 1, 2, 3 having sum(traces) > 0`
}
