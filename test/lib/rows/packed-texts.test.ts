import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { packTexts, type SpanTexts, unpackSpans } from '../../../lib/rows/packed-texts.ts'
import { hexId } from '../../fixtures/bodies/bodies.ts'
import { runs } from '../../torture/orders.ts'

const NONE: SpanTexts = { input: null, output: null, attributes: null, events: null }
const spanOf = (over: Partial<SpanTexts> = {}) => ({ id: hexId(8), ...NONE, ...over })
type Span = ReturnType<typeof spanOf>

/** Packs the spans and returns their rows as a reader gets them. */
function store(spans: readonly Span[], hurries = false) {
  const stored = packTexts(spans, hurries)
  assert.equal(stored.length, spans.length)
  return spans.map(({ id }, i) => {
    const { input, output, attributes, events, packed } = stored[i]!
    return { id, input, output, attributes, events, packed: packed ? Buffer.from(packed).toString('hex') : null }
  })
}
const lengthsOf = (rows: ReturnType<typeof store>) => rows.map(({ packed }) => (packed?.length ?? 0) / 2)
const MIB = 1024 * 1024
const sum = (numbers: readonly number[]) => numbers.reduce((one, other) => one + other, 0)

const json = fc.oneof(
  fc.constant(null),
  fc.json(),
  fc.string({ unit: 'binary', maxLength: 400 }).map(text => JSON.stringify(text)),
  fc.tuple(fc.json(), fc.nat(40_000)).map(([json, length]) => JSON.stringify([json, 'ab \u0001é😀'.repeat(length / 8)]))
)
const spans = fc.array(fc.record({ input: json, output: json, attributes: json, events: json }).map(spanOf), {
  maxLength: 30
})

t.test('texts are read unchanged, in any order of their rows', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(spans, fc.boolean()), { minLength: 1, maxLength: 3 }),
      fc.infiniteStream(fc.nat()),
      async (appends, order) => {
        const rows = appends
          .flatMap(([spans, hurries]) => store(spans, hurries))
          .map(row => ({ row, place: order.next().value as number }))
        const read = await unpackSpans(rows.sort((a, b) => a.place - b.place).map(({ row }) => row))
        const texts = new Map(read.map(({ id, packed, ...texts }) => [id, texts]))
        for (const { id, ...expected } of appends.flatMap(([spans]) => spans)) assert.deepEqual(texts.get(id), expected)
      }
    ),
    runs(60)
  )
})

t.test('short texts are not packed, and neither are those left to PostgreSQL', async t => {
  const text = (length: number) => JSON.stringify('x'.repeat(length - 2))
  for (const [lengths, hurries, isPacked] of [
    [[], false, false],
    [[], true, false],
    [[1000, 1047], false, false],
    [[1000, 1048], false, true],
    [[1000, 7191], true, false],
    [[1000, 7192], true, true],
    [[4 * MIB - 50], true, true],
    [[4 * MIB], false, false],
    [[4 * MIB], true, false]
  ] as const) {
    const spans = lengths.map(length => spanOf({ output: text(length) }))
    const stored = store(spans, hurries)
    if (isPacked) t.ok(stored.every(({ output }) => output === null) && stored[0]!.packed !== null)
    else
      t.same(
        stored,
        spans.map(span => ({ ...span, packed: null }))
      )
  }
})

t.test('text that each step repeats is stored once', async t => {
  const said = Array.from({ length: 8 }, () => `${hexId(150)} ${hexId(150)}`)
  const steps = said.map((_, i) => spanOf({ input: JSON.stringify(said.slice(0, i + 1)) }))
  t.ok(sum(lengthsOf(store(steps))) < 1.3 * sum(lengthsOf(store(steps.slice(-1)))))
})

t.test('large groups are read like small ones', async t => {
  const spans = Array.from({ length: 3 }, (_, i) => spanOf({ input: JSON.stringify(hexId(40_000 + i)), output: '"é"' }))
  const read = await unpackSpans(spans.flatMap(span => store([span])))
  t.same(
    read.map(({ packed, ...texts }) => texts),
    spans
  )
  t.ok(read.every(({ packed }) => packed !== null))
})

t.test('slices fill the rows evenly; if they would be large, one row has everything', async t => {
  const digits = (length: number) => JSON.stringify(hexId(length / 2))
  const even = lengthsOf(store(Array.from({ length: 6 }, () => spanOf({ output: digits(2000) }))))
  t.ok(Math.min(...even) > 0 && Math.max(...even) - Math.min(...even) < 20)
  const large = lengthsOf(store(Array.from({ length: 3 }, () => spanOf({ output: digits(9000) }))))
  t.ok(large[0]! > 9000)
  t.same(large.slice(1), [10, 10], 'the others refer to the group')
})

t.test('a long run is packed in blocks, each of which can be read alone', async t => {
  const long = JSON.stringify(hexId(900 * 1024))
  const spans = Array.from({ length: 7 }, (_, i) => spanOf({ input: long, output: String(i) }))
  const rows = store(spans)
  const groups = [...new Set(rows.map(({ packed }) => packed!.slice(4, 20)))]
  t.same(groups, [spans[0]!.id, spans[2]!.id, spans[4]!.id, spans[6]!.id])
  for (const group of groups) {
    const own = rows.filter(({ packed }) => packed!.slice(4, 20) === group)
    const read = await unpackSpans(own)
    for (const { id, input, output } of read) {
      const sent = spans.find(span => span.id === id)!
      t.ok(input === sent.input && output === sent.output)
    }
  }
  const larger = store([spanOf({ input: JSON.stringify('x'.repeat(4 * MIB)) }), ...spans.slice(0, 2)])
  t.same(
    larger.map(({ packed }) => packed !== null),
    [false, true, true],
    'a span that is too long is left to PostgreSQL'
  )
  const bytes = store([spanOf({ input: JSON.stringify('é'.repeat(2 * MIB)) }), ...spans.slice(0, 2)])
  t.same(
    bytes.map(({ packed }) => packed !== null),
    [false, true, true],
    'bytes count, not characters'
  )
})
