/** Rows of sums by step and group → the lists of numbers that charts draw. */
import { toDollars } from './amounts.ts'
import { addHistogram, type Percentiles, percentilesOf, readHistogram } from './latency.ts'

/** What the traces of a group that began in a step add up to. */
export interface SumRow {
  /** The number of the step, from 0; null if the row is of the whole period. */
  readonly at: number | null
  readonly key: string | null
  /** Of the groups that are not shown by themselves. */
  readonly isOther: boolean
  readonly traces: number
  readonly errors: number
  readonly priced: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** In billionths of a dollar. */
  readonly cost: number
  /** Decimal digits (lib/rollups/latency.ts); null where it was not asked for. */
  readonly latency: string | null
}

const COUNTS = ['traces', 'errors', 'inputTokens', 'outputTokens', 'costUsd', 'priced'] as const
type Counts = Record<(typeof COUNTS)[number], number>
const QUANTILES = ['p50', 'p90', 'p95', 'p99'] as const

export type Total = Readonly<Counts> & Percentiles

/** A number for each step, of each count and percentile; none where it was not asked for. */
export type Lists = Readonly<Record<(typeof COUNTS)[number], number[]>> &
  Readonly<Record<(typeof QUANTILES)[number], (number | null)[]>>
export type Group = { readonly key: string | null } & Lists & { readonly total: Total }

/** The key of the group that all that are not shown by themselves are in. It stands last. */
export const OTHER = '(other)'

const nothing = (): Counts => ({ traces: 0, errors: 0, inputTokens: 0, outputTokens: 0, costUsd: 0, priced: 0 })
const countsOf = ({ traces, errors, inputTokens, outputTokens, cost, priced }: SumRow): Counts => ({
  traces,
  errors,
  inputTokens,
  outputTokens,
  costUsd: toDollars(cost),
  priced
})

/** The groups, those with the most traces first. */
export function groupsOf(rows: readonly SumRow[], steps: number): Group[] {
  const groups = new Map<string | null | typeof REST, SumRow[]>()
  for (const row of rows) {
    const key = row.isOther ? REST : row.key
    const known = groups.get(key)
    if (known === undefined) groups.set(key, [row])
    else known.push(row)
  }
  const made = [...groups].map(([key, rows]) => ({ key, group: groupOf(key === REST ? OTHER : key, rows, steps) }))
  const place = ({ key, group }: (typeof made)[number]) =>
    key === REST ? Number.NEGATIVE_INFINITY : group.total.traces
  const isBefore = (a: string | null, b: string | null) => ((a ?? '') < (b ?? '') ? -1 : 1)
  return made.sort((a, b) => place(b) - place(a) || isBefore(a.group.key, b.group.key)).map(({ group }) => group)
}
const REST = Symbol('rest')

export function groupOf(key: string | null, rows: readonly SumRow[], steps: number): Group {
  const inSteps = rows.filter(({ at }) => at !== null)
  const whole = rows.filter(({ at }) => at === null)
  // A group that is told of only as a whole has no lists.
  const isDrawn = inSteps.length > 0 || whole.length === 0
  const isTimed = inSteps.every(({ latency }) => latency !== null)
  const lists = Object.fromEntries([
    ...COUNTS.map(name => [name, isDrawn ? Array.from({ length: steps }, () => 0) : []]),
    ...QUANTILES.map(name => [name, isDrawn && isTimed ? Array.from({ length: steps }, () => null) : []])
  ]) as unknown as Lists
  for (const row of inSteps) {
    const at = row.at as number
    const counts = countsOf(row)
    for (const name of COUNTS) lists[name][at] = counts[name]
    if (row.latency === null) continue
    const percentiles = percentilesOf(readHistogram(row.latency))
    for (const name of QUANTILES) lists[name][at] = percentiles[name]
  }
  return { key, ...lists, total: totalOf(whole.length > 0 ? whole : rows) }
}

export function totalOf(rows: readonly SumRow[]): Total {
  const sum = nothing()
  let cost = 0
  const latency: number[] = []
  for (const row of rows) {
    const counts = countsOf(row)
    for (const name of COUNTS) sum[name] += counts[name]
    cost += row.cost
    if (row.latency !== null) addHistogram(latency, readHistogram(row.latency))
  }
  return { ...sum, costUsd: toDollars(cost), ...percentilesOf(latency) }
}
