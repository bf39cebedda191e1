import assert from 'node:assert'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Worker } from 'node:worker_threads'
import { SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { MappedSpan } from '../../../lib/otlp/map-span.ts'
import { readExport, readPortion } from '../../../lib/otlp/read-export.ts'
import { joinPortion } from '../../../lib/otlp/wire/portion.ts'
import type { OtlpEncoding } from '../../../lib/otlp/wire/request.ts'
import { type OtlpRequest, otlpRequest, toProtobuf } from '../../fixtures/bodies/fuzz-otlp.ts'
import { exportOf, keyValues, otlpSpan } from '../../fixtures/bodies/otlp.ts'
import { freshId } from '../../fixtures/database/seed.ts'
import { runs } from '../../torture/orders.ts'
import { plain, readRequest } from './mapped.ts'

/** Returns the requests that the exporters send. */
async function capture(t: Test): Promise<Record<OtlpEncoding, Buffer>> {
  const bodies: Partial<Record<OtlpEncoding, Buffer>> = {}
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    bodies[request.headers['content-type'] === 'application/json' ? 'json' : 'protobuf'] = Buffer.concat(chunks)
    response.end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const exporters = [new JsonExporter({ url }), new ProtobufExporter({ url })]
  const provider = new NodeTracerProvider({ spanProcessors: exporters.map(each => new SimpleSpanProcessor(each)) })
  const link = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: TraceFlags.SAMPLED }
  const span = provider.getTracer('shop', '1.2.3').startSpan('ä call', {
    kind: SpanKind.CLIENT,
    startTime: [1_795_259_521, 123_456_789],
    links: [{ context: link, attributes: { why: 'retry' } }]
  })
  span.setAttributes({
    text: 'ö \u0000 "quoted"',
    whole: -7,
    large: Number.MAX_SAFE_INTEGER,
    part: 0.1,
    yes: true,
    empty: '',
    list: ['a', 'b'],
    numbers: [1, 2.5]
  })
  span.addEvent('moment', { note: 'x' }, [1_795_259_521, 200_000_000])
  span.setStatus({ code: SpanStatusCode.ERROR, message: 'no' })
  span.end([1_795_259_522, 0])
  await provider.shutdown()
  return bodies as Record<OtlpEncoding, Buffer>
}

t.test('both encodings are read alike', async t => {
  const { json, protobuf } = await capture(t)
  const [fromJson, fromProtobuf] = [readExport(json, 'json'), readExport(protobuf, 'protobuf')]
  t.strictSame([...fromProtobuf.traces], [...fromJson.traces])
  const [span] = [...fromProtobuf.traces.values()].flat().map(plain)
  t.match(span, {
    name: 'ä call',
    status: 'error',
    startedAt: '2026-11-21T11:12:01.123456Z',
    endedAt: '2026-11-21T11:12:02.000Z',
    events: [{ name: 'moment', timestamp: '2026-11-21T11:12:01.200Z', attributes: { note: 'x' } }]
  })
  t.match(span?.attributes, {
    text: 'ö \u0000 "quoted"',
    whole: -7,
    large: Number.MAX_SAFE_INTEGER,
    part: 0.1,
    yes: true,
    empty: '',
    list: ['a', 'b'],
    numbers: [1, 2.5],
    'otel.span_kind': 'client',
    'otel.status_description': 'no',
    'otel.scope.name': 'shop',
    'otel.scope.version': '1.2.3',
    'otel.links': [{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), attributes: { why: 'retry' } }],
    'otel.resource': { 'telemetry.sdk.name': 'opentelemetry' }
  })
})

t.test('a truncated request is rejected, wherever it was cut', async t => {
  const { json, protobuf } = await capture(t)
  for (let length = 1; length < json.length; length += 37) {
    t.throws(() => readExport(json.subarray(0, length), 'json'), { code: 'invalid_json' })
  }
  let refused = 0
  for (let length = 1; length < protobuf.length; length += 7) {
    try {
      readExport(protobuf.subarray(0, length), 'protobuf')
    } catch (error) {
      t.match(error, { code: 'invalid_request' })
      refused++
    }
  }
  t.ok(refused > 10)
  const nested = '{"arrayValue":{"values":['.repeat(40) + ']}}'.repeat(40)
  const deep = JSON.stringify(exportOf({ ...otlpSpan(), attributes: [{ key: 'k', value: 0 }] })).replace(
    '0}]',
    `${nested}}]`
  )
  t.throws(() => readExport(Buffer.from(deep), 'json'), { code: 'invalid_request', message: /nested deeper/ })
})

