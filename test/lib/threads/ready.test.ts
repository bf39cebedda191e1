import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { ExportWrite } from '../../../lib/ingest/exports/export-write.ts'
import { joinPortion } from '../../../lib/otlp/wire/portion.ts'
import { textsOfRows } from '../../../lib/rows/copy-rows.ts'
import { MAX_DOCUMENT_BYTES } from '../../../lib/schema/input.ts'
import { TRUNCATED } from '../../../lib/schema/otlp.ts'
import { makeReady, type ReadyExport, type ReadyTask, type TaskName } from '../../../lib/threads/ready.ts'
import { decodeSpans } from '../../../lib/threads/sent-spans.ts'
import { stringifyExact } from '../../../lib/trace/json/exact-json.ts'
import { prepare } from '../../../lib/trace/prepare.ts'
import { keptPlaces } from '../../../lib/trace/states/kept-spans.ts'
import { endBody, ingestBody, span, spansBody, startBody } from '../../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../../fixtures/bodies/otlp.ts'
import { bytes } from '../../fixtures/database/write-path.ts'
import { runs } from '../../torture/orders.ts'
import { MAX_BYTES, MAX_SPANS, Store } from '../trace/states/export-store.ts'

const taskOf = (operation: TaskName, body: Uint8Array, over: Partial<ReadyTask> = {}): ReadyTask => ({
  ...{ operation, body, environment: null, hurries: false },
  ...over
})

// biome-ignore lint/suspicious/noExplicitAny: the prepared value depends on the operation.
function ready(operation: TaskName, body: object, over: Partial<ReadyTask> = {}): any {
  const result = makeReady(taskOf(operation, bytes(body), over))
  if ('refusal' in result) throw new Error(JSON.stringify(result.refusal))
  return result.ready
}

t.test('a recording has the data for its decision, and its rows', async t => {
  const body = ingestBody({ spans: [span(), span()], tags: ['x'] })
  const trace = prepare('record', bytes(body))
  const made = ready('record', body)
  t.match(made, { operation: 'record', traceId: body.trace.id, hash: trace.hash, running: false, spanCount: 2 })
  t.strictSame([made.started, made.oversize], [undefined, undefined])
  t.strictSame([made.rows.tags.length, made.rows.spans.length], [1, 2])
  t.equal(made.estimatedBytes, trace.bytes + trace.spans[0]!.bytes + trace.spans[1]!.bytes)
  t.not(
    ready('record', body, { environment: 'production' }).rows.family,
    made.rows.family,
    'in the lists of its environment'
  )
})

t.test('a start has the state that decides its appends', async t => {
  const spans = [span()]
  const made = ready('record', startBody({ spans, metadata: { k: 1 } }))
  t.match(made, { running: true, started: { spanCount: 1 } })
  t.strictSame([...made.started.spanHashes.keys()], [spans[0]!.id])
})

t.test("appends and ends have their spans' heads, and a row for each", async t => {
  const spans = [span({ status: 'error' }), span()]
  for (const [operation, body] of [
    ['append', spansBody(...spans)],
    ['end', endBody({ spans })]
  ] as const) {
    const made = ready(operation, body)
    const prepared = prepare(operation, bytes(body)).spans
    const heads = prepared.map(({ id, kind, status, hash, bytes }) => ({
      ...{ id, kind, status, hash: hash.slice(0, 32), bytes }
    }))
    t.strictSame(made.spans, heads, operation)
    t.equal(made.rows.spans.length, 2)
  }
})

t.test('each trace of an export has its spans, and the trace that they would form alone', async t => {
  const [one, two] = ['1'.repeat(32), '2'.repeat(32)]
  const inner = otlpSpan({ traceId: one, parentSpanId: 'f'.repeat(16), name: 'inner' })
  const root = otlpSpan({ traceId: two, name: 'root' })
  const KEPT_PLACES = keptPlaces(MAX_SPANS)
  const others = Array.from({ length: MAX_SPANS }, () => otlpSpan({ traceId: two, parentSpanId: root.spanId }))
  const { traces, portions, refusals } = ready('export-json', exportOf(inner, root, ...others), { maxSpans: MAX_SPANS })
  t.match(traces, [
    { traceId: one, first: { running: true, spanCount: 1 }, spanCount: 1, refusals: [] },
    {
      traceId: two,
      first: { running: false, spanCount: MAX_SPANS - KEPT_PLACES },
      spanCount: MAX_SPANS + 1,
      refusals: [{ count: KEPT_PLACES + 1 }]
    }
  ])
  const write = new ExportWrite(traces[1], null)
  t.equal(write.spans.length, MAX_SPANS + 1)
  t.equal(traces[1].first.rows.spans.length, MAX_SPANS - KEPT_PLACES, 'rows of stored spans first')
  t.equal(write.rowsOf(write.spans)?.spans.length, MAX_SPANS - KEPT_PLACES, 'and of no others')
  t.strictSame([portions, refusals], [[], []])
  t.equal(traces[0].first.started, undefined, 'a gathered trace does not accept appends')
})

