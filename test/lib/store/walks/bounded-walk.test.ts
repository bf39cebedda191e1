/** Tests that the pages of bounded walks together have every item once, whatever the portions and bounds are. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { type Walked, type WalkPortion, walkBounded } from '../../../../lib/store/walks/bounded-walk.ts'

/** A position: traces and items of the next trace that were examined. */
interface Place {
  readonly traces: number
  readonly items: number
}

/** Traces with numbered items each. A portion stops early where `stops` says so. */
function reading(counts: readonly number[], stops: ReadonlySet<number>) {
  return async ({ traces, items }: Place, size: number): Promise<WalkPortion<string, Place>> => {
    assert.ok(size >= 1)
    const found: { item: string; at: Place }[] = []
    let at = traces
    do {
      const count = counts[at] ?? 0
      for (let i = at === traces ? items : 0; i < count; i++) {
        found.push({ item: `${at}.${i}`, at: { traces: at, items: i + 1 } })
      }
      if (at < counts.length) at++
    } while (at < counts.length && at - traces < size && !stops.has(at))
    const examined = at - traces
    return { found, examined, last: examined > 0 ? { traces: at, items: 0 } : undefined, hasMore: at < counts.length }
  }
}

t.test('pages have every item once, in order', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(0, 0, 0, 1, 3), { maxLength: 40, size: 'max' }),
      fc.uniqueArray(fc.nat(40)),
      fc.integer({ min: 1, max: 5 }),
      fc.record({ traces: fc.integer({ min: 1, max: 12 }), ms: fc.constantFrom(0, 3, 1000) }),
      fc.integer({ min: 1, max: 7 }),
      async (counts, stops, limit, bounds, first) => {
        const read = reading(counts, new Set(stops))
        const expected = counts.flatMap((count, trace) => Array.from({ length: count }, (_, i) => `${trace}.${i}`))
        const items: string[] = []
        let from: Place | undefined = { traces: 0, items: 0 }
        for (let pages = 0; from !== undefined; pages++) {
          assert.ok(pages <= counts.length + expected.length, 'each page advances')
          let clock = 0
          const walked: Walked<string, Place> = await walkBounded({
            from,
            limit,
            read,
            bounds,
            first,
            now: () => clock++
          })
          assert.ok(walked.items.length <= limit && walked.examined <= Math.max(bounds.traces, first))
          // Only a walk that was stopped has a page that is not full although another follows.
          if (walked.next !== undefined) assert.equal(walked.items.length < limit, walked.isStopped)
          else assert.equal(walked.isStopped, false)
          items.push(...walked.items)
          from = walked.next
        }
        assert.deepEqual(items, expected)
      }
    )
  )
)

t.test('a walk stops at its limits, and reports its position', async t => {
  const nothing = (ms: number) => {
    let clock = 0
    const sizes: number[] = []
    const read = async (at: number, size: number): Promise<WalkPortion<string, number>> => {
      sizes.push(size)
      clock += size * ms
      return { found: [], examined: size, last: at + size, hasMore: true }
    }
    return { sizes, walk: { from: 0, limit: 10, read, now: () => clock } }
  }
  const fast = nothing(0)
  t.match(await walkBounded(fast.walk), { items: [], next: 5000, examined: 5000, reached: 5000, isStopped: true })
  t.same(fast.sizes, [250, 1000, 2000, 1750])

  const slow = nothing(0.5)
  t.match(await walkBounded(slow.walk), { next: 600, examined: 600, isStopped: true })
  t.same(slow.sizes, [250, 350], 'the second portion is as long as time allows')

  const slower = nothing(10)
  t.match(
    await walkBounded(slower.walk),
    { next: 250, examined: 250, isStopped: true },
    'the first portion is finished'
  )
})
