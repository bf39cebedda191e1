import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { ByteRanges } from '../../../../lib/otlp/wire/json-division.ts'
import * as wire from '../../../../lib/otlp/wire/json-request.ts'
import { LARGE_BODY_BYTES, MAX_JSON_DEPTH } from '../../../../lib/schema/input.ts'
import { MAX_EXPORT_PARTS, MAX_EXPORT_VALUES } from '../../../../lib/schema/otlp.ts'
import { stringifyExact } from '../../../../lib/trace/json/exact-json.ts'
import { otlpRequest } from '../../../fixtures/bodies/fuzz-otlp.ts'
import { readGroups } from './read-all.ts'

const { encodeJson } = wire
const decodeJson = (body: Uint8Array) => readGroups(wire.decodeJson(body))
const decodeLargeJson = (body: Uint8Array) => readGroups(wire.decodeLargeJson(body))
const bytes = (body: unknown) => Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
const requestOf = (...spans: unknown[]) => ({ resourceSpans: [{ scopeSpans: [{ spans }] }] })
const readSpan = (span: unknown) => decodeJson(bytes(requestOf(span)))[0]?.spans[0]

const TRACE = '0AF7651916CD43DD8448EB211C80319C'
const [SPAN, PARENT] = ['B7AD6B7169203331', '00F067AA0BA902B7']
const attributes = (value: string) => [{ key: 'k', value: { stringValue: value } }]

t.test('every field is read, missing fields are empty, and unknown ones are skipped', async t => {
  const span = {
    ...{ traceId: TRACE, spanId: SPAN, parentSpanId: PARENT, traceState: 'a=1', flags: 257, name: 'call' },
    ...{ kind: 3, startTimeUnixNano: '1795259521123456789', endTimeUnixNano: 1999, attributes: attributes('span') },
    droppedAttributesCount: 1,
    events: [{ timeUnixNano: '2000', name: 'retry', attributes: attributes('event'), droppedAttributesCount: 2 }],
    droppedEventsCount: 3,
    links: [{ traceId: TRACE, spanId: PARENT, traceState: 'b=2', attributes: attributes('link'), flags: 1, later: {} }],
    ...{ droppedLinksCount: 4, status: { code: 2, message: 'no' }, later: [1] }
  }
  const scope = { name: 'lib', version: '1.2', attributes: attributes('scope') }
  const scopeSpans = [{ scope, spans: [span, {}], schemaUrl: 'scope schema' }, {}]
  const resource = { attributes: attributes('resource') }
  const groups = decodeJson(bytes({ resourceSpans: [{ resource, scopeSpans, schemaUrl: 'resource schema' }] }))
  const expected = {
    ...{ traceId: TRACE.toLowerCase(), spanId: SPAN.toLowerCase(), parentSpanId: PARENT.toLowerCase() },
    ...{ traceState: 'a=1', flags: 257, name: 'call', kind: 3, startMicros: 1_795_259_521_123_456, endMicros: 1 },
    ...{ attributes: new Map([['k', 'span']]), droppedAttributes: 1 },
    events: [{ name: 'retry', micros: 2, attributes: new Map([['k', 'event']]), droppedAttributes: 2 }],
    droppedEvents: 3,
    links: [
      {
        ...{ traceId: TRACE.toLowerCase(), spanId: PARENT.toLowerCase(), traceState: 'b=2', flags: 1 },
        ...{ attributes: new Map([['k', 'link']]), droppedAttributes: 0 }
      }
    ],
    ...{ droppedLinks: 4, statusCode: 2, statusMessage: 'no' }
  }
  assert.deepEqual(groups[0]?.spans[0], expected)
  t.match(groups[0]?.spans[1], { traceId: '', name: '', startMicros: 0, kind: 0, statusCode: 0, events: [], links: [] })
  assert.deepEqual(groups[0]?.origin, {
    ...{ resource: new Map([['k', 'resource']]), resourceSchemaUrl: 'resource schema', scopeSchemaUrl: 'scope schema' },
    ...{ scopeName: 'lib', scopeVersion: '1.2', scopeAttributes: new Map([['k', 'scope']]) }
  })
  t.match(groups[1], { spans: [], origin: { scopeName: '', resourceSchemaUrl: 'resource schema' } })
  t.strictSame(decodeJson(bytes({ resourceSpans: [] })), [])
  t.throws(() => decodeJson(bytes({})), { code: 'invalid_request' })
})

