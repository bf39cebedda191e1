/**
 * Compares messages that are encoded by hand, byte by byte according to the protobuf documentation, with the decoded
 * values.
 */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import * as wire from '../../../../lib/otlp/wire/protobuf.ts'
import { MAX_EXPORT_PARTS } from '../../../../lib/schema/otlp.ts'
import { stringifyExact } from '../../../../lib/trace/json/exact-json.ts'
import { readAll, readGroups } from './read-all.ts'

const { encodeProtobuf } = wire
const decodeProtobuf = (body: Uint8Array) => readGroups(wire.decodeProtobuf(body))

function varint(value: bigint | number): Buffer {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, BigInt(value))
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128)
  return Buffer.from([...bytes, Number(rest)])
}
const whole = (field: number, value: bigint | number) => Buffer.concat([varint(field << 3), varint(value)])
function fixed64(field: number, value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return Buffer.concat([varint((field << 3) | 1), bytes])
}
function double(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(value)
  return Buffer.concat([varint((field << 3) | 1), bytes])
}
function fixed32(field: number, value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return Buffer.concat([varint((field << 3) | 5), bytes])
}
function inside(field: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([varint((field << 3) | 2), varint(content.length), content])
}
const text = (field: number, value: string) => inside(field, Buffer.from(value))
const bytes = (field: number, hex: string) => inside(field, Buffer.from(hex, 'hex'))

/** An AnyValue and the corresponding JSON. */
type Any = readonly [encoded: Buffer, json: string]
const { any } = fc.letrec<{ any: Any }>(tie => ({
  any: fc.oneof(
    { maxDepth: 3 },
    fc.string({ unit: 'grapheme' }).map((value): Any => [text(1, value), JSON.stringify(value)]),
    fc.boolean().map((value): Any => [whole(2, Number(value)), String(value)]),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value): Any => [whole(3, value), String(value)]),
    fc.integer().map((value): Any => [whole(3, value), String(value)]),
    fc.double().map((value): Any => [double(4, value), JSON.stringify(Number.isFinite(value) ? value : String(value))]),
    fc
      .array(tie('any'), { maxLength: 3 })
      .map(
        (items): Any => [inside(5, ...items.map(([item]) => inside(1, item))), `[${items.map(([, json]) => json)}]`]
      ),
    fc.dictionary(fc.string(), tie('any'), { maxKeys: 3, noNullPrototype: true }).map((object): Any => {
      const members = Object.entries(object)
      const json = members.map(([key, [, value]]) => `${JSON.stringify(key)}:${value}`)
      return [inside(6, ...members.map(([key, [value]]) => inside(1, text(1, key), inside(2, value)))), `{${json}}`]
    }),
    fc.uint8Array().map((value): Any => [inside(7, value), JSON.stringify(Buffer.from(value).toString('base64'))]),
    fc.constant<Any>([Buffer.alloc(0), 'null'])
  )
}))
const attribute = (field: number, key: string, value: Uint8Array) => inside(field, text(1, key), inside(2, value))
const requestOf = (...spans: Uint8Array[]) => inside(1, inside(2, ...spans.map(span => inside(2, span))))

t.test('every attribute value is read as the JSON that it represents', async () => {
  fc.assert(
    fc.property(any, ([encoded, json]) => {
      const [group] = decodeProtobuf(requestOf(attribute(9, 'key', encoded)))
      const meant = group?.spans[0]?.attributes.get('key')
      // In JavaScript, keys that look like integers come first, so only the values are compared.
      if (/"\d+":/.test(json)) assert.deepEqual(JSON.parse(stringifyExact(meant)), JSON.parse(json))
      else assert.equal(stringifyExact(meant), json)
    }),
    { numRuns: 200 }
  )
})

