/** Reads a period's sums from rollups, and from the deltas that are not yet folded into rollups. */
import type { Sql } from 'postgres'
import { percentilesOf, readHistogram } from '../../../rollups/latency.ts'
import { type Period, STEPS } from '../../../rollups/period.ts'
import type { Sums } from '../../../rollups/series.ts'
import type { UsageInterval, UsageSplit } from '../../../rollups/usage.ts'
import type { UsageSort } from '../../../schema/field-values.ts'
import type { UsageSums } from '../../../schema/history/usage.ts'
import { allAnswered, inSnapshot } from '../../transactions.ts'
import { rankOf } from '../rollups/ranks.ts'
import { readTotal, type SummedField } from '../rollups/read-series.ts'
import { type ChartFilters, sumsOf as rollupSumsOf } from '../rollups/sums.ts'
import { withComputedCosts } from './computed-costs.ts'
import { inOrderOf, MOST_RANKED, slowestFirst } from './duration-order.ts'
import { isListed } from './matching.ts'
import { type GroupRow, NO_SUMS, type PeriodSums, rowOf, usageSumsOf } from './rows.ts'

const FIELDS: readonly SummedField[] = ['model', 'name', 'environment']

/** Returns the field by which rollups are split; undefined if rollups do not have the field. */
export const summedField = (split: UsageSplit): SummedField | undefined => FIELDS.find(field => field === split.field)

export interface SummedAsked {
  /** Whole hours, or whole days. */
  readonly period: Period
  readonly interval: UsageInterval
  readonly field: SummedField | undefined
  readonly limit: number
  /** Traces by default. */
  readonly sort?: UsageSort | undefined
  readonly filters?: ChartFilters | undefined
}

type Row = Omit<GroupRow, 'p50' | 'p95' | 'computed' | 'steps' | 'kind'> & { readonly latency: string }

/** Rollups do not record which costs were computed (computed-costs.ts). */
function withPercentiles<T extends { readonly latency: string }>({ latency, ...row }: T) {
  const { p50, p95 } = percentilesOf(readHistogram(latency))
  return { ...row, computed: null, steps: null, p50, p95 }
}

/** Returns the sums of a row of rollups; zeros if there is none. */
export const usageTotal = (row: Sums | undefined): UsageSums =>
  usageSumsOf(row === undefined ? { ...NO_SUMS, computed: null } : withPercentiles(row))

/** `mostLive` is for tests. */
export async function readSummedUsage(
  sql: Sql,
  projectId: number,
  asked: SummedAsked,
  mostLive?: number
): Promise<PeriodSums> {
  const { period, interval, field, filters = {} } = asked
  return inSnapshot(sql, async () => {
    const total = readTotal(sql, projectId, period, filters)
    const groups = field !== undefined || interval !== 'none' ? readGroups(sql, projectId, asked) : undefined
    await allAnswered<unknown>(groups === undefined ? [total] : [total, groups])
    const rows = (await groups) ?? []
    const [whole] = await total
    const sums = {
      total: usageTotal(whole),
      rows: inOrderOf(
        rows.map(({ others: _, ...row }) => rowOf({ ...withPercentiles(row), kind: null })),
        asked.sort
      ),
      others: rows[0]?.others ?? 0
    }
    return withComputedCosts(sql, projectId, sums, { period, interval, split: field, filters }, mostLive)
  })
}

async function readGroups(sql: Sql, projectId: number, asked: SummedAsked) {
  const { period, interval, field, limit, sort = 'traces', filters = {} } = asked
  const key = field === undefined ? sql`null::text` : sql`${sql(field)}`
  // A row without a name contains the sums for all names beyond the limits of lib/rollups/name-limits.ts.
  const isRest = field === 'name' ? sql`name is null` : sql`false`
  const length = STEPS[period.step]
  const start =
    interval === 'none'
      ? sql`null::float8`
      : sql`floor(extract(epoch from start)::float8 * 1000 / ${length}::float8) * ${length}::float8`
  const fields = field === undefined ? [] : [field]
  const sums = (isWhole: boolean) => rollupSumsOf(sql, projectId, { period, filters, fields, isWhole })
  const isSlowest = sort === 'duration'
  const slowest = isSlowest
    ? await sql<{ id: string; latency: string }[]>`
        select json_build_array(key)::text as id, sum(latency)::text as latency
        from (select ${key} as key, ${isRest} as is_rest, traces, latency from (${sums(true)}) s) counted
        where not is_rest group by key order by sum(traces) desc, key limit ${MOST_RANKED}`
    : []
  const byTraces = sql.unsafe(`${rankOf(isSlowest ? 'traces' : sort, 'sum(traces)')} desc`)
  const order = slowestFirst(slowest, limit)
  const rank = isSlowest
    ? sql`-coalesce(array_position(${order}::text[], json_build_array(key)::text), ${MOST_RANKED}::int) desc`
    : byTraces
  return sql<(Row & { readonly others: number })[]>`
    with counted as materialized (
      select ${start} as start, ${key} as key, ${isRest} as is_rest, sum(traces) as traces, sum(errors) as errors,
        sum(priced) as priced, sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
        sum(cost) as cost, sum(latency) as latency
      from (${sums(interval === 'none')}) s
      group by 1, 2, 3
    ), groups as materialized (
      select key, is_rest,
        is_rest or row_number() over (order by is_rest, ${rank}, sum(traces) desc, key) > ${limit} as is_other
      from counted group by key, is_rest having sum(traces) > 0
    ), listed as (
      select key from groups where not is_other
    )
    select start, case when is_other then null else key end as key, is_other as "isOther",
      (select count(*) from groups where is_other)::int as others, sum(traces)::float8 as traces,
      sum(errors)::float8 as errors, sum(priced)::float8 as priced, sum(input_tokens)::float8 as "inputTokens",
      sum(output_tokens)::float8 as "outputTokens", sum(cost)::float8 as cost, sum(latency)::text as latency
    from (select c.*, is_rest or not ${sql.unsafe(isListed('c', ['key']))} as is_other from counted c) labelled
    group by 1, 2, 3 having sum(traces) > 0 order by 1, 3, ${byTraces}, sum(traces) desc, 2`
}
