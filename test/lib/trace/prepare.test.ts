import t from 'tap'
import { Refusal } from '../../../lib/errors.ts'
import { prepare } from '../../../lib/trace/prepare.ts'
import type { Prepared } from '../../../lib/trace/prepared.ts'
import { withEscapes, withPlainSpans, withPlainTexts } from '../../fixtures/bodies/plain-texts.ts'

const AT = '2026-11-21T12:00:00.000Z'
const LATER = '2026-11-21T12:00:01.000Z'
const ID = '0123456789abcdef0123456789abcdef'
const SPAN = '0123456789abcdef'

const span = (over: object = {}) => ({ id: SPAN, name: 's', startedAt: AT, endedAt: LATER, ...over })
const trace = (over: object = {}) => ({ id: ID, name: 'n', startedAt: AT, endedAt: LATER, ...over })
const ingest = (over: object = {}) => ({ schemaVersion: 1, trace: trace(over) })
const bytes = (body: unknown) => Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))

function refusal(operation: Prepared['operation'], body: unknown): string {
  try {
    prepare(operation, Buffer.isBuffer(body) ? body : bytes(body))
  } catch (error) {
    if (error instanceof Refusal) return `${error.code} ${error.message}`
    throw error
  }
  return 'accepted'
}

const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
const chars = (count: number) => '😀'.repeat(count)
const spans = (count: number) => Array.from({ length: count }, (_, i) => span({ id: i.toString(16).padStart(16, '0') }))

