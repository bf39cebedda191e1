import fc from 'fast-check'
import t from 'tap'
import { MAX_BLOCK_BYTES, packTexts, unpackTexts } from '../../../lib/rows/packed-texts.ts'
import {
  isWorthwhile,
  mayShare,
  mayShrink,
  Repacker,
  type StoredSizes,
  spansOfGroup
} from '../../../lib/rows/repacking.ts'

const MIB = 1024 * 1024
const LIVE: StoredSizes = {
  ...{ spans: 20, groups: 20, packedBytes: 60_000, plainBytes: 0, hasSteps: false, estimatedBytes: 250_000 }
}

t.test('a trace may shrink if it has several groups, or plain texts that are worth packing', t => {
  const decisions: [name: string, stored: Partial<StoredSizes>, expected: boolean][] = [
    ['a group for each append', {}, true],
    ['one group', { groups: 1 }, false],
    ['nothing packed', { groups: 0, packedBytes: 0, plainBytes: 60_000 }, true],
    ['one group, and late spans', { groups: 1, plainBytes: 5000 }, true],
    ['one group, and a short late span', { groups: 1, plainBytes: 500 }, false],
    ['few texts', { groups: 3, packedBytes: 900 }, false],
    ['no texts', { groups: 0, packedBytes: 0 }, false],
    ["a coding agent's steps", { hasSteps: true }, false],
    ['a long whole trace', { groups: 3, spans: 2000, packedBytes: 5 * MIB, estimatedBytes: 11 * MIB }, false],
    ['a long trace in pieces', { groups: 300, spans: 2000, packedBytes: 5 * MIB, estimatedBytes: 11 * MIB }, true],
    ['too many spans', { spans: 50_001 }, false],
    ['too many bytes', { estimatedBytes: 257 * MIB }, false]
  ]
  for (const [name, stored, expected] of decisions) t.equal(mayShrink({ ...LIVE, ...stored }), expected, name)
  t.end()
})

t.test("a long text of a short trace that arrived in pieces may equal a span's", t => {
  const grown = { ownBytes: 5000, isGrown: true }
  t.ok(mayShare(LIVE, grown))
  t.ok(mayShare({ ...LIVE, hasSteps: true }, grown), 'other spans may contain it')
  t.notOk(mayShare(LIVE, { ...grown, isGrown: false }), 'it was compared when the trace was recorded')
  t.notOk(mayShare(LIVE, { ...grown, ownBytes: 1000 }))
  t.notOk(mayShare({ ...LIVE, packedBytes: 70_000 }, grown))
  t.notOk(mayShare({ ...LIVE, spans: 50_001 }, grown))
  t.end()
})

t.test('rows are written if that saves at least half as many bytes as it writes', t => {
  t.ok(isWorthwhile(20, 60_000, 10_000))
  t.ok(isWorthwhile(10, 6000, 2000 + 2000 / 3))
  t.notOk(isWorthwhile(10, 6000, 3400))
  t.notOk(isWorthwhile(10, 6000, 6500))
  t.end()
})

const someText = fc.option(fc.string({ maxLength: 300 }).map(text => JSON.stringify(text)))
const someSpans = fc.uniqueArray(
  fc.record({
    id: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(id => id.toString(16).padStart(16, '0')),
    input: someText,
    output: someText,
    attributes: someText,
    events: someText,
    callDetails: fc.constant(null)
  }),
  { selector: ({ id }) => id, maxLength: 30 }
)

t.test('texts are preserved, however they were packed', () =>
  fc.assert(
    fc.asyncProperty(fc.array(someSpans, { maxLength: 5 }), fc.boolean(), async (portions, hurries) => {
      const known = new Set<string>()
      const repacker = new Repacker()
      const expected = new Map<string, unknown>()
      for (const portion of portions) {
        const spans = portion.filter(({ id }) => !known.has(id))
        const stored = packTexts(spans, hurries)
        for (const { id, input, output, attributes, events } of spans) {
          known.add(id)
          expected.set(id, { input, output, attributes, events })
        }
        const slices = stored.flatMap(({ packed }) => (packed ? [Buffer.from(packed)] : []))
        for await (const span of spansOfGroup(slices, () => true)) await repacker.addPacked(span)
        for (const [i, span] of spans.entries()) if (!stored[i]!.packed) await repacker.addPlain(span)
      }
      await repacker.end()
      const texts = unpackTexts(repacker.rows.map(({ packed }) => Buffer.from(packed)))
      const found = Array.from(texts, ([id, { input, output, attributes, events }]) => [
        id,
        { input, output, attributes, events }
      ])
      t.strictSame(Object.fromEntries(found), Object.fromEntries(expected))
    }),
    { numRuns: 60 }
  )
)

t.test('blocks are limited, longer spans stay unchanged, and deleted rows are skipped', async t => {
  const repacker = new Repacker()
  const plain = (id: string, length: number) =>
    repacker.addPlain({
      id: id.repeat(16),
      input: `"${'x'.repeat(length)}"`,
      output: null,
      attributes: null,
      events: null
    })
  for (const id of ['1', '2', '3']) await plain(id, MAX_BLOCK_BYTES / 2.5)
  await plain('4', MAX_BLOCK_BYTES)
  await plain('5', 10)
  await repacker.end()
  const groupOf = (packed: Uint8Array) => Buffer.from(packed).toString('hex', 2, 10)
  t.same(
    repacker.rows.map(({ id, packed }) => [id[0], groupOf(packed)[0]]),
    [
      ['1', '1'],
      ['2', '1'],
      ['3', '3'],
      ['5', '3']
    ]
  )
  const again = new Repacker()
  const group = repacker.rows.slice(0, 2).map(({ packed }) => Buffer.from(packed))
  for await (const span of spansOfGroup(group, id => id !== '1'.repeat(16))) await again.addPacked(span)
  await again.end()
  t.same(
    again.rows.map(({ id }) => id),
    ['2'.repeat(16)]
  )
})
