/**
 * Tests how valid bodies are normalised. The tests read bodies with the routes' own code, because nothing else creates
 * the normaliser's input.
 */
import { createHash } from 'node:crypto'
import canonicalizeOracle from 'canonicalize'
import fc from 'fast-check'
import t from 'tap'
import { unstorable } from '../../../lib/schema/text.ts'
import { prepare } from '../../../lib/trace/prepare.ts'

const AT = '2026-11-21T12:00:00.000Z'
const LATER = '2026-11-21T12:00:01.000Z'
const ID = '0123456789abcdef0123456789abcdef'
const SPAN = '0123456789abcdef'

const span = (over: object = {}) => ({ id: SPAN, name: 's', startedAt: AT, endedAt: LATER, ...over })
const trace = (over: object = {}) => ({ id: ID, name: 'n', startedAt: AT, endedAt: LATER, ...over })
const ingest = (over: object = {}) => ({ schemaVersion: 1, trace: trace(over) })
const append = (...spans: object[]) => prepare('append', bytes({ schemaVersion: 1, spans }))
const bytes = (body: unknown) => Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
const record = (body: unknown) => prepare('record', bytes(body))
const end = (over: object = {}) => prepare('end', bytes({ schemaVersion: 1, endedAt: AT, ...over }))

t.test('applies defaults, lowercases ids and normalises times', async t => {
  const body = ingest({
    id: ID.toUpperCase(),
    startedAt: '2026-11-21 12:00:00',
    endedAt: '2026-11-21T13:00:00.1234567+01:00',
    tags: ['b', 'a', 'b'],
    spans: [span({ id: SPAN.toUpperCase(), parentSpanId: 'ABCDEF0123456789', usage: {}, events: [] })]
  })
  t.match(record(body), {
    traceId: ID,
    status: 'unset',
    startedAt: AT,
    endedAt: '2026-11-21T12:00:00.123456Z',
    tags: ['b', 'a'],
    input: null,
    metadata: null,
    spans: [
      { id: SPAN, parentId: 'abcdef0123456789', kind: 'custom', status: 'unset', events: null, inputTokens: null }
    ]
  })
  t.match(record(ingest({ endedAt: undefined })), { status: 'running', endedAt: null })
})

t.test('keeps free JSON exactly as sent', async t => {
  const value = '{"z":[1e400,-0.10000000000000000001,12345678901234567890],"__proto__":{"":"\\u0000\\ud800"},"a":null}'
  const sent = JSON.stringify(
    ingest({ input: 'IN', metadata: { m: 'IN' }, spans: [span({ attributes: { a: 'IN' } })] })
  )
  const kept = record(sent.replaceAll('"IN"', value))
  t.equal(kept.input, value)
  t.equal(kept.metadata, `{"m":${value}}`)
  t.equal(kept.spans[0]?.attributes, `{"a":${value}}`)
})

t.test('bodies are identical if the data to store is identical', async t => {
  const { hash } = record(ingest())
  const same = [
    ingest({
      id: ID.toUpperCase(),
      status: 'unset',
      tags: [],
      metadata: {},
      usage: {},
      spans: [],
      input: null,
      output: null
    }),
    ingest({ startedAt: '2026-11-21T13:00:00+01:00' }),
    JSON.stringify(ingest(), null, 2),
    `\ufeff${JSON.stringify(ingest())}`,
    JSON.stringify(ingest()).replace('"name":"n"', '"name":"x","name":"\\u006e"')
  ]
  for (const body of same) t.equal(record(body).hash, hash)
  const different = [
    ingest({ name: 'N' }),
    ingest({ status: 'ok' }),
    ingest({ endedAt: undefined }),
    ingest({ input: {} }),
    ingest({ usage: { inputTokens: 0 } }),
    ingest({ tags: ['a'] }),
    ingest({ costUsd: 0 }),
    ingest({ spans: [span()] })
  ]
  const hashes = new Set([hash, ...different.map(body => record(body).hash)])
  t.equal(hashes.size, different.length + 1)
})

t.test('reordered keys make the same body, and reordered spans a different one', async t => {
  const first = span({ id: '1'.repeat(16), attributes: { a: 1, b: { c: 1, d: 2 } } })
  const second = span({ id: '2'.repeat(16) })
  const reverse = (value: object): object => Object.fromEntries(Object.entries(value).reverse())
  const body = record(ingest({ spans: [first, second] }))
  t.equal(
    record(ingest({ spans: [reverse({ ...first, attributes: { b: { d: 2, c: 1 }, a: 1 } }), second] })).hash,
    body.hash
  )
  t.not(record(ingest({ spans: [second, first] })).hash, body.hash)
})

