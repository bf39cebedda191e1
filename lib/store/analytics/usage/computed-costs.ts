/**
 * Reads which part of a period's costs spoor computed. Rollups do not record this, so background work stores it by
 * environment, model and name, like the sums by user (made-hours.ts). Traces of other hours are read one by one.
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES } from '../../../database/tables.ts'
import { toDollars } from '../../../rollups/amounts.ts'
import type { UsageRow } from '../../../schema/history/usage.ts'
import type { ChartFilters } from '../rollups/sums.ts'
import { foundTraces } from './exact.ts'
import { LIVE_TRACES, MOST_LIVE, PLANNED_SUMS, type PlanAsked, readUsagePlan } from './made-plan.ts'
import { msOf, startInSql } from './marks.ts'
import { groupsByRow, isUnlisted, listedKeys, type PeriodSums, type SameGroup } from './rows.ts'

/** The field of usage_sums under which computed costs are stored. No split has this name. */
export const COMPUTED_COSTS = 'computed'

const KEYS = ['environment', 'model', 'name'] as const
type ComputedField = (typeof KEYS)[number]

/** SQL for the items that are summed: the traces with a computed cost. */
export const COMPUTED_ITEMS = `
  select found.*, json_build_array(${KEYS.join(', ')})::text as key, null::text as kind from found where is_computed`

export interface ComputedAsked extends Omit<PlanAsked, 'field'> {
  readonly split: ComputedField | undefined
  readonly filters: ChartFilters
}

interface CostRow extends SameGroup {
  /** Whether the row sums the groups that are not stored separately. */
  readonly isRest: boolean
  readonly computed: number
}

/**
 * Returns the sums with their computed costs. The costs remain null if an hour is too large to be read; the costs of
 * groups also remain null if the period has more groups than are stored. Call this function in the snapshot in which
 * `sums` were read. `mostLive` is for tests.
 */
export async function withComputedCosts(
  sql: Sql,
  projectId: number,
  sums: PeriodSums,
  asked: ComputedAsked,
  mostLive = MOST_LIVE
): Promise<PeriodSums> {
  const { period, interval, filters } = asked
  const plan = await readUsagePlan(sql, projectId, { period, interval, field: COMPUTED_COSTS }, mostLive)
  if (plan.from !== period.from || plan.to !== period.to) return sums
  const lists = [[...plan.live], [...plan.hours], asked.split ?? '', [...plan.days], COMPUTED_COSTS]
  const values = [...lists, ...listedKeys(sums)]
  const given = KEYS.map(name => filters[name] ?? null)
  const costs = await sql.unsafe<CostRow[]>(statementOf(asked), [projectId, ...values, ...given] as never[], {
    prepare: true
  })
  const isNarrowed = given.some(value => value !== null)
  const hasRest = costs.some(({ isRest }) => isRest)
  const sumOf = (found: readonly CostRow[], costUsd: number) =>
    // A name that has no row of its own in some hours has only a part of its cost in its group.
    Math.min(costUsd, toDollars(found.reduce((sum, { computed }) => sum + computed, 0)))
  const totalOf = () => (hasRest && isNarrowed ? null : sumOf(costs, sums.total.costUsd))
  const groupsOf = groupsByRow(costs)
  const costOf = (row: UsageRow) => {
    if (hasRest && (isNarrowed || asked.split !== undefined)) return null
    return sumOf(groupsOf(row), row.costUsd)
  }
  return {
    ...sums,
    total: { ...sums.total, computedCostUsd: totalOf() },
    rows: sums.rows.map(row => ({ ...row, computedCostUsd: costOf(row) }))
  }
}

/** Parameters: see LIVE_TRACES and PLANNED_SUMS; 4 is the split, 6 the field, 7 and 8 the listed keys, then KEYS. */
function statementOf({ interval, split }: ComputedAsked): string {
  const start = (time: string) => startInSql(interval, time)
  return `
  with ${foundTraces(SCHEMA_NAMES, LIVE_TRACES)}, parts as (
    select ${start('start')} as start, ${KEYS.map((name, i) => `key::json ->> ${i} as ${name}`).join(', ')},
      part = 'r' as is_rest, computed
    from ${PLANNED_SUMS}
    union all
    select ${start('started_at')}, ${KEYS.join(', ')}, false, cost from found where is_computed
  ), keyed as (
    select start, ${split ?? 'null::text'} as key, is_rest, computed from parts
    where $4::text is not null and (is_rest or (
      ${KEYS.map((name, i) => `($${9 + i}::text is null or ${name} = $${9 + i})`).join(' and ')}
    ))
  )
  select ${msOf('start')} as start, case when is_other then null else key end as key, is_other as "isOther",
    is_rest as "isRest", sum(computed)::float8 as computed
  from (
    select *, ${isUnlisted('$7', '$8')} as is_other from keyed
  ) labelled
  group by 1, 2, 3, 4`
}
