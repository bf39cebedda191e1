import fc from 'fast-check'
import t from 'tap'
import {
  addHistogram,
  BOUNDS,
  BUCKETS,
  bucketOf,
  COARSE_BUCKETS,
  exponentOf,
  isBalanced,
  PERCENTILES,
  percentilesOf,
  readHistogram
} from '../../../lib/rollups/latency.ts'

/** Most durations are within 37 hours, because all longer durations share one bucket. */
const duration = fc.oneof(fc.nat(50), fc.nat(5000), fc.nat(2 ** 27 - 1))
const durations = fc.array(duration, { minLength: 1, maxLength: 60 })

/** Represents counts as PostgreSQL does: as a sum to which each duration adds the power of ten of its bucket. */
const numberOf = (all: readonly number[]) => all.reduce((sum, ms) => sum + 10n ** BigInt(exponentOf(bucketOf(ms))), 0n)
const trimmed = (counts: readonly number[]) => counts.slice(0, counts.findLastIndex(count => count !== 0) + 1)

/** Lower bounds of the buckets in which traces were counted until migration 21. */
const OLD_BOUNDS = [...new Set(Array.from({ length: 109 }, (_, k) => Math.ceil(2 ** (k / 4))))]
const oldBucketOf = (ms: number) => OLD_BOUNDS.filter(bound => bound <= ms).length
const oldNumberOf = (all: readonly number[]) => all.reduce((sum, ms) => sum + 10n ** BigInt(12 * oldBucketOf(ms)), 0n)

t.test('a bucket contains the durations from its bound to the next', t => {
  t.same(BOUNDS.slice(20, 30), [21, 22, 23, 24, 25, 26, 27, 29, 30, 31])
  t.same(BOUNDS.slice(-2), [Math.ceil(2 ** (27 - 1 / 16)), 2 ** 27])
  t.equal(COARSE_BUCKETS, OLD_BOUNDS.length + 1)
  t.equal(bucketOf(0), COARSE_BUCKETS)
  t.equal(bucketOf(-5), COARSE_BUCKETS)
  t.equal(bucketOf(1e15), BUCKETS - 1)
  for (const [i, bound] of BOUNDS.entries()) {
    t.same([bucketOf(bound - 1), bucketOf(bound)], [COARSE_BUCKETS + i, COARSE_BUCKETS + i + 1])
    const next = BOUNDS[i + 1]
    if (next !== undefined) t.ok(next - 1 <= bound * 1.05, 'a bucket spans at most 5 %')
  }
  for (const bound of OLD_BOUNDS) t.ok(BOUNDS.includes(bound), 'an old bucket consists of whole new ones')
  t.end()
})

const isNear = (found: ReturnType<typeof percentilesOf>, all: readonly number[], error: number) => {
  const sorted = all.toSorted((a, b) => a - b)
  return Object.entries(PERCENTILES).every(([name, share]) => {
    const real = sorted[Math.ceil(share * all.length) - 1] as number
    return Math.abs((found[name as keyof typeof PERCENTILES] as number) - real) <= error * real
  })
}

t.test('percentiles are off by at most 2.2 %', async () => {
  fc.assert(fc.property(durations, all => isNear(percentilesOf(readHistogram(String(numberOf(all)))), all, 0.022)))
})

t.test("old histograms are still read, with their buckets' error", async () => {
  const limits = fc.record({ old: durations, fresh: fc.array(duration, { maxLength: 60 }), gone: fc.nat(60) })
  fc.assert(
    fc.property(limits, ({ old, fresh, gone }) => {
      // Traces that were counted in old buckets are subtracted from new ones.
      const removed = old.slice(1, 1 + gone)
      const left = [old[0] as number, ...old.slice(1 + gone), ...fresh]
      const number = oldNumberOf(old) + numberOf(fresh) - numberOf(removed)
      return isNear(percentilesOf(readHistogram(String(number))), left, 0.19)
    })
  )
})

t.test('subtracting a trace from a new bucket balances the trace in the old one', async () => {
  fc.assert(
    fc.property(durations, duration, (all, other) => {
      const number = oldNumberOf(all) - numberOf(all)
      const isAlike = oldBucketOf(other) === oldBucketOf(all[0] as number)
      const changed = number + numberOf([all[0] as number]) - numberOf([other])
      return (
        isBalanced(readHistogram(String(number))) &&
        isBalanced(readHistogram(String(-number))) &&
        isBalanced(readHistogram(String(changed))) === isAlike
      )
    })
  )
})

t.test('an empty histogram has no percentiles', t => {
  t.same(percentilesOf(readHistogram('0')), { p50: null, p90: null, p95: null, p99: null })
  t.end()
})

t.test('counts are read from one number, including negative ones', async () => {
  fc.assert(
    fc.property(durations, fc.array(duration, { maxLength: 60 }), (added, taken) => {
      const counts = Array.from({ length: BUCKETS }, () => 0)
      for (const ms of added) counts[bucketOf(ms)]!++
      for (const ms of taken) counts[bucketOf(ms)]!--
      const read = trimmed(readHistogram(String(numberOf(added) - numberOf(taken))))
      return JSON.stringify(read) === JSON.stringify(trimmed(counts))
    })
  )
})

t.test('histograms are added bucket by bucket', t => {
  const sum = [1, 2]
  addHistogram(sum, [1, 0, 5])
  t.same(sum, [2, 2, 5])
  t.end()
})