t.test('rejects violations of the trace schema, and names the field and the rule', async t => {
  const table: [string, unknown, RegExp][] = [
    ['empty body', '', /^invalid_json .*empty/],
    ['only space', ' \n', /^invalid_json .*empty/],
    ['not JSON', '{"trace":', /^invalid_json /],
    ['two values', '{} {}', /^invalid_json /],
    ['NaN', '{"a":NaN}', /^invalid_json /],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), /^invalid_json .*UTF-8/],
    ['an array', [], /^invalid_trace body: must be an object/],
    ['null', 'null', /^invalid_trace body: must be an object/],
    ['no schemaVersion', { trace: trace() }, /^invalid_trace schemaVersion: is required/],
    ['another schemaVersion', { schemaVersion: 2, trace: trace() }, /schemaVersion: must equal 1/],
    ['schemaVersion as text', { schemaVersion: '1', trace: trace() }, /schemaVersion: must equal 1/],
    ['unknown top field', { ...ingest(), extra: 1 }, /extra: unknown field/],
    ['no trace', { schemaVersion: 1 }, /trace: is required/],
    ['an environment', ingest({ environment: 'prod' }), /trace\.environment: unknown field/],
    [
      '__proto__ as a field',
      '{"schemaVersion":1,"trace":{"__proto__":{}}}',
      /trace\.__proto__: unknown field|is required/
    ],
    ['no id', ingest({ id: undefined }), /trace\.id: is required/],
    ['a short id', ingest({ id: ID.slice(1) }), /trace\.id: must be 32 hexadecimal/],
    ['a long id', ingest({ id: `${ID}0` }), /trace\.id: must be 32 hexadecimal/],
    ['an id with g', ingest({ id: ID.replace('f', 'g') }), /trace\.id: must be 32 hexadecimal/],
    ['no name', ingest({ name: undefined }), /trace\.name: is required/],
    ['an empty name', ingest({ name: '' }), /trace\.name: must have at least 1 character/],
    ['a long name', ingest({ name: chars(501) }), /trace\.name: must have at most 500 characters/],
    ['an unknown status', ingest({ status: 'running' }), /trace\.status: must be one of ok, error, unset/],
    ['status of a running trace', ingest({ endedAt: undefined, status: 'ok' }), /trace\.status: must be absent/],
    ['no startedAt', ingest({ startedAt: undefined }), /trace\.startedAt: is required/],
    ['a startedAt that is not a time', ingest({ startedAt: 'today' }), /trace\.startedAt: must be an ISO 8601/],
    ['a startedAt that is a number', ingest({ startedAt: 1 }), /trace\.startedAt: must be a string/],
    ['an endedAt that is not a time', ingest({ endedAt: '' }), /trace\.endedAt: must be an ISO 8601/],
    [
      'an end before the start',
      ingest({ endedAt: '2026-11-21T11:59:59.999999Z' }),
      /trace\.endedAt: must not be before/
    ],
    ['a null endedAt', ingest({ endedAt: null }), /trace\.endedAt: must be a string/],
    ['an empty provider', ingest({ provider: '' }), /trace\.provider: must have at least 1/],
    ['a long provider', ingest({ provider: chars(201) }), /trace\.provider: must have at most 200/],
    ['a long model', ingest({ model: chars(201) }), /trace\.model: must have at most 200/],
    ['a long sessionId', ingest({ sessionId: chars(201) }), /trace\.sessionId: must have at most 200/],
    ['a long userId', ingest({ userId: chars(201) }), /trace\.userId: must have at most 200/],
    ['a null model', ingest({ model: null }), /trace\.model: must be a string/],
    [
      '21 tags',
      ingest({ tags: Array.from({ length: 21 }, (_, i) => `t${i}`) }),
      /trace\.tags: must have at most 20 items/
    ],
    ['21 equal tags', ingest({ tags: new Array(21).fill('t') }), /trace\.tags: must have at most 20 items/],
    ['an empty tag', ingest({ tags: ['a', ''] }), /trace\.tags\[1\]: must have at least 1/],
    ['a long tag', ingest({ tags: [chars(65)] }), /trace\.tags\[0\]: must have at most 64/],
    ['metadata that is an array', ingest({ metadata: [] }), /trace\.metadata: must be an object/],
    ['metadata that is null', ingest({ metadata: null }), /trace\.metadata: must be an object/],
    ['usage with another field', ingest({ usage: { cachedTokens: 1 } }), /trace\.usage\.cachedTokens: unknown field/],
    ['negative tokens', ingest({ usage: { inputTokens: -1 } }), /trace\.usage\.inputTokens: must be at least 0/],
    ['fractional tokens', ingest({ usage: { outputTokens: 1.5 } }), /trace\.usage\.outputTokens: must be an integer/],
    [
      'too many tokens',
      ingest({ usage: { totalTokens: 2 ** 53 } }),
      /trace\.usage\.totalTokens: must be at most 9007199254740991/
    ],
    ['a negative cost', ingest({ costUsd: -0.01 }), /trace\.costUsd: must be at least 0/],
    ['an infinite cost', JSON.stringify(ingest({ costUsd: 7 })).replace(':7', ':1e400'), /trace\.costUsd: must be a/],
    ['201 spans', ingest({ spans: spans(201) }), /trace\.spans: must have at most 200 items/],
    [
      'a repeated span id',
      ingest({ spans: [span(), span({ id: SPAN.toUpperCase() })] }),
      /trace\.spans\[1\]\.id: must not repeat/
    ],
    ['U+0000 in a name', ingest({ name: 'a\u0000' }), /trace\.name: must not contain U\+0000/],
    [
      'an unpaired surrogate in a tag',
      ingest({ tags: ['a', '\ud800'] }),
      /trace\.tags\[1\]: must not contain unpaired surrogates/
    ],
    ['U+0000 in a model', ingest({ model: '\u0000' }), /trace\.model: must not contain/],
    ['U+0000 in a session', ingest({ sessionId: '\u0000' }), /trace\.sessionId: must not contain/],
    ['101 levels', ingest({ input: nested(99) }), /^invalid_trace body: must not be nested deeper than 100 levels/]
  ]
  for (const [what, body, expected] of table) t.match(refusal('record', body), expected, what)
})

