/** Converts sums read from PostgreSQL to the numbers that charts and tables show. */
import { toDollars } from './amounts.ts'
import { addHistogram, type Percentiles, percentilesOf, readHistogram } from './latency.ts'

export interface Sums {
  readonly traces: number
  readonly errors: number
  readonly priced: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Cost in billionths of a dollar. */
  readonly cost: number
  /** Histogram of durations, as decimal digits (lib/rollups/latency.ts). */
  readonly latency: string
}

/** Sums of the traces that started in one step. `at` is the step's index, from 0. */
export interface StepSums extends Sums {
  readonly at: number
}

/** Sums of the traces of one group, or of all groups that are not shown separately. */
export interface GroupSums extends Sums {
  readonly key: string | null
  readonly isOther: boolean
}

const COUNTS = ['traces', 'errors', 'inputTokens', 'outputTokens', 'costUsd', 'priced'] as const
type Counts = Record<(typeof COUNTS)[number], number>
const QUANTILES = ['p50', 'p90', 'p95', 'p99'] as const

export type SeriesTotal = Readonly<Counts> & Percentiles

/** One number per step for each count and percentile. */
export type Lists = Readonly<Record<(typeof COUNTS)[number], number[]>> &
  Readonly<Record<(typeof QUANTILES)[number], (number | null)[]>>
/** The series of all traces in a period. */
export type Series = { readonly key: null } & Lists & { readonly total: SeriesTotal }
export type SeriesGroup = { readonly key: string | null; readonly total: SeriesTotal }

/** Key of the group that combines all groups that are not shown separately. */
const OTHER = '(other)'

const countsOf = ({ traces, errors, inputTokens, outputTokens, cost, priced }: Sums): Counts => ({
  traces,
  errors,
  inputTokens,
  outputTokens,
  costUsd: toDollars(cost),
  priced
})

export const groupsOf = (rows: readonly GroupSums[]): SeriesGroup[] =>
  rows.map(row => ({ key: row.isOther ? OTHER : row.key, total: totalOf([row]) }))

export function seriesOf(rows: readonly StepSums[], steps: number): Series {
  const lists = Object.fromEntries([
    ...COUNTS.map(name => [name, Array.from({ length: steps }, () => 0)]),
    ...QUANTILES.map(name => [name, Array.from({ length: steps }, () => null)])
  ]) as unknown as Lists
  const histograms = histogramsOf(rows)
  for (const [i, row] of rows.entries()) {
    const counts = countsOf(row)
    for (const name of COUNTS) lists[name][row.at] = counts[name]
    const percentiles = percentilesOf(histograms[i]!)
    for (const name of QUANTILES) lists[name][row.at] = percentiles[name]
  }
  return { key: null, ...lists, total: totalOf(rows, histograms) }
}

const histogramsOf = (rows: readonly Sums[]) => rows.map(({ latency }) => readHistogram(latency))

/** Returns the total of `rows`, whose histograms are `histograms`. */
export function totalOf(rows: readonly Sums[], histograms = histogramsOf(rows)): SeriesTotal {
  const sum: Counts = { traces: 0, errors: 0, inputTokens: 0, outputTokens: 0, costUsd: 0, priced: 0 }
  let cost = 0
  const latency: number[] = []
  for (const [i, row] of rows.entries()) {
    const counts = countsOf(row)
    for (const name of COUNTS) sum[name] += counts[name]
    cost += row.cost
    addHistogram(latency, histograms[i]!)
  }
  return { ...sum, costUsd: toDollars(cost), ...percentilesOf(latency) }
}