t.test('values become exactly the JSON that they represent', async t => {
  const cases: [value: string, json: string | undefined][] = [
    ['{"stringValue":""}', '""'],
    ['{"boolValue":false}', 'false'],
    ['{"intValue":"-12"}', '-12'],
    ['{"intValue":12}', '12'],
    ['{"intValue":"9223372036854775807"}', '9223372036854775807'],
    ['{"intValue":9223372036854775807}', '9223372036854775807'],
    ['{"doubleValue":0.5}', '0.5'],
    ['{"doubleValue":"1.5"}', '1.5'],
    ['{"doubleValue":"NaN"}', '"NaN"'],
    ['{"doubleValue":"-Infinity"}', '"-Infinity"'],
    ['{"doubleValue":" "}', '" "'],
    ['{"arrayValue":{"values":[{"intValue":1},{}]}}', '[1,null]'],
    ['{"arrayValue":null}', '[]'],
    [
      '{"kvlistValue":{"values":[{"key":"__proto__","value":{"boolValue":true}},{"key":"a"}]}}',
      '{"__proto__":true,"a":null}'
    ],
    ['{"bytesValue":"AQI="}', '"AQI="'],
    ['{"laterValue":1}', 'null'],
    ['null', 'null']
  ]
  for (const [value, json] of cases) {
    const [group] = decodeJson(
      bytes(JSON.stringify(requestOf({ attributes: [{ key: 'k', value: 0 }] })).replace('0}]', `${value}}]`))
    )
    t.equal(stringifyExact(group?.spans[0]?.attributes.get('k')), json, value)
  }
  const twice = [...attributes('first'), ...attributes('last')]
  t.strictSame(
    [...readSpan({ attributes: twice })!.attributes],
    [['k', 'last']],
    'the last value of a repeated key applies'
  )
})

t.test('kinds and status codes can be names', async t => {
  t.equal(readSpan({ kind: 'SPAN_KIND_CLIENT' })?.kind, 3)
  t.equal(readSpan({ status: { code: 'STATUS_CODE_ERROR' } })?.statusCode, 2)
})

t.test("rejects a value whose type differs from its field's, and names it", async t => {
  const at = 'resourceSpans[0].scopeSpans[0].spans[0]'
  const table: [body: unknown, message: string][] = [
    [[], 'body: must be an object'],
    [{ resourceSpans: {} }, 'resourceSpans: must be an array'],
    [{ resourceSpans: [1] }, 'resourceSpans[0]: must be an object'],
    [{ resourceSpans: [{ resource: [] }] }, 'resourceSpans[0].resource: must be an object'],
    [requestOf({ name: 7 }), `${at}.name: must be a string`],
    [requestOf({ kind: 'CLIENT' }), `${at}.kind: must be a whole number`],
    [requestOf({ kind: 1.5 }), `${at}.kind: must be a whole number`],
    [requestOf({ startTimeUnixNano: '-1' }), `${at}.startTimeUnixNano: must be nanoseconds since 1970`],
    [requestOf({ endTimeUnixNano: 1.5 }), `${at}.endTimeUnixNano: must be nanoseconds since 1970`],
    [requestOf({ status: 'ok' }), `${at}.status: must be an object`],
    [requestOf({ events: [{ name: null }, { name: {} }] }), `${at}.events[1].name: must be a string`],
    [
      requestOf({ attributes: [{ key: 'k', value: { intValue: '1.5' } }] }),
      `${at}.attributes[0].value.intValue: must be a whole number`
    ],
    [
      requestOf({ links: [{ attributes: [{ value: { arrayValue: { values: {} } } }] }] }),
      `${at}.links[0].attributes[0].value.arrayValue.values: must be an array`
    ]
  ]
  for (const [body, message] of table) t.throws(() => decodeJson(bytes(body)), { code: 'invalid_request', message })
  t.throws(() => decodeJson(bytes('{"resourceSpans":')), { code: 'invalid_json' })
  const values = new Array(MAX_EXPORT_PARTS).fill(0)
  const many = requestOf({ attributes: [{ key: 'k', value: { arrayValue: { values } } }] })
  t.throws(() => decodeJson(bytes(many)), { code: 'payload_too_large' }, 'counted before it is read')
})

