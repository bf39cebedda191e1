import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import {
  findTraces,
  keepMembers,
  makeBuckets,
  packMembers,
  readMembers,
  SEGMENT_BUCKETS,
  segmentBucketOf
} from '../../../lib/search/segment.ts'
import { termOf } from '../../../lib/search/words.ts'
import { runs } from '../../torture/orders.ts'

const rest = async () => {}

t.test("a segment returns each term's traces, even after some are deleted", async t => {
  const someTerm = fc.oneof(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), fc.constantFrom(0, 1, -1, termOf('a')))
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uniqueArray(someTerm, { maxLength: 12 }), { maxLength: 40 }),
      fc.infiniteStream(fc.boolean()),
      async (traces, choices) => {
        const buckets = await makeBuckets(
          traces.map(terms => Int32Array.from(terms)),
          rest
        )
        assert.equal(buckets.length, SEGMENT_BUCKETS)
        const isKept = traces.map(() => choices.next().value as boolean)
        const kept = await keepMembers(
          buckets.map((bytes, bucket) => ({ bucket, bytes })),
          isKept,
          rest
        )
        const left = traces.filter((_, i) => isKept[i])
        for (const term of [...new Set(traces.flat()), 12345]) {
          const having = (some: readonly number[][]) => some.flatMap((terms, i) => (terms.includes(term) ? [i] : []))
          assert.deepEqual(findTraces(buckets[segmentBucketOf(term)]!, term), having(traces))
          assert.deepEqual(findTraces(kept[segmentBucketOf(term)]!, term), having(left))
        }
      }
    ),
    runs(30)
  )
  const members = [
    { seq: 2 ** 52, startedMs: -62_135_596_800_000 },
    { seq: 1, startedMs: 253_402_300_799_999 }
  ]
  t.same(readMembers(packMembers(members)), members)
})
