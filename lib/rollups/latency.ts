/**
 * Histograms of durations. A bucket is a quarter of an octave of milliseconds, so the middle of a bucket differs from
 * any duration in it by 9.1 % at most.
 *
 * A histogram is one decimal number. Each bucket has DIGITS digits of it, and the bucket of the shortest durations has
 * the last ones. PostgreSQL therefore adds histograms with `+` and `sum`, much faster than arrays of counts
 * (test/bench/RESULTS.md, "Rollups"). For example, three traces below 1 ms and two from 1 to below 2 ms are
 *
 *   000000000002 000000000003 = 2000000000003
 *
 * The view rollup_latencies (sql/0013-rollup-latencies.sql) shows the buckets of stored histograms as rows.
 */

const OCTAVES = 27
const STEPS = 4
/** A multiple of four, which are the digits that PostgreSQL's numeric has in a place. */
const DIGITS = 12

/** The least duration in ms of each bucket but the first, which is that of durations under 1 ms. The last bucket has no end. */
export const BOUNDS: readonly number[] = [
  ...new Set(Array.from({ length: OCTAVES * STEPS + 1 }, (_, step) => Math.ceil(2 ** (step / STEPS))))
]
export const BUCKETS = BOUNDS.length + 1

/** The bucket of a duration in ms: PostgreSQL's width_bucket(ms, BOUNDS). */
export function bucketOf(ms: number): number {
  let [low, high] = [0, BOUNDS.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (ms < (BOUNDS[middle] as number)) high = middle
    else low = middle + 1
  }
  return low
}

/** One trace in a bucket, as the power of ten that stands for it. */
export const exponentOf = (bucket: number): number => bucket * DIGITS

/** SQL of the number that one trace of a duration in ms is; 0 if it is null. */
export const latencyInSql = (ms: string): string =>
  `coalesce(('1e' || ${DIGITS} * width_bucket(${ms}, '{${BOUNDS.join(',')}}'::bigint[]))::numeric, 0)`

/** Counts by bucket. */
export type Histogram = readonly number[]

/**
 * The counts of a number, in decimal digits. A count may be negative, of what takes away: it borrows from the one before it,
 * and is given back.
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

/** Adds the counts of one histogram to those of another, in place. */
export function addHistogram(sum: number[], counts: Histogram): void {
  for (const [bucket, count] of counts.entries()) sum[bucket] = (sum[bucket] ?? 0) + count
}

export const PERCENTILES = { p50: 0.5, p90: 0.9, p95: 0.95, p99: 0.99 } as const
export type Percentiles = Readonly<Record<keyof typeof PERCENTILES, number | null>>

/** In ms; null if nothing has a duration. */
export function percentilesOf(counts: Histogram): Percentiles {
  const total = counts.reduce((sum, count) => sum + count, 0)
  const at = (share: number) => (total > 0 ? middleOf(bucketAt(counts, Math.ceil(share * total))) : null)
  return { p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99) }
}

/** The bucket of the trace with this rank, the first being 1. */
function bucketAt(counts: Histogram, rank: number): number {
  let sum = 0
  for (const [bucket, count] of counts.entries()) {
    sum += count
    if (sum >= rank) return bucket
  }
  return counts.length - 1
}

/** The geometric middle of the durations of a bucket, in ms; of the last one its least. */
function middleOf(bucket: number): number {
  if (bucket === 0) return 0
  const least = BOUNDS[bucket - 1] as number
  const most = (BOUNDS[bucket] ?? least + 1) - 1
  return Math.round(Math.sqrt(least * most) * 10) / 10
}
