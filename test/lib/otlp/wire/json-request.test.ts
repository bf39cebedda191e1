import assert from 'node:assert/strict'
import t from 'tap'
import * as wire from '../../../../lib/otlp/wire/json-request.ts'
import { LARGE_BODY_BYTES } from '../../../../lib/schema/input.ts'
import { MAX_EXPORT_PARTS, MAX_EXPORT_VALUES } from '../../../../lib/schema/otlp.ts'
import { stringifyExact } from '../../../../lib/trace/json/exact-json.ts'
import { readAll, readGroups } from './read-all.ts'

const { encodeJson, joinJsonSpans } = wire
const decodeJson = (body: Uint8Array) => readGroups(wire.decodeJson(body))
const decodeJsonSpans = (body: Uint8Array) => readAll(wire.decodeJsonSpans(body))
const bytes = (body: unknown) => Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
const requestOf = (...spans: unknown[]) => ({ resourceSpans: [{ scopeSpans: [{ spans }] }] })
const readSpan = (span: unknown) => decodeJson(bytes(requestOf(span)))[0]?.spans[0]

const TRACE = '0AF7651916CD43DD8448EB211C80319C'
const [SPAN, PARENT] = ['B7AD6B7169203331', '00F067AA0BA902B7']
const attributes = (value: string) => [{ key: 'k', value: { stringValue: value } }]

t.test('every field is read, what was not sent is nothing, and what nobody knows is passed over', async t => {
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
  t.strictSame(decodeJson(bytes({})), [])
})

t.test('values are the JSON that they stand for, exactly', async t => {
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
    'of a key that comes twice the last counts'
  )
})

t.test('kinds and status codes may be names', async t => {
  t.equal(readSpan({ kind: 'SPAN_KIND_CLIENT' })?.kind, 3)
  t.equal(readSpan({ status: { code: 'STATUS_CODE_ERROR' } })?.statusCode, 2)
})

t.test('refuses what is of another type than its field, naming it', async t => {
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

t.test('chosen spans of a group are written so that they are read again', async () => {
  const large = '{"spanId":"b7ad6b7169203331","attributes":[{"key":"n","value":{"intValue":9223372036854775807}}]}'
  const [group] = decodeJson(
    bytes(JSON.stringify(requestOf({ name: 'first' }, 0, { name: 'third' })).replace(',0,', `,${large},`))
  )
  assert.deepEqual(decodeJsonSpans(joinJsonSpans([2, 1].map(group!.encode))), [group!.spans[2], group!.spans[1]])
})

t.test('answers with the empty object, or with what was refused', async t => {
  t.equal(encodeJson(0, ''), '{}')
  t.same(JSON.parse(encodeJson(3, 'too "many"')), {
    partialSuccess: { rejectedSpans: '3', errorMessage: 'too "many"' }
  })
})

t.test('the head of a span says what the span says', async t => {
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

t.test('a large body of too many values is refused before it is parsed', async t => {
  const large = (value: string, times: number) => bytes(`{"later":[${`${value},`.repeat(times)}0]}`)
  const tooMany = { code: 'payload_too_large', message: `body: must have at most ${MAX_EXPORT_VALUES} values in JSON` }
  t.throws(() => decodeJson(large('"     "', MAX_EXPORT_VALUES)), tooMany)
  t.throws(() => decodeJson(bytes('['.repeat(LARGE_BODY_BYTES + 1))), tooMany)
  t.same(decodeJson(large(`"${','.repeat(LARGE_BODY_BYTES)}"`, 1)), [], 'commas of texts are no values')
})