t.test('rejects violations of the span schema, and names the position', async t => {
  const event = (over: object) => span({ events: [{ name: 'e', timestamp: AT, ...over }] })
  const table: [string, unknown, RegExp][] = [
    ['not an object', 1, /spans\[1\]: must be an object/],
    ['an unknown field', span({ tags: [] }), /spans\[1\]\.tags: unknown field/],
    ['no id', span({ id: undefined }), /spans\[1\]\.id: is required/],
    ['a long id', span({ id: ID }), /spans\[1\]\.id: must be 16 hexadecimal/],
    ['a bad parent', span({ parentSpanId: 'x' }), /spans\[1\]\.parentSpanId: must be/],
    ['a long name', span({ name: chars(501) }), /spans\[1\]\.name: must have at most 500/],
    ['an unknown kind', span({ kind: 'server' }), /spans\[1\]\.kind: must be one of llm/],
    ['an unknown status', span({ status: 'OK' }), /spans\[1\]\.status: must be one of/],
    ['no endedAt', span({ endedAt: undefined }), /spans\[1\]\.endedAt: is required/],
    ['a bad time', span({ endedAt: 'x' }), /spans\[1\]\.endedAt: must be an ISO/],
    ['an end before the start', span({ startedAt: LATER, endedAt: AT }), /spans\[1\]\.endedAt: must not be before/],
    ['a long provider', span({ provider: chars(201) }), /spans\[1\]\.provider: must have at most 200/],
    ['a long model', span({ model: chars(201) }), /spans\[1\]\.model: must have at most 200/],
    ['attributes that are an array', span({ attributes: [] }), /spans\[1\]\.attributes: must be an object/],
    [
      '51 events',
      span({ events: new Array(51).fill({ name: 'e', timestamp: AT }) }),
      /spans\[1\]\.events: must have at most 50/
    ],
    ['an event without a name', event({ name: undefined }), /spans\[1\]\.events\[0\]\.name: is required/],
    ['a long event name', event({ name: chars(501) }), /spans\[1\]\.events\[0\]\.name: must have at most 500/],
    ['U+0000 in an event name', event({ name: '\u0000' }), /spans\[1\]\.events\[0\]\.name: must not contain U/],
    ['a bad event time', event({ timestamp: '' }), /spans\[1\]\.events\[0\]\.timestamp: must be an ISO/],
    [
      'event attributes that are null',
      event({ attributes: null }),
      /spans\[1\]\.events\[0\]\.attributes: must be an object/
    ],
    ['an unknown event field', event({ level: 1 }), /spans\[1\]\.events\[0\]\.level: unknown field/],
    ['usage that is null', span({ usage: null }), /spans\[1\]\.usage: must be an object/],
    ['a negative cost', span({ costUsd: -1 }), /spans\[1\]\.costUsd: must be at least 0/],
    ['an unpaired surrogate in the name', span({ name: '\udc00' }), /spans\[1\]\.name: must not contain unpaired/]
  ]
  for (const [what, bad, expected] of table) {
    const list = [span({ id: 'f'.repeat(16) }), bad]
    t.match(refusal('record', ingest({ spans: list })), new RegExp(`^invalid_trace trace\\.${expected.source}`), what)
    t.match(refusal('append', { schemaVersion: 1, spans: list }), new RegExp(`^invalid_trace ${expected.source}`), what)
    t.match(
      refusal('end', { schemaVersion: 1, endedAt: AT, spans: list }),
      new RegExp(`^invalid_trace ${expected.source}`),
      what
    )
  }
})

t.test('rejects violations of the append or end schema', async t => {
  const table: [Prepared['operation'], string, unknown, RegExp][] = [
    ['append', 'an empty batch', { schemaVersion: 1, spans: [] }, /spans: must have at least 1 item/],
    ['append', 'no spans', { schemaVersion: 1 }, /spans: is required/],
    ['append', '201 spans', { schemaVersion: 1, spans: spans(201) }, /spans: must have at most 200/],
    ['append', 'another field', { schemaVersion: 1, spans: [span()], trace: {} }, /trace: unknown field/],
    ['append', 'no version', { spans: [span()] }, /schemaVersion: is required/],
    ['end', 'no endedAt', { schemaVersion: 1 }, /endedAt: is required/],
    ['end', 'a bad endedAt', { schemaVersion: 1, endedAt: 'x' }, /endedAt: must be an ISO/],
    ['end', 'a name', { schemaVersion: 1, endedAt: AT, name: 'n' }, /name: unknown field/],
    ['end', 'an unknown status', { schemaVersion: 1, endedAt: AT, status: 'done' }, /status: must be one of/],
    ['end', 'a long model', { schemaVersion: 1, endedAt: AT, model: chars(201) }, /model: must have at most 200/],
    ['end', '21 tags', { schemaVersion: 1, endedAt: AT, tags: new Array(21).fill('t') }, /tags: must have at most 20/],
    ['end', 'U+0000 in a tag', { schemaVersion: 1, endedAt: AT, tags: ['\u0000'] }, /tags\[0\]: must not contain/],
    ['end', 'metadata that is text', { schemaVersion: 1, endedAt: AT, metadata: 'x' }, /metadata: must be an object/]
  ]
  for (const [operation, what, body, expected] of table) {
    t.match(refusal(operation, body), new RegExp(`^invalid_trace ${expected.source}`), what)
  }
})

