/**
 * Histograms of durations. Each bucket spans a sixteenth of an octave (a factor of 1.044), so its geometric middle
 * differs from any duration in the bucket by at most 2.2 %. Durations below 24 ms have a bucket for each millisecond.
 *
 * A histogram is one decimal number with DIGITS digits per bucket; the last digits count the shortest durations.
 * PostgreSQL can therefore add histograms with `+` and `sum`, which is much faster than adding arrays of counts
 * (test/bench/RESULTS.md, "Rollups"). For example, if the buckets had two digits, three traces in one bucket and two in
 * the next longer one would be 0203.
 *
 * Until migration 21, a bucket spanned a quarter of an octave. The last digits of a histogram count traces in these
 * COARSE buckets, and the digits before them count traces in the fine buckets. A sum of old and new rows therefore is a
 * histogram too. A trace may have been added to its coarse bucket and later be subtracted from its fine bucket. Each
 * coarse bucket consists of whole fine buckets, so `settle` finds out which traces remain.
 *
 * The view rollup_latencies (sql/0021-usage.sql) shows the buckets of stored histograms as rows.
 */

const OCTAVES = 27
/** Number of buckets per octave. FINE is a multiple of COARSE, so that coarse buckets consist of whole fine buckets. */
const COARSE = 4
const FINE = 16
/** A multiple of four, because PostgreSQL stores a numeric in groups of four decimal digits. */
const DIGITS = 12

const boundsOf = (steps: number): readonly number[] => [
  ...new Set(Array.from({ length: OCTAVES * steps + 1 }, (_, step) => Math.ceil(2 ** (step / steps))))
]

/** Lower bounds in ms of all fine buckets except the first, which starts at 0. The last bucket has no upper bound. */
export const BOUNDS: readonly number[] = boundsOf(FINE)
const COARSE_BOUNDS = boundsOf(COARSE)
/** Number of coarse buckets. A histogram's fine buckets follow them. */
export const COARSE_BUCKETS = COARSE_BOUNDS.length + 1
export const BUCKETS = COARSE_BUCKETS + BOUNDS.length + 1

/** Returns the number of the bounds up to `ms`. Equivalent to width_bucket(ms, bounds) in PostgreSQL. */
function widthBucket(ms: number, bounds: readonly number[]): number {
  let [low, high] = [0, bounds.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (ms < (bounds[middle] as number)) high = middle
    else low = middle + 1
  }
  return low
}

/** Returns a duration's bucket. */
export const bucketOf = (ms: number): number => COARSE_BUCKETS + widthBucket(ms, BOUNDS)

/** Returns the exponent of the power of ten that is the histogram of one trace in this bucket. */
export const exponentOf = (bucket: number): number => bucket * DIGITS

/** Returns SQL for the histogram of one trace with a duration in ms; 0 if the duration is null. */
export const latencyInSql = (ms: string): string => {
  const bucket = `${COARSE_BUCKETS} + width_bucket(${ms}, '{${BOUNDS.join(',')}}'::bigint[])`
  return `coalesce(('1e' || ${DIGITS} * (${bucket}))::numeric, 0)`
}

/** Returns SQL that is true if a histogram has a count in a coarse bucket. */
export const isCoarseInSql = (latency: string): string => `mod(${latency}, 1e${exponentOf(COARSE_BUCKETS)}) <> 0`

/** Trace counts by bucket: first of the coarse buckets, then of the fine buckets. */
export type Histogram = readonly number[]

/**
 * Reads a histogram's counts from its decimal digits. A count may be negative after traces were subtracted. In the
 * digits, a negative count has borrowed from the next higher count; this function reverses the borrow.
 */
export function readHistogram(digits: string): Histogram {
  const isNegative = digits.startsWith('-')
  const first = isNegative ? 1 : 0
  const counts: number[] = []
  let carry = 0
  for (let end = digits.length; end > first || carry > 0; end -= DIGITS) {
    const count = countIn(digits, Math.max(first, end - DIGITS), end) + carry
    carry = count >= HALF ? 1 : 0
    const own = count - carry * 2 * HALF
    counts.push(isNegative && own !== 0 ? -own : own)
  }
  return counts
}
const HALF = 10 ** DIGITS / 2