t.test('bodyHash is the SHA-256 of the canonical normalised body, and sizes are those of its documents', async () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.dictionary(fc.string(), fc.jsonValue()), (input, metadata) => {
      const sent = span({ input, attributes: metadata })
      const { hash, bytes, spans } = record(ingest({ input, metadata, spans: [sent] }))
      const [appended] = append(sent).spans
      const spanDocument = {
        attributes: metadata,
        events: [],
        input,
        kind: 'custom',
        output: null,
        parentSpanId: null,
        status: 'unset',
        ...sent
      }
      spanDocument.attributes = metadata
      const document = { input, metadata, output: null, status: 'unset', tags: [], usage: {}, ...trace(), id: ID }
      const canonical = (value: unknown) => canonicalizeOracle(JSON.parse(JSON.stringify(value))) as string
      const whole = canonical({ schemaVersion: 1, trace: { ...document, spans: [spanDocument] } })
      const sha = (text: string) => createHash('sha256').update(text).digest('hex')
      return (
        hash === sha(whole) &&
        bytes === Buffer.byteLength(canonical(document)) &&
        appended?.hash === sha(canonical(spanDocument)) &&
        spans[0]?.bytes === appended.bytes &&
        appended.bytes === Buffer.byteLength(canonical(spanDocument))
      )
    })
  )
})

t.test('an end contains only the fields that were sent', async t => {
  t.match(end(), { status: 'unset', tags: [], usage: undefined, metadata: undefined, output: undefined, spans: [] })
  t.equal(end({ metadata: {} }).hash, end().hash, 'merging with nothing is not a merge')
  t.match(end({ output: null }), { output: null })
  t.match(end({ usage: {} }), { usage: { inputTokens: null, outputTokens: null, totalTokens: null } })
  t.strictSame(end({ tags: ['b', 'a', 'b'] }).tags, ['b', 'a'])
  t.equal(end({ metadata: { k: 1 } }).metadata, '{"k":1}')
  const different = [{ output: null }, { usage: {} }, { status: 'ok' }, { tags: ['a'] }, { spans: [span()] }]
  const hashes = new Set([end().hash, ...different.map(over => end(over).hash)])
  t.equal(hashes.size, different.length + 1)
})

t.test("a trace's size is that of its document without its spans", async t => {
  const spans = ['1', '2', '3'].map(digit => span({ id: digit.repeat(16) }))
  for (const some of [[], spans.slice(2), spans]) t.equal(record(ingest({ spans: some })).bytes, record(ingest()).bytes)
})

t.test('a span has the same identity in any body, next to any other spans', async t => {
  const other = span({ id: 'f'.repeat(16), input: '\u00e9'.repeat(100_000) })
  const { hash, bytes: size } = append(span()).spans[0]!
  const spans = [other, span()]
  const started = record(ingest({ spans, endedAt: undefined }))
  for (const body of [started, end({ spans }), append(...spans)]) t.match(body.spans[1], { hash, bytes: size })
  t.match(record(ingest({ spans })).spans[1], { hash: null, bytes: size }, 'a complete trace accepts no further spans')
})

t.test('rejects what no schema can express, and names the field', async t => {
  const events = [{ name: 'a\ud800', timestamp: AT }]
  const table: [unknown, RegExp][] = [
    [ingest({ endedAt: undefined, status: 'ok' }), /^trace\.status: must be absent/],
    [ingest({ startedAt: LATER, endedAt: AT }), /^trace\.endedAt: must not be before startedAt/],
    [ingest({ startedAt: '2026-02-30T00:00:00Z' }), /^trace\.startedAt: must be an ISO 8601/],
    [ingest({ sessionId: 'a\u0000' }), /^trace\.sessionId: must not contain U\+0000/],
    [ingest({ tags: ['a', '\udc00'] }), /^trace\.tags\[1\]: must not contain unpaired/],
    [ingest({ spans: [span(), span({ id: SPAN.toUpperCase() })] }), /^trace\.spans\[1\]\.id: must not repeat/],
    [ingest({ spans: [span({ startedAt: LATER, endedAt: AT })] }), /^trace\.spans\[0\]\.endedAt: must not be before/],
    [ingest({ spans: [span({ events })] }), /^trace\.spans\[0\]\.events\[0\]\.name: must not contain unpaired/]
  ]
  for (const [body, message] of table) t.throws(() => record(body), { code: 'invalid_trace', message })
  t.ok(record(ingest({ startedAt: LATER, endedAt: LATER })), 'an end equal to the start is valid')
})

t.test('explains why a text cannot be stored in a text column', async t => {
  t.equal(unstorable('plain \ud83d\ude00'), undefined)
  t.match(unstorable('a\u0000'), /U\+0000/)
  t.match(unstorable('\ude00\ud83d'), /unpaired/)
})
