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

/** Sums whose percentiles were computed from the durations themselves. */
export interface ExactSums extends Omit<Sums, 'latency'>, Percentiles {}

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

const countsOf = ({ traces, errors, inputTokens, outputTokens, cost, priced }: Omit<Sums, 'latency'>): Counts => ({
  traces,
  errors,
  inputTokens,
  outputTokens,
  costUsd: toDollars(cost),
  priced
})

/** Returns sums with the percentiles that PostgreSQL computed. */
export const exactTotal = (row: ExactSums): SeriesTotal => {
  const { p50, p90, p95, p99 } = row
  return { ...countsOf(row), p50, p90, p95, p99 }
}

export const NO_TRACES: SeriesTotal = exactTotal({
  ...{ traces: 0, errors: 0, priced: 0, inputTokens: 0, outputTokens: 0, cost: 0 },
  ...{ p50: null, p90: null, p95: null, p99: null }
})

/** Returns one number per step for each count and percentile. */
export function stepListsOf(totals: ReadonlyMap<number, SeriesTotal>, steps: number): Lists {
  const each = Array.from({ length: steps }, (_, at) => totals.get(at) ?? NO_TRACES)
  return Object.fromEntries([...COUNTS, ...QUANTILES].map(name => [name, each.map(total => total[name])])) as never
}

export function seriesOf(rows: readonly StepSums[], steps: number): Series {
  const histograms = histogramsOf(rows)
  const totals = new Map(rows.map((row, i) => [row.at, { ...countsOf(row), ...percentilesOf(histograms[i]!) }]))
  const lists = stepListsOf(totals, steps)
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