const [TRACE, SPAN, PARENT] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331', '00f067aa0ba902b7']
const attributes = (field: number, value: string) => attribute(field, 'k', text(1, value))
const SPAN_BYTES = Buffer.concat([
  ...[bytes(1, TRACE), bytes(2, SPAN), text(3, 'a=1'), bytes(4, PARENT), text(5, 'café'), whole(6, 3)],
  ...[
    fixed64(7, 1_795_259_521_123_456_789n),
    fixed64(8, 9_000_000_000_000_000_999n),
    attributes(9, 'first'),
    attributes(9, 'last')
  ],
  whole(10, 1),
  inside(11, fixed64(1, 1999n), text(2, 'retry'), attributes(3, 'event'), whole(4, 2)),
  whole(12, 3),
  inside(13, bytes(1, TRACE), bytes(2, PARENT), text(3, 'b=2'), attributes(4, 'link'), whole(5, 4), fixed32(6, 0x101)),
  ...[whole(14, 5), inside(15, text(2, 'no'), whole(3, 2)), fixed32(16, 2 ** 32 - 1)]
])
const SPAN_READ = {
  ...{ traceId: TRACE, spanId: SPAN, traceState: 'a=1', parentSpanId: PARENT, name: 'café', kind: 3 },
  ...{ startMicros: 1_795_259_521_123_456, endMicros: 9_000_000_000_000_000, attributes: new Map([['k', 'last']]) },
  droppedAttributes: 1,
  events: [{ micros: 1, name: 'retry', attributes: new Map([['k', 'event']]), droppedAttributes: 2 }],
  droppedEvents: 3,
  links: [
    {
      ...{ traceId: TRACE, spanId: PARENT, traceState: 'b=2', flags: 0x101 },
      ...{ attributes: new Map([['k', 'link']]), droppedAttributes: 4 }
    }
  ],
  ...{ droppedLinks: 5, statusMessage: 'no', statusCode: 2, flags: 2 ** 32 - 1 }
}
const NOTHING_READ = {
  ...{ traceId: '', spanId: '', traceState: '', parentSpanId: '', name: '', kind: 0, startMicros: 0, endMicros: 0 },
  ...{ attributes: new Map(), droppedAttributes: 0, events: [], droppedEvents: 0, links: [], droppedLinks: 0 },
  ...{ statusMessage: '', statusCode: 0, flags: 0 }
}

t.test('every field is read, missing fields are empty, and unknown ones are skipped', async t => {
  const unknown = [whole(99, 7), text(98, 'later'), fixed64(97, 1n), fixed32(96, 1)]
  const scope = inside(1, text(1, 'lib'), text(2, '1.2'), attributes(3, 'scope'), ...unknown)
  const group = inside(2, scope, inside(2, SPAN_BYTES, ...unknown), inside(2), text(3, 'scope schema'))
  const resource = inside(1, attributes(1, 'resource'))
  const [read, ...others] = decodeProtobuf(inside(1, resource, group, inside(2), text(3, 'resource schema')))
  assert.deepEqual(read?.spans, [SPAN_READ, NOTHING_READ])
  assert.deepEqual(read?.origin, {
    ...{ resource: new Map([['k', 'resource']]), resourceSchemaUrl: 'resource schema', scopeSchemaUrl: 'scope schema' },
    ...{ scopeName: 'lib', scopeVersion: '1.2', scopeAttributes: new Map([['k', 'scope']]) }
  })
  t.match(others, [{ spans: [], origin: { resourceSchemaUrl: 'resource schema', scopeName: '' } }])
  t.strictSame(decodeProtobuf(Buffer.alloc(0)), [])
})

/** Fields of a span in any order and number, including combinations that no sender writes. */
const sentText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.constantFrom('\ufeffa', 'llm', 'x'.repeat(300))
)
const sentAttribute = fc
  .tuple(fc.option(sentText), fc.option(any))
  .map(([key, value]) => [...(key === null ? [] : [text(1, key)]), ...(value === null ? [] : [inside(2, value[0])])])
const sentEvent = fc.tuple(sentText, sentAttribute, fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.nat())
const sentField = fc.oneof(
  fc.uint8Array({ maxLength: 20 }).map(id => inside(1, id)),
  fc.uint8Array({ minLength: 8, maxLength: 8 }).map(id => inside(2, id)),
  fc.uint8Array({ maxLength: 8 }).map(id => inside(4, id)),
  fc.tuple(fc.constantFrom(3, 5), sentText).map(([field, value]) => text(field, value)),
  fc.tuple(fc.constantFrom(6, 10, 12, 14), fc.integer()).map(([field, value]) => whole(field, value)),
  fc.tuple(fc.constantFrom(7, 8), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })).map(given => fixed64(...given)),
  sentAttribute.map(parts => inside(9, ...parts)),
  sentEvent.map(([name, attribute, time, dropped]) =>
    inside(11, fixed64(1, time), text(2, name), inside(3, ...attribute), whole(4, dropped))
  ),
  fc.tuple(fc.nat(3), sentText).map(([code, message]) => inside(15, text(2, message), whole(3, code))),
  fc.nat().map(flags => fixed32(16, flags)),
  sentText.map(key => inside(13, bytes(1, TRACE), attributes(4, key)))
)
const sentSpan = fc.array(sentField, { maxLength: 12 }).map(fields => Buffer.concat(fields))