t.test('an export has the rows of the spans that get a slot, whatever is stored', async () => {
  const traceId = '4'.repeat(32)
  const root = otlpSpan({ traceId, name: 'root' })
  const all = Array.from({ length: 420 }, (_, i) =>
    otlpSpan({
      traceId,
      parentSpanId: root.spanId,
      status: i % 29 === 0 ? 2 : 0,
      attributes: {
        text: `${i}`.repeat(i % 5 === 0 ? 50 : 1),
        ...(i % 11 === 0 && { 'gen_ai.operation.name': 'chat' })
      }
    })
  )
  // Every third span is already stored. Runs of stored spans start and end at different positions.
  const part = fc
    .record({ from: fc.nat(420), to: fc.nat(420), step: fc.integer({ min: 1, max: 3 }), root: fc.boolean() })
    .map(({ from, to, step, root: hasRoot }) => [
      ...all.slice(Math.min(from, to), Math.max(from, to) + 1).filter((_, i) => i % step === 0),
      ...(hasRoot ? [root] : [])
    ])
  fc.assert(
    fc.property(
      fc.array(part, { minLength: 2, maxLength: 4 }),
      fc.boolean(),
      fc.boolean(),
      (parts, hurries, isSmall) => {
        const maxBytes = isSmall ? 20_000 : MAX_BYTES
        const store = new Store(maxBytes)
        for (const spans of parts) {
          if (spans.length === 0) continue
          const [trace] = ready('export-json', exportOf(...spans), { hurries, maxSpans: MAX_SPANS }).traces
          const write = new ExportWrite(trace, null, { maxSpans: MAX_SPANS, maxBytes })
          const isNew = store.state === undefined
          const { added, cut } = store.export(write.spans)
          const rows = isNew ? trace.first.rows : write.rowsOf(added, cut)
          const texts = textsOfRows(rows)
          assert.deepEqual([...texts.keys()].sort(), added.map(({ id }) => id).sort())
          for (const span of added) {
            const isCut = texts.get(span.id)?.attributes?.includes(TRUNCATED) === true
            assert.equal(isCut, cut.has(span))
          }
        }
      }
    ),
    { ...runs(6), endOnFailure: true }
  )
})

t.test("an export's spans arrive with their texts, packed or not, stored or not", async t => {
  const traceId = '3'.repeat(32)
  const long = (i: number) => `${i} ü `.repeat(400)
  const sent = Array.from({ length: 5 }, (_, i) =>
    otlpSpan({ traceId, attributes: { 'input.value': long(i), ...(i !== 1 && { 'output.value': `a${i}` }) } })
  )
  // This span has the id of another span, and thus cannot be stored.
  const conflict = {
    ...sent[2],
    name: 'another',
    attributes: otlpSpan({ attributes: { 'input.value': 'c' } }).attributes
  }
  for (const hurries of [false, true]) {
    const [trace] = ready('export-json', exportOf(...sent, conflict), { hurries }).traces
    const { spans } = new ExportWrite(trace, null)
    t.strictSame(
      spans.map(({ input, output }) => [input, output]),
      [...sent.map((_, i) => [JSON.stringify(long(i)), i === 1 ? null : `"a${i}"`]), ['"c"', null]]
    )
    t.match(spans[0], {
      hints: { name: undefined, tags: [], metadata: {} },
      bytes: Number,
      costUsd: null,
      parentId: null
    })
  }
})

t.test('other JSON is parsed, and nothing else happens', async t => {
  t.strictSame(ready('patch', { metadata: { k: 1 } }), { operation: 'parse', value: '{"k":1}' })
  const score = { name: 'q', dataType: 'boolean', value: true }
  t.strictSame(ready('score', score), { operation: 'parse', value: score })
  t.equal(stringifyExact(ready('score', { name: 'q', dataType: 'numeric', value: 0.5 }).value.value), '0.5')
})

