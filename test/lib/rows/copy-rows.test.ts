/** Parses rows field by field. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { type Column, OWNER_COLUMNS, SPAN_COLUMNS, TAG_COLUMNS } from '../../../lib/rows/columns.ts'
import { readField } from '../../../lib/rows/copy-format.ts'
import {
  pickRows,
  renderListedRows,
  renderSpanRows,
  renderTraceRows,
  type SpanRows
} from '../../../lib/rows/copy-rows.ts'
import { digitsOf, listsOf, tagListsOf } from '../../../lib/rows/list-numbers.ts'
import { type SpanTexts, unpackTexts } from '../../../lib/rows/packed-texts.ts'
import { prepare } from '../../../lib/trace/prepare.ts'
import { startedState } from '../../../lib/trace/states/state-after.ts'
import { AT, hexId, ingestBody, span, spanId, spansBody } from '../../fixtures/bodies/bodies.ts'
import { withPlainTexts } from '../../fixtures/bodies/plain-texts.ts'

const bytes = (body: object) => Buffer.from(JSON.stringify(body))
const record = (over: object) => prepare('record', bytes(ingestBody(over)))
const append = (...spans: object[]) => prepare('append', bytes(spansBody(...spans)))

type Row = Readonly<Record<string, Buffer | undefined>>

/** Reads a row, which starts with its number of fields. Also returns the row's end. */
function readRow(rows: Uint8Array, from: number, columns: readonly Column[]): { row: Row; end: number } {
  const all = Buffer.from(rows)
  assert.equal(all.readInt16BE(from), columns.length)
  let at = from + 2
  const row: Record<string, Buffer | undefined> = {}
  for (const { name } of columns) {
    const { bytes, end } = readField(all, at)
    row[name] = bytes
    at = end
  }
  return { row, end: at }
}

/** Returns the rows of spans. The rows must be contiguous up to the end. */
function readSpanRows({ bytes, spans }: SpanRows): Row[] {
  return spans.map((from, i) => {
    const { row, end } = readRow(bytes, from, SPAN_COLUMNS)
    assert.equal(end, spans[i + 1] ?? bytes.length)
    return row
  })
}

/** Reads the texts of spans by id, from their own columns or from a packed column. */
function readTexts(rows: readonly Row[]): Map<string, SpanTexts> {
  const unpacked = unpackTexts(rows.flatMap(({ packed }) => packed ?? []))
  const text = (field: Buffer | undefined) => field?.toString() ?? null
  return new Map(
    rows.map(row => {
      const id = row.id!.toString('hex')
      const packed = unpacked.get(id)
      const read = (name: keyof SpanTexts) => (packed === undefined ? text(row[name]) : packed[name])
      return [
        id,
        { input: read('input'), output: read('output'), attributes: read('attributes'), events: read('events') }
      ]
    })
  )
}

const words = fc.oneof(fc.constant(null), fc.string(), fc.constantFrom('said before '.repeat(300), hexId(3000)))
const someSpan = fc
  .record({
    input: words,
    output: words,
    name: fc.string({ minLength: 1 }),
    usage: fc.record({ inputTokens: fc.nat() })
  })
  .filter(({ name }) => !name.includes('\u0000'))
  .map(over => span({ ...over, attributes: over.input === null ? {} : { text: over.input } }))

t.test('the rows of selected spans contain their data, packed or not', async () => {
  let packed = 0
  fc.assert(
    fc.property(
      fc.array(someSpan, { minLength: 1, maxLength: 8 }),
      fc.boolean(),
      fc.infiniteStream(fc.boolean()),
      (sent, hurries, chosen) => {
        const prepared = append(...sent)
        const { spans } = prepared
        const all = renderSpanRows(prepared, hurries)
        if (readSpanRows(all).some(row => row.packed !== undefined)) packed++
        const added = spans.filter(() => chosen.next().value)
        const rows = readSpanRows(pickRows(all, spans, added))
        const texts = readTexts(rows)
        assert.deepEqual(
          [...texts.keys()],
          added.map(({ id }) => id)
        )
        for (const [i, { id, name, hash, inputTokens, input, output, attributes, events }] of added.entries()) {
          assert.deepEqual({ ...texts.get(id) }, { input, output, attributes, events })
          const row = rows[i] as Row
          assert.equal(row.name?.toString(), name)
          assert.equal(row.hash?.toString('hex'), hash.slice(0, 32))
          assert.equal(row.input_tokens?.readBigInt64BE(), BigInt(inputTokens!))
        }
      }
    ),
    { numRuns: 150 }
  )
  assert.ok(packed > 10, 'some of them were packed')
})