t.test('a span is read alike whether it is plain or not', async () => {
  const readOne = (span: Uint8Array) => {
    try {
      return readAll(wire.readProtobufSpans(span, [{ from: 0, end: span.length }]))
    } catch (error) {
      return (error as { code: string }).code
    }
  }
  const damage = fc.option(fc.tuple(fc.nat(), fc.nat(255)))
  fc.assert(
    fc.property(sentSpan, damage, (span, damaged) => {
      if (damaged !== null && span.length > 0) span[damaged[0] % span.length] = damaged[1]
      // A span with an unknown field takes the slow path.
      assert.deepEqual(readOne(span), readOne(Buffer.concat([whole(99, 0), span])))
    }),
    { numRuns: 300 }
  )
})

t.test("the bytes at a span's position are the span", async t => {
  const spans = [Buffer.alloc(0), SPAN_BYTES, text(5, 'third')]
  const body = requestOf(...spans)
  const [group] = wire.decodeProtobuf(body)
  const ranges = [0, 1, 2].map(index => group!.spans.rangeOf(index))
  t.same(
    ranges.map(({ from, end }) => body.subarray(from, end)),
    spans
  )
  assert.deepEqual(readAll(wire.readProtobufSpans(body, ranges.slice(1))), readAll(group!.spans).slice(1))
})

t.test('rejects an invalid request, and one with too many parts', async t => {
  const request = requestOf(SPAN_BYTES)
  const cut = { code: 'invalid_request', message: /^body: is not a protobuf ExportTraceServiceRequest/ }
  for (const length of [1, 2, 20, request.length - 1]) t.throws(() => decodeProtobuf(request.subarray(0, length)), cut)
  t.throws(() => decodeProtobuf(Buffer.from('{"resourceSpans":[]}')), cut)
  let deep = text(1, 'x')
  for (let level = 0; level < 60; level++) deep = inside(5, inside(1, deep))
  t.throws(() => decodeProtobuf(requestOf(attribute(9, 'k', deep))), cut, "nested deeper than the decoder's limit")
  const many = inside(1, Buffer.alloc(2 * MAX_EXPORT_PARTS, inside(2)))
  t.throws(() => decodeProtobuf(many), { code: 'payload_too_large' })
  const large = requestOf(SPAN_BYTES, Buffer.alloc(2 * MAX_EXPORT_PARTS, inside(9)), text(5, 'last'))
  t.throws(() => decodeProtobuf(large), { code: 'payload_too_large' }, 'even within a span')
})

t.test('responds with an empty message, or with the rejections', async t => {
  t.same(encodeProtobuf(0, ''), Buffer.alloc(0))
  t.same(encodeProtobuf(300, 'too many'), inside(1, whole(1, 300), text(2, 'too many')))
  t.same(encodeProtobuf(0, 'a warning'), inside(1, text(2, 'a warning')))
})

t.test("a span's head agrees with the span", async t => {
  const [group] = wire.decodeProtobuf(requestOf(Buffer.alloc(0), SPAN_BYTES))
  t.equal(group?.spans.length, 2)
  const { traceId, spanId, parentSpanId, name, startMicros, endMicros } = NOTHING_READ
  t.strictSame(group?.spans.head(0), {
    ...{ traceId, spanId, parentSpanId, name, startMicros, endMicros },
    lastEventMicros: 0
  })
  t.match(group?.spans.head(1), {
    ...{ traceId: TRACE, spanId: SPAN, parentSpanId: PARENT, name: 'café' },
    ...{ startMicros: SPAN_READ.startMicros, endMicros: SPAN_READ.endMicros, lastEventMicros: 1 }
  })
})
