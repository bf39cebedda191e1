/** Counts the traces that each value of a filter would select if all other filters stayed unchanged. */
import type { Sql } from 'postgres'
import type { Period } from '../../../rollups/period.ts'
import { allAnswered } from '../../transactions.ts'
import { type ChartFilters, countRunning, sumsOf } from './sums.ts'

export interface ValueCount {
  readonly value: string
  readonly traces: number
}

export interface FacetCounts {
  readonly statuses: readonly ValueCount[]
  readonly models: readonly ValueCount[]
  readonly environments: readonly ValueCount[]
  readonly names: readonly ValueCount[]
}

/** Maximum number of values per filter. The values with the most traces are returned. */
const MOST_VALUES = 200
const MOST_FAMILIES = 10_000

interface FamilyCount {
  readonly status: string
  readonly environment: string | null
  readonly model: string | null
  readonly traces: number
}

export async function readFacetCounts(
  sql: Sql,
  projectId: number,
  period: Period,
  filters: ChartFilters
): Promise<FacetCounts> {
  const running = countRunning(sql, projectId, period, { ...filters, status: 'running' })
  const families = readFamilies(sql, projectId, period, filters)
  const names = readNames(sql, projectId, period, filters)
  await allAnswered<unknown>([running, families, names])
  const counts = await families
  const statuses = valuesOf(counts, 'status', filters)
  const going = await running
  return {
    statuses: going > 0 ? [...statuses, { value: 'running', traces: going }] : statuses,
    models: valuesOf(counts, 'model', filters),
    environments: valuesOf(counts, 'environment', filters),
    names: await names
  }
}

/** Counts the traces per value of a field. Filters on the field itself are ignored; filters on other fields apply. */
function valuesOf(counts: readonly FamilyCount[], field: 'status' | 'model' | 'environment', filters: ChartFilters) {
  const others = (['status', 'model', 'environment'] as const).filter(each => each !== field)
  const sums = new Map<string, number>()
  for (const count of counts) {
    const value = count[field]
    const isFit = others.every(each => filters[each] === undefined || filters[each] === count[each])
    if (isFit && value !== null) sums.set(value, (sums.get(value) ?? 0) + count.traces)
  }
  return [...sums]
    .map(([value, traces]) => ({ value, traces }))
    .sort((a, b) => b.traces - a.traces || (a.value < b.value ? -1 : 1))
    .slice(0, MOST_VALUES)
}

async function readFamilies(sql: Sql, projectId: number, period: Period, { name }: ChartFilters) {
  return sql<FamilyCount[]>`
    select status, environment, model, sum(traces)::float8 as traces
    from (${sumsOf(sql, projectId, { period, filters: { name }, fields: ['status', 'model'], isWhole: true })}) s
    group by 1, 2, 3 having sum(traces) > 0 order by 4 desc limit ${MOST_FAMILIES}`
}

async function readNames(sql: Sql, projectId: number, period: Period, { name: _, ...filters }: ChartFilters) {
  return sql<ValueCount[]>`
    select name as value, sum(traces)::float8 as traces
    from (${sumsOf(sql, projectId, { period, filters, fields: ['name'], isWhole: true })}) s
    where name is not null group by 1 having sum(traces) > 0 order by 2 desc, 1 limit ${MOST_VALUES}`
}