t.test('accepts values at every limit', async t => {
  const bodies = [
    ingest({ name: chars(500), provider: chars(200), model: chars(200), sessionId: chars(200), userId: chars(200) }),
    ingest({ tags: Array.from({ length: 20 }, (_, i) => chars(63) + String.fromCharCode(97 + i)) }),
    ingest({ usage: { inputTokens: 0, outputTokens: Number.MAX_SAFE_INTEGER }, costUsd: 0, endedAt: AT }),
    ingest({ spans: spans(200) }),
    ingest({ spans: [span({ events: new Array(50).fill({ name: chars(500), timestamp: AT }), parentSpanId: null })] }),
    ingest({ input: nested(98), spans: [span({ input: nested(96) })] }),
    ingest({ input: '\u0000\ud800', metadata: { '': 1, '\u0000': 2 } })
  ]
  for (const body of bodies) t.equal(refusal('record', body), 'accepted')
})

t.test('a body is a byte text unless an escape spells a character by number', async t => {
  const body = JSON.stringify(ingest({ input: 'INPUT', name: '東', spans: [span()] }))
  const table: [string, string, boolean][] = [
    ['letters', 'plain', true],
    ['escapes', '\\n \\" \\\\ \\/', true],
    ['an escaped backslash before a u', 'C:\\\\users', true],
    ['Latin-1', 'é', true],
    ['an emoji', '😀', true],
    ['an escaped letter', '\\u0061', false],
    ['an escape after an escaped backslash', '\\\\\\u00e9', false]
  ]
  for (const [name, input, isByteText] of table) {
    const sent = body.replace('INPUT', () => input)
    for (const [spelling, text] of [
      [name, sent],
      [`${name}, with spaces`, sent.replace(':', ' : ')]
    ] as const) {
      const trace = prepare('record', bytes(text))
      t.equal(trace.areByteTexts ?? false, isByteText, spelling)
      t.equal(withPlainTexts(trace).input, JSON.stringify(JSON.parse(`"${input}"`)), spelling)
      t.equal(trace.name, '東')
    }
  }
  t.notOk(prepare('record', bytes(`\ufeff${body}`)).areByteTexts, 'a byte-order mark')
})

t.test('a body with raw characters equals the same body with escapes', async t => {
  const text = 'é, 東京 and 😀 \u2028 "quoted"\n'
  const free = { input: text, output: { [text]: [text] }, attributes: { a: text, [text]: 1 } }
  const events = [{ name: text, timestamp: AT, attributes: { [text]: text } }]
  const spans = [span({ ...free, events, name: text, model: text, provider: text })]
  const fields = { model: text, provider: text, tags: [text, 'a'], metadata: { [text]: text } }
  const bodies = {
    record: ingest({ ...fields, name: text, sessionId: text, userId: text, input: text, output: [text], spans }),
    append: { schemaVersion: 1, spans },
    end: { schemaVersion: 1, endedAt: LATER, ...fields, output: { [text]: text }, spans }
  }
  for (const operation of ['append', 'end'] as const) {
    const one = prepare(operation, bytes(bodies[operation]))
    const other = prepare(operation, bytes(withEscapes(bodies[operation])))
    t.same([one.areByteTexts, other.areByteTexts], [true, false])
    t.same(withPlainSpans(one), other)
  }
  const one = prepare('record', bytes(bodies.record))
  const other = prepare('record', bytes(withEscapes(bodies.record)))
  t.same([one.areByteTexts, other.areByteTexts], [true, false])
  t.same(withPlainTexts(one), other)
  t.equal(JSON.parse(other.output!)[0], text)
})
