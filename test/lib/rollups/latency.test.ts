import fc from 'fast-check'
import t from 'tap'
import {
  addHistogram,
  BOUNDS,
  BUCKETS,
  bucketOf,
  exponentOf,
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

t.test('a bucket has the durations from its bound to the next', t => {
  t.same(BOUNDS.slice(0, 12), [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16])
  t.equal(BOUNDS.at(-1), 2 ** 27)
  t.equal(bucketOf(0), 0)
  t.equal(bucketOf(-5), 0)
  t.equal(bucketOf(1e15), BUCKETS - 1)
  for (const [i, bound] of BOUNDS.entries()) t.same([bucketOf(bound - 1), bucketOf(bound)], [i, i + 1])
  t.end()
})

t.test('percentiles are at most 9.1 % off', async () => {
  fc.assert(
    fc.property(durations, all => {
      const sorted = all.toSorted((a, b) => a - b)
      const found = percentilesOf(readHistogram(String(numberOf(all))))
      return Object.entries(PERCENTILES).every(([name, share]) => {
        const real = sorted[Math.ceil(share * all.length) - 1] as number
        return Math.abs((found[name as keyof typeof PERCENTILES] as number) - real) <= 0.091 * real
      })
    })
  )
})

t.test('there are none of nothing', t => {
  t.same(percentilesOf(readHistogram('0')), { p50: null, p90: null, p95: null, p99: null })
  t.end()
})

t.test('counts are read out of one number, also those that are taken away', async () => {
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