t.test('64-bit numbers and unusual names are preserved', async t => {
  const attributes = [
    ...keyValues({ small: 3 }),
    { key: 'large', value: { intValue: '9007199254740993' } },
    { key: 'least', value: { intValue: '-9223372036854775808' } },
    { key: 'number', value: { intValue: 12 } },
    { key: 'endless', value: { doubleValue: 'NaN' } },
    { key: '__proto__', value: { kvlistValue: { values: keyValues({ __proto__x: 1 }) } } },
    { key: 'bytes', value: { bytesValue: 'AQI=' } },
    { key: 'nothing', value: {} },
    { key: 'none' }
  ]
  const { span } = [...readRequest(exportOf({ ...otlpSpan(), attributes })).traces.values()].flat()[0] as MappedSpan
  t.equal(
    span.attributes?.stored,
    '{"small":3,"large":9007199254740993,"least":-9223372036854775808,"number":12,"endless":"NaN",' +
      '"__proto__":{"__proto__x":1},"bytes":"AQI=","nothing":null,"none":null}'
  )
})

/** Larger requests are split into portions of some hundred spans. */
const MOST_WHOLE = 1024

t.test('a large request is divided, with the same result', async t => {
  const encoders = { json: (request: OtlpRequest) => Buffer.from(JSON.stringify(request)), protobuf: toProtobuf }
  for (const [encoding, encode] of Object.entries(encoders) as [OtlpEncoding, (request: object) => Uint8Array][]) {
    let cut = 0
    const says = fc.property(otlpRequest, request => {
      const { resourceSpans } = request
      const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)).length
      if (spans === 0) return
      const copies = Math.floor(MOST_WHOLE / spans) + 1
      const bytes = encode({ resourceSpans: repeat(resourceSpans, copies) })
      const whole = readExport(bytes, encoding)
      const single = readExport(encode(request), encoding)
      assert.deepEqual(
        whole.refusals,
        single.refusals.map(refusal => ({ ...refusal, count: refusal.count * copies }))
      )
      assert.equal(whole.portions.length > 0, single.traces.size > 0)
      if (whole.portions.length > 0) cut++
      const traces = new Map<string, MappedSpan[]>()
      for (const portion of whole.portions.map(portion => readPortion(joinPortion(portion, bytes)))) {
        assert.deepEqual(portion.refusals, [])
        for (const [id, spans] of portion.traces) traces.set(id, [...(traces.get(id) ?? []), ...spans])
      }
      // If a trace may have more spans than slots, its spans are in the order in which they get slots.
      const inAnyOrder = (spans: readonly MappedSpan[]) => spans.map(span => JSON.stringify(span)).sort()
      assert.deepEqual(
        Array.from(traces, ([id, spans]) => [id, inAnyOrder(spans)]),
        Array.from(single.traces, ([id, spans]) => [id, inAnyOrder(repeat(spans, copies))])
      )
    })
    // A few random requests may all be without a valid span.
    for (let i = 0; i === 0 || (cut === 0 && i < 100); i++) fc.assert(says, runs(3))
    t.ok(cut > 0, encoding)
  }
})

const repeat = <T>(list: readonly T[], times: number): T[] => Array.from({ length: times }, () => list).flat()

t.test('data shared by spans is stored no more often than there is capacity for', async t => {
  const [origin] = keyValues({ a: 'x'.repeat(700_000) })
  const spans = Array.from({ length: 100 }, () => otlpSpan())
  const resource = { attributes: [origin] }
  const tooMuch = { code: 'payload_too_large', message: /^body: its resources and scopes must total at most/ }
  t.throws(() => readRequest({ resourceSpans: [{ resource, scopeSpans: [{ spans }] }] }), tooMuch)
  t.throws(() => readRequest({ resourceSpans: [{ scopeSpans: [{ scope: resource, spans }] }] }), tooMuch)
  t.throws(
    () => readRequest({ resourceSpans: [{ resource, scopeSpans: spans.map(span => ({ spans: [span] })) }] }),
    tooMuch
  )
  const alone = { resourceSpans: [{ resource, scopeSpans: [...spans.map(() => ({})), { spans: spans.slice(0, 2) }] }] }
  t.equal(readRequest(alone).traces.size, 2)
})

/** Reads an export in a process with a heap of the given size. Returns the rejections. */
async function readWithin(heapMiB: number, bytes: Uint8Array, encoding: OtlpEncoding): Promise<unknown> {
  const module = new URL('../../../lib/otlp/read-export.js', import.meta.url).href
  const code = `
    const { parentPort, workerData: { module, bytes, encoding } } = require('node:worker_threads')
    import(module).then(({ readExport }) => parentPort.postMessage(readExport(bytes, encoding).refusals))`
  const worker = new Worker(code, {
    eval: true,
    workerData: { module, bytes, encoding },
    resourceLimits: { maxOldGenerationSizeMb: heapMiB }
  })
  const [refusals] = await once(worker, 'message')
  await worker.terminate()
  return refusals
}

