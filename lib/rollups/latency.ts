/**
 * Histograms of durations. Each bucket spans a quarter of an octave (a factor of 1.19), so its geometric middle differs
 * from any duration in the bucket by at most 9.1 %.
 *
 * A histogram is one decimal number with DIGITS digits per bucket; the last digits count the shortest durations.
 * PostgreSQL can therefore add histograms with `+` and `sum`, which is much faster than adding arrays of counts
 * (test/bench/RESULTS.md, "Rollups"). For example, three traces below 1 ms and two from 1 to below 2 ms are
 *
 *   000000000002 000000000003 = 2000000000003
 *
 * The view rollup_latencies (sql/0013-rollup-latencies.sql) shows the buckets of stored histograms as rows.
 */

const OCTAVES = 27
const STEPS = 4
/** A multiple of four, because PostgreSQL stores a numeric in groups of four decimal digits. */
const DIGITS = 12

/** Lower bounds in ms of all buckets except the first, which starts at 0. The last bucket has no upper bound. */
export const BOUNDS: readonly number[] = [
  ...new Set(Array.from({ length: OCTAVES * STEPS + 1 }, (_, step) => Math.ceil(2 ** (step / STEPS))))
]
export const BUCKETS = BOUNDS.length + 1

/** Returns a duration's bucket. Equivalent to width_bucket(ms, BOUNDS) in PostgreSQL. */
export function bucketOf(ms: number): number {
  let [low, high] = [0, BOUNDS.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (ms < (BOUNDS[middle] as number)) high = middle
    else low = middle + 1
  }
  return low
}

/** Returns the exponent of the power of ten that is the histogram of one trace in this bucket. */
export const exponentOf = (bucket: number): number => bucket * DIGITS

/** Returns SQL for the histogram of one trace with a duration in ms; 0 if the duration is null. */
export const latencyInSql = (ms: string): string =>
  `coalesce(('1e' || ${DIGITS} * width_bucket(${ms}, '{${BOUNDS.join(',')}}'::bigint[]))::numeric, 0)`

/** Trace counts by bucket. */
export type Histogram = readonly number[]

/**
 * Reads a histogram's counts from its decimal digits. A count may be negative after traces were subtracted. In the
 * digits, a negative count has borrowed from the next higher count; this function reverses the borrow.
 */
export function readHistogram(digits: string): Histogram {
  const isNegative = digits.startsWith('-')
  const text = isNegative ? digits.slice(1) : digits
  const counts: number[] = []
  let carry = 0
  for (let end = text.length; end > 0 || carry > 0; end -= DIGITS) {
    const count = Number(text.slice(Math.max(0, end - DIGITS), Math.max(0, end))) + carry
    carry = count >= HALF ? 1 : 0
    const own = count - carry * 2 * HALF
    counts.push(isNegative && own !== 0 ? -own : own)
  }
  return counts
}
const HALF = 10 ** DIGITS / 2

/** Adds `counts` to the histogram `sum` in place. */
export function addHistogram(sum: number[], counts: Histogram): void {
  for (const [bucket, count] of counts.entries()) sum[bucket] = (sum[bucket] ?? 0) + count
}

export const PERCENTILES = { p50: 0.5, p90: 0.9, p95: 0.95, p99: 0.99 } as const
export type Percentiles = Readonly<Record<keyof typeof PERCENTILES, number | null>>

/** Returns percentiles in ms; null if the histogram is empty. */
export function percentilesOf(counts: Histogram): Percentiles {
  const total = counts.reduce((sum, count) => sum + count, 0)
  const at = (share: number) => (total > 0 ? middleOf(bucketAt(counts, Math.ceil(share * total))) : null)
  return { p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99) }
}

/** Returns the bucket of the trace with this rank, counted from 1. */
function bucketAt(counts: Histogram, rank: number): number {
  let sum = 0
  for (const [bucket, count] of counts.entries()) {
    sum += count
    if (sum >= rank) return bucket
  }
  return counts.length - 1
}

/** Returns the geometric middle of a bucket's durations in ms; for the last bucket, its lower bound. */
function middleOf(bucket: number): number {
  if (bucket === 0) return 0
  const least = BOUNDS[bucket - 1] as number
  const most = (BOUNDS[bucket] ?? least + 1) - 1
  return Math.round(Math.sqrt(least * most) * 10) / 10
}