/** The result of reading a body, or its error code. */
function outcome<T>(read: (body: Uint8Array) => T, body: Uint8Array): T | string {
  try {
    return read(body)
  } catch (error) {
    return (error as { code: string }).code
  }
}

t.test('a request is the same whether its spans are parsed at once or one at a time', async t => {
  const span = otlpRequest.map(({ resourceSpans }) => resourceSpans[0]?.scopeSpans[0]?.spans[0] ?? {})
  const odd = fc.constantFrom<unknown>(null, 0, 1, 'spans', [], [0], {}, { spans: [] }, [
    { scopeSpans: [{ spans: [] }] }
  ])
  const list = (item: fc.Arbitrary<unknown>) =>
    fc.oneof({ weight: 8, arbitrary: fc.array(item, { maxLength: 3 }) }, odd)
  const message = (name: string, inner: fc.Arbitrary<unknown>) =>
    fc
      .array(fc.tuple(fc.constantFrom(name, name, 'schemaUrl', 'spans', 'x'), fc.oneof(inner, inner, odd)), {
        maxLength: 3
      })
      .map(members => ({ members }))
  const resources = list(message('scopeSpans', list(message('spans', list(span)))))
  // A body without resourceSpans is rejected.
  const request = fc
    .tuple(message('resourceSpans', resources), fc.oneof({ weight: 4, arbitrary: resources }, odd))
    .map(([{ members }, own]) => ({ members: [...members, ['resourceSpans', own]] }))
  const space = fc.constantFrom('', '', ' ', '\n\t', '\r ')
  const damage = fc.option(
    fc.tuple(fc.nat(), fc.constantFrom('', ',', '[', ']', '{', '}', '"', '\\', ':', 'x', '\u00ff'))
  )
  let read = 0
  fc.assert(
    fc.property(request, space, fc.boolean(), damage, (sent, between, escaped, damaged) => {
      let text = write(sent, between)
      if (escaped) text = text.replaceAll('"sp', '"\\u0073p')
      if (damaged !== null) {
        const at = damaged[0] % (text.length + 1)
        text = text.slice(0, at) + damaged[1] + text.slice(at + 1)
      }
      const expected = outcome(decodeJson, bytes(text))
      if (typeof expected !== 'string') read++
      const large = outcome(decodeLargeJson, bytes(text))
      // If a body has two faults, either may be reported.
      if (typeof expected === 'string' && typeof large === 'string') return
      assert.deepEqual(large, expected, text)
    }),
    { numRuns: 1000 }
  )
  t.ok(read > 100, `${read} of 1000 were requests`)
})

/** Writes messages with repeated fields, which an object cannot represent. */
function write(value: unknown, between: string): string {
  if (Array.isArray(value))
    return `[${value.map(item => `${between}${write(item, between)}${between}`).join(',')}${between}]`
  const { members } = (value ?? {}) as { members?: [string, unknown][] }
  if (members === undefined) return JSON.stringify(value)
  return `{${between}${members.map(([name, item]) => `"${name}"${between}:${write(item, between)}`).join(`${between},`)}}`
}

t.test('an error in a span that is parsed alone is reported as within its request', async t => {
  const at = 'resourceSpans[0].scopeSpans[0].spans[1]'
  const around = (span: string) => bytes(`{"resourceSpans":[{"scopeSpans":[{"spans":[{},${span}]}]}]}`)
  const refusals: [span: string, code: string, message: string | RegExp][] = [
    ['', 'invalid_json', new RegExp(`^${at.replaceAll('[', '\\[')}: is not valid JSON: `)],
    ['{"name":}', 'invalid_json', new RegExp(`^${at.replaceAll('[', '\\[')}: is not valid JSON: `)],
    ['{"name":7}', 'invalid_request', `${at}.name: must be a string`],
    ['7', 'invalid_request', `${at}: must be an object`],
    [
      `{"x":${'['.repeat(94)}${']'.repeat(94)}}`,
      'invalid_request',
      `body: must not be nested deeper than ${MAX_JSON_DEPTH} levels`
    ]
  ]
  for (const [span, code, message] of refusals) t.throws(() => decodeLargeJson(around(span)), { code, message }, span)
  t.equal(decodeLargeJson(around(`{"x":${'['.repeat(93)}${']'.repeat(93)}}`))[0]?.spans.length, 2)
  const badByte = Buffer.concat([around('{"name":"'), Buffer.from([0xff]), bytes('"}')])
  t.equal(outcome(decodeLargeJson, badByte), 'invalid_json')
  const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), around('{"name":"n"}')])
  t.equal(decodeLargeJson(marked)[0]?.spans[1]?.name, 'n', 'after a byte-order mark')
})