t.test('a row reserves space for values that are known only when it is written', async t => {
  const [row] = readSpanRows(renderSpanRows(append(span()), false))
  t.strictSame(
    OWNER_COLUMNS.map(({ name }) => row![name]?.length),
    [4, 8]
  )
})

t.test('a trace has a row for each of its tags, deltas, scores and spans, in sequence', async t => {
  const spans = [span({ input: 'x' }), span(), span()]
  const trace = record({ tags: ['x', 'y'], userId: 'u', costUsd: 2, spans })
  const rows = renderTraceRows(trace, 'production', false)
  const lists = listsOf(trace, 'production')
  const tags = rows.tags.map(from => readRow(rows.bytes, from, TAG_COLUMNS))
  t.strictSame(
    tags.map(({ row }) => String(row.tag)),
    ['x', 'y']
  )
  for (const [i, { row, end }] of tags.entries()) {
    const { tagFamily } = tagListsOf(trace.tags[i]!, lists)
    t.equal(String(row.tag_family?.readBigInt64BE()), digitsOf(tagFamily))
    t.equal(end, rows.tags[i + 1] ?? rows.tagsEnd)
  }
  t.strictSame(rows.keys, { durationMs: 1500, costUsd: 2 })
  t.strictSame(rows.deltas, [rows.tagsEnd], 'a delta row, because the trace has ended')
  t.strictSame([rows.scores, rows.scoresEnd], [[], rows.deltasEnd])
  t.equal(rows.spans[0], rows.scoresEnd)
  t.strictSame(
    readSpanRows(rows).map(row => row.id?.toString('hex')),
    spans.map(({ id }) => id)
  )
})

t.test("a trace's lists are those of its environment, which groups can read", async t => {
  const trace = record({ model: 'm' })
  const family = (environment: string | null) => renderTraceRows(trace, environment, false).family
  t.equal(family(null), family('unassigned'))
  t.not(family('production'), family(null))
  const lists = listsOf(trace, 'production')
  const moved = renderListedRows({ ...trace, tags: [] }, lists)
  t.equal(moved.family, family('production'))
  t.strictSame([moved.tags, moved.tagsEnd], [[], moved.bytes.length])
})

t.test('byte texts are written as the texts that they spell', async t => {
  // Neither short nor long texts are near a length from which they are shared or packed.
  const text = fc.oneof(
    fc.string({ unit: 'binary-ascii', maxLength: 20 }),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.constantFrom('a', '"', '\\', '\n', '\u007f', 'é', 'Ł', '“', '😀').map(each => `${each} and more `.repeat(1000))
  )
  let byteTexts = 0
  fc.assert(
    fc.property(text, text, text, fc.boolean(), fc.boolean(), (one, two, three, hurries, isEnded) => {
      const name = `n${three}`.slice(0, 9).toWellFormed().replaceAll('\0', '')
      const events = [{ name, attributes: { [one]: three }, timestamp: AT }]
      const spans = [span({ name, input: one, output: { [two]: three }, events }), span({ attributes: { one } })]
      const over = { name, model: name, userId: name, tags: [name], metadata: { [three]: two }, input: one }
      const trace = record({ ...over, spans, ...(!isEnded && { endedAt: undefined }) })
      if (trace.areByteTexts === true && !/^[\x00-\x7f]*$/.test(one + two + three)) byteTexts++
      const plain = withPlainTexts(trace)
      assert.deepEqual(renderTraceRows(trace, null, hurries), renderTraceRows(plain, null, hurries))
      assert.deepEqual(renderSpanRows(trace, hurries), renderSpanRows(plain, hurries))
      if (!isEnded) assert.deepEqual(startedState(trace), startedState(plain))
    })
  )
  t.ok(byteTexts > 5, 'some texts were byte texts beyond ASCII')
})

t.test('rendered bytes do not change when others are rendered after them', async t => {
  const first = renderSpanRows(append(span({ id: '1'.repeat(16) })), false)
  const copy = Buffer.from(first.bytes)
  renderSpanRows(append(span({ id: spanId(), input: 'x'.repeat(100_000) })), false)
  t.ok(copy.equals(first.bytes))
})