t.test('a refusal is a value, and an internal error is thrown', async t => {
  const table: [TaskName, Uint8Array, object][] = [
    ['record', Buffer.from('{'), { code: 'invalid_json' }],
    ['append', bytes({ schemaVersion: 1 }), { code: 'invalid_trace', message: /^spans: is required/ }],
    ['end', bytes({ schemaVersion: 1, endedAt: 'x' }), { code: 'invalid_trace', message: /^endedAt: / }],
    ['restore', bytes([]), { code: String }],
    ['export-json', bytes({ resourceSpans: 1 }), { code: 'invalid_request', message: /^resourceSpans: / }],
    ['export-protobuf', Buffer.from('x'), { code: 'invalid_request' }],
    ['patch', bytes({ metadata: [] }), { code: 'invalid_request' }]
  ]
  for (const [operation, body, refusal] of table) t.match(makeReady(taskOf(operation, body)), { refusal }, operation)
  const large = ingestBody({ input: 'x'.repeat(MAX_DOCUMENT_BYTES) })
  t.match(
    ready('record', large).oversize,
    /768000/,
    'a document that is too large is rejected only if its trace is new'
  )
  t.throws(() => makeReady(taskOf('record', undefined as never)), TypeError)
})

t.test(
  'a resource with a number that used to be hashed differently has both hashes, even in a large export',
  async t => {
    const span = otlpSpan({})
    const others = Array.from({ length: 1100 }, () => otlpSpan({}))
    const formerHashOf = (made: ReadyExport): string | undefined => {
      const trace = made.traces.find(({ traceId }) => traceId === span.traceId)!
      return decodeSpans(trace.toGather, trace.first?.rows).spans.find(({ id }) => id === span.spanId)?.formerHash
    }
    const requestOf = (...spans: ReturnType<typeof otlpSpan>[]): Buffer => {
      const resource = { attributes: [{ key: 'odd', value: { doubleValue: 1234.5 } }] }
      const [group] = exportOf(...spans).resourceSpans
      const text = JSON.stringify({ resourceSpans: [{ resource, ...group }] }).replaceAll('1234.5', '10e399')
      return Buffer.from(text)
    }
    const exported = (operation: TaskName, body: Uint8Array): ReadyExport =>
      (makeReady(taskOf(operation, body)) as { ready: ReadyExport }).ready
    const expected = formerHashOf(exported('export-json', requestOf(span)))
    t.match(expected, /^[0-9a-f]{64}$/)
    const request = requestOf(...others, span)
    const { portions } = exported('export-json', request)
    t.ok(portions.length > 1)
    const last = exported('export-portion', joinPortion(portions.at(-1)!, request))
    t.equal(formerHashOf(last), expected)
  }
)

t.test('an OpenTelemetry call without a cost gets one, which is not part of its hash', async t => {
  const call = (model: string, over: object = {}) =>
    otlpSpan({
      traceId: '3'.repeat(32),
      attributes: {
        ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.response.model': model },
        ...{
          'gen_ai.usage.input_tokens': 1000,
          'gen_ai.usage.output_tokens': 100,
          'gen_ai.response.id': model,
          ...over
        }
      }
    })
  const spans = [call('gpt-4o'), call('gpt-4o', { 'gen_ai.usage.cost': 0 }), call('mine'), call('other'), call('other')]
  const body = exportOf(...spans)
  const spansOf = (over: Partial<ReadyTask>) => {
    const { traces, unpriced } = ready('export-json', body, over)
    const [{ toGather, first }] = traces
    return { spans: decodeSpans(toGather, first.rows).spans, first, unpriced: [...unpriced] }
  }
  const off = spansOf({})
  const on = spansOf({ prices: [{ model: 'mine', from: null, isOfProject: true, input: 2, output: 0 }] })
  const costs = ({ spans }: typeof on) => spans.map(({ costUsd, costIsComputed }) => [costUsd, costIsComputed === true])
  t.strictSame(costs(on), [
    [0.0035, true],
    [0, false],
    [0.002, true],
    [null, false],
    [null, false]
  ])
  t.strictSame(
    costs(off),
    costs(on).map(([costUsd, isComputed]) => [isComputed ? null : costUsd, false])
  )
  t.strictSame([on.unpriced, off.unpriced], [[['other', 2]], []])
  t.strictSame(
    on.spans.map(({ hash, bytes }) => [hash, bytes]),
    off.spans.map(({ hash, bytes }) => [hash, bytes])
  )
  t.equal(on.first.hash, off.first.hash)
  const details = Buffer.from(on.first.rows.bytes).toString()
  t.match(details, '{"responseId":"gpt-4o","computedCost":{"model":"openai/gpt-4o","prices":"2026-09-23"}}')
  t.match(details, '{"responseId":"mine","computedCost":{"model":"mine","prices":"own"}}')
})