t.test('a list whose key is repeated is ignored, but must be valid JSON', async t => {
  const twice = (first: string) =>
    bytes(`{"resourceSpans":[{"scopeSpans":[{"spans":[${first}],"spans":[{"name":"n"}]}]}]}`)
  t.equal(decodeLargeJson(twice('{"name":"first"},{}'))[0]?.spans.length, 1)
  for (const bad of ['{"name":"\\a"}', '{"name":}', '{},']) {
    t.equal(outcome(decodeJson, twice(bad)), 'invalid_json', bad)
    t.equal(outcome(decodeLargeJson, twice(bad)), 'invalid_json', bad)
  }
})

t.test("the bytes at a span's position are the span", async t => {
  const spans = [' {"name":"a"}', '{"name":"\\"],[{"}\n']
  const body = bytes(`{"resourceSpans":[{"scopeSpans":[{"spans":[${spans.join()}]}]}]}`)
  const [group] = wire.decodeLargeJson(body)
  const ranges = [0, 1].map(index => group!.spans.rangeOf(index))
  t.same(
    ranges.map(({ from, end }) => body.subarray(from, end).toString()),
    spans
  )
  t.same(
    [0, 1].map(index => wire.readJsonSpans(body, ByteRanges.of(ranges)).read(index).name),
    ['a', '"],[{']
  )
})

t.test('responds with an empty object, or with the rejections', async t => {
  t.equal(encodeJson(0, ''), '{}')
  t.same(JSON.parse(encodeJson(3, 'too "many"')), {
    partialSuccess: { rejectedSpans: '3', errorMessage: 'too "many"' }
  })
})

t.test("a span's head agrees with the span", async t => {
  const span = { traceId: TRACE, spanId: SPAN, parentSpanId: PARENT, name: 'n', startTimeUnixNano: '1000' }
  const events = [{ timeUnixNano: '3000' }, { timeUnixNano: 2000 }, {}]
  const [group] = wire.decodeJson(bytes(requestOf({}, { ...span, endTimeUnixNano: 5000, events })))
  t.equal(group?.spans.length, 2)
  const none = { traceId: '', spanId: '', parentSpanId: '', name: '', startMicros: 0, endMicros: 0, lastEventMicros: 0 }
  t.strictSame(group?.spans.head(0), none)
  const { traceId, spanId, parentSpanId, name, startMicros, endMicros } = group!.spans.read(1)
  const read = { traceId, spanId, parentSpanId, name, startMicros, endMicros }
  t.strictSame(group?.spans.head(1), { ...read, lastEventMicros: 3 })
})

t.test('a large body with too many values is rejected before it is parsed', async t => {
  const large = (value: string, times: number) => bytes(`{"resourceSpans":[],"later":[${`${value},`.repeat(times)}0]}`)
  const tooMany = { code: 'payload_too_large', message: `body: must contain at most ${MAX_EXPORT_VALUES} JSON values` }
  // The count includes the body, its two lists, each list item, and the comma between the lists.
  t.throws(() => decodeLargeJson(large('"     "', MAX_EXPORT_VALUES - 1)), tooMany)
  t.same(decodeLargeJson(large('"     "', MAX_EXPORT_VALUES - 5)), [])
  t.throws(() => decodeLargeJson(bytes('['.repeat(LARGE_BODY_BYTES + 1))), tooMany)
  t.same(decodeLargeJson(large(`"${','.repeat(LARGE_BODY_BYTES)}"`, 1)), [], 'commas in texts are not values')
  t.throws(() => decodeLargeJson(bytes('{"a":"')), { code: 'invalid_json', message: /ends within a string/ })
})