/** Returns the number from `start` to `end`, in half the time of `Number`: a chart by name has a million counts. */
function countIn(digits: string, start: number, end: number): number {
  let count = 0
  for (let i = start; i < end; i++) count = count * 10 + digits.charCodeAt(i) - ZERO
  return count
}
const ZERO = 0x30

/** Adds `counts` to the histogram `sum` in place. */
export function addHistogram(sum: number[], counts: Histogram): void {
  for (const [bucket, count] of counts.entries()) sum[bucket] = (sum[bucket] ?? 0) + count
}

/** Returns whether each coarse bucket, with its fine buckets, has as many traces added as subtracted. */
export const isBalanced = (counts: Histogram): boolean =>
  FINE_OF.every(({ from, to }, coarse) => {
    let sum = counts[coarse] ?? 0
    for (let fine = from; fine < to; fine++) sum += counts[COARSE_BUCKETS + fine] ?? 0
    return sum === 0
  })

export const PERCENTILES = { p50: 0.5, p90: 0.9, p95: 0.95, p99: 0.99 } as const
export type Percentiles = Readonly<Record<keyof typeof PERCENTILES, number | null>>

/** Returns percentiles in ms; null if the histogram is empty. */
export function percentilesOf(counts: Histogram): Percentiles {
  const fine = settle(counts)
  const total = fine.reduce((sum, count) => sum + count, 0)
  const at = (share: number) => (total > 0 ? middleOf(bucketAt(fine, Math.ceil(share * total))) : null)
  return { p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99) }
}

/** The fine buckets of each coarse bucket, excluding `to`, and the fine bucket in the middle of its durations. */
const FINE_OF = Array.from({ length: COARSE_BUCKETS }, (_, coarse) => {
  const least = COARSE_BOUNDS[coarse - 1] ?? 0
  const next = COARSE_BOUNDS[coarse]
  const middle = next === undefined ? least : Math.sqrt(least * (next - 1))
  return {
    from: widthBucket(least, BOUNDS),
    to: next === undefined ? BOUNDS.length + 1 : widthBucket(next, BOUNDS),
    middle: widthBucket(middle, BOUNDS)
  }
})

/**
 * Returns the counts of the fine buckets. Traces in coarse buckets are counted in the middle of their bucket. A trace
 * that was added to one bucket and subtracted from another cancels out within its coarse bucket.
 */
function settle(counts: Histogram): number[] {
  const fine = new Array<number>(BOUNDS.length + 1).fill(0)
  for (let i = COARSE_BUCKETS; i < Math.min(counts.length, BUCKETS); i++) fine[i - COARSE_BUCKETS] = counts[i] as number
  // Usually, no trace is in a coarse bucket, and none was subtracted from a bucket to which it was not added.
  const isSettled = counts.every((count, i) => (i < COARSE_BUCKETS ? count === 0 : count >= 0))
  if (isSettled) return fine
  for (const [coarse, { from, to, middle }] of FINE_OF.entries()) {
    let open = counts[coarse] ?? 0
    for (let i = from; i < to; i++) {
      if ((fine[i] as number) >= 0) continue
      open += fine[i] as number
      fine[i] = 0
    }
    for (let i = from; i < to && open < 0; i++) {
      const taken = Math.min(fine[i] as number, -open)
      fine[i] = (fine[i] as number) - taken
      open += taken
    }
    fine[middle] = (fine[middle] as number) + open
  }
  return fine
}

/** Returns the fine bucket of the trace with this rank, counted from 1. */
function bucketAt(counts: readonly number[], rank: number): number {
  let sum = 0
  for (let bucket = 0; bucket < counts.length; bucket++) {
    sum += counts[bucket] as number
    if (sum >= rank) return bucket
  }
  return counts.length - 1
}

/** Returns the geometric middle of a fine bucket's durations in ms; for the last bucket, its lower bound. */
function middleOf(bucket: number): number {
  if (bucket === 0) return 0
  const least = BOUNDS[bucket - 1] as number
  const most = (BOUNDS[bucket] ?? least + 1) - 1
  return Math.round(Math.sqrt(least * most) * 10) / 10
}
