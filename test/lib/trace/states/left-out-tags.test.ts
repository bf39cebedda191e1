import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { MAX_TAGS } from '../../../../lib/schema/input.ts'
import { markLeftOutTags, uniteTags } from '../../../../lib/trace/states/left-out-tags.ts'
import type { Ranks } from '../../../../lib/trace/states/ranks.ts'

const someHint = fc.record(
  { tags: fc.uniqueArray(fc.nat({ max: 30 }).map(String), { maxLength: 8 }), tagsLeftOut: fc.constant(true) },
  { requiredKeys: ['tags'] }
)

t.test('tags, and the mark for missing ones, do not depend on the order of arrival', async () => {
  const property = fc.property(
    fc.array(someHint, { maxLength: 8 }),
    fc.infiniteStream(fc.nat({ max: 3 })),
    (hints, cuts) => {
      let stored: readonly string[] = []
      let ranks: Ranks = {}
      const waiting = [...hints].reverse()
      while (waiting.length > 0) {
        const growth = uniteTags(stored, waiting.splice(0, 1 + (cuts.next().value as number)))
        stored = growth.tags
        ranks = { ...ranks, ...growth.ranks }
      }
      const all = [...new Set(hints.flatMap(({ tags }) => tags))].sort()
      assert.deepEqual(stored, all.slice(0, MAX_TAGS))
      const isLeftOut = all.length > MAX_TAGS || hints.some(({ tagsLeftOut }) => tagsLeftOut)
      const metadata = isLeftOut ? '{"a":1,"spoor":{"tagsLeftOut":true}}' : '{"a":1}'
      assert.equal(markLeftOutTags('{"a":1}', ranks), metadata)
    }
  )
  fc.assert(property)
})