t.test("if none of a trace's spans can be stored, they are counted, not built", async t => {
  const count = 490_000
  const noIds = { reason: 'no_ids', count, example: '""' }
  const json = Buffer.from(`{"resourceSpans":[{"scopeSpans":[{"spans":[${'{},'.repeat(count - 1)}{}]}]}]}`)
  // Each span takes two bytes, after the lengths of the scope and the resource.
  const spans = Buffer.alloc(2 * count, Buffer.from([0x12, 0]))
  const inside = (field: number, bytes: Uint8Array) => {
    const length = [bytes.length & 127, (bytes.length >> 7) & 127, bytes.length >> 14].map(
      (part, i) => part | (i < 2 ? 128 : 0)
    )
    return Buffer.concat([Buffer.from([(field << 3) | 2, ...length]), bytes])
  }
  t.same(await readWithin(128, json, 'json'), [noIds])
  t.same(await readWithin(128, inside(1, inside(2, spans)), 'protobuf'), [noIds])
})

const ENCODERS = { json: (request: object) => Buffer.from(JSON.stringify(request)), protobuf: toProtobuf }

/** Reads an export whole, or in the portions of a large export. */
function readAll(bytes: Uint8Array, encoding: OtlpEncoding) {
  const { traces, portions, refusals } = readExport(bytes, encoding)
  const read = portions.map(portion => readPortion(joinPortion(portion, bytes)))
  return { spans: [traces, ...read.map(({ traces }) => traces)].flatMap(of => [...of.values()].flat()), refusals }
}

t.test('a span without a start takes that of its children in the export, or its own end', async t => {
  const traceId = freshId(32)
  const root = { ...otlpSpan({ traceId, end: 9 }), startTimeUnixNano: '0' }
  const child = (given: object) => otlpSpan({ traceId, parentSpanId: root.spanId, ...given })
  const ended = { ...child({ name: 'ended', end: 4 }), startTimeUnixNano: '0' }
  const children = [child({ start: 5 }), child({ start: 3 }), ended]
  const childless = { ...otlpSpan({ end: 9 }), startTimeUnixNano: '0' }
  const never = { ...child({}), startTimeUnixNano: '0', endTimeUnixNano: '0' }
  const others = Array.from({ length: MOST_WHOLE }, () => otlpSpan())
  for (const [encoding, encode] of Object.entries(ENCODERS) as [OtlpEncoding, (request: object) => Uint8Array][]) {
    for (const more of [[], others]) {
      for (const spans of [
        [root, ...children, childless, never, ...more],
        [...more, never, childless, ...children.toReversed(), root]
      ]) {
        const { spans: read, refusals } = readAll(encode(exportOf(...spans)), encoding)
        const plainSpans = read.map(plain)
        const of = (id: string) => plainSpans.find(span => span.id === id)
        t.match(of(root.spanId), { startedAt: '2026-11-21T00:00:03.000Z', endedAt: '2026-11-21T00:00:09.000Z' })
        t.match(of(ended.spanId), { startedAt: '2026-11-21T00:00:04.000Z', endedAt: '2026-11-21T00:00:04.000Z' })
        t.match(refusals, [{ reason: 'no_start', count: 2 }])
        t.equal(read.length, spans.length - 2)
      }
    }
  }
})

/** Uses the field names of the protobuf schema, as `preserving_proto_field_name` does. */
const inSnakeCase = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(inSnakeCase)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [snakeCase(key), inSnakeCase(inner)]))
      : value
const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)

t.test(
  'JSON with snake_case names is read alike, even if only some names have that form, or if it is large',
  async () => {
    fc.assert(
      fc.property(otlpRequest, fc.boolean(), (request, isLarge) => {
        const { resourceSpans } = request
        const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)).length
        const copies = isLarge && spans > 0 ? Math.floor(MOST_WHOLE / spans) + 1 : 1
        const whole = { resourceSpans: repeat(resourceSpans, copies) }
        const spansAlone = {
          resourceSpans: whole.resourceSpans.map(resource => ({
            ...resource,
            scopeSpans: resource.scopeSpans.map(scope => ({ ...scope, spans: inSnakeCase(scope.spans) }))
          }))
        }
        const scopesAlone = { resourceSpans: inSnakeCase(whole.resourceSpans) }
        const expected = readAll(ENCODERS.json(whole), 'json')
        for (const sent of [inSnakeCase(whole), spansAlone, scopesAlone]) {
          assert.deepEqual(readAll(ENCODERS.json(sent as object), 'json'), expected)
        }
      }),
      runs(2)
    )
  }
)
