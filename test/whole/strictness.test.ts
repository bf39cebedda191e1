/**
 * Tests the tables of specification 2.1, 2.2, 2.3, 2.7 and 4.9 row by row over HTTP: the fields that exist, whether
 * they are required, and their types. limits.test.ts tests lengths and counts.
 */
import t from 'tap'
import { AT, hexId, LATER, traceId } from '../fixtures/bodies/bodies.ts'
import { testService } from '../fixtures/service/service.ts'

const TRACES = '/api/v1/traces'

type Json = unknown
/** A type, with one or more values of the type, and values that are not of the type. */
interface Type {
  readonly right: () => readonly Json[]
  readonly wrong: readonly Json[]
}
const fixed = (right: readonly Json[], wrong: readonly Json[]): Type => ({ right: () => right, wrong })

const SCALARS = [0, 1.5, true, null]
const TEXT = fixed(['x', 'é\n😀'], [...SCALARS, [], {}, 'a\u0000', '\ud800'])
const TIME = fixed([AT, '2026-11-21 12:00:00'], [...SCALARS, [], {}, '', 'now', '2026-11-21', '2026-13-01T00:00:00Z'])
const LATE = fixed([LATER, '2026-11-21T13:00:01.5+01:00'], TIME.wrong)
const hex = (bytes: number): Type => ({
  right: () => [hexId(bytes), hexId(bytes).toUpperCase()],
  wrong: [...SCALARS, [], {}, '', 'g'.repeat(bytes * 2), hexId(bytes + 1)]
})
const oneOf = (...names: string[]): Type => fixed(names, [...SCALARS, [], {}, '', names[0]!.toUpperCase(), 'running'])
const STATUS = oneOf('ok', 'error', 'unset')
const KIND = oneOf('llm', 'agent', 'tool', 'chain', 'retriever', 'embedding', 'reranker', 'custom')
const ANY = fixed([null, false, 0, -1.5e300, '', '\u0000\ud800', [], {}, [{ '': [null] }]], [])
const OBJECT = fixed([{}, { '': null, a: { b: [1] } }], [...SCALARS, 'x', [], [{}]])
const COST = fixed([0, 0.1, 1e-300, 5], ['1', true, null, [], {}, -1])
const COUNT = fixed([0, 7], ['1', true, null, [], {}, 1.5, -1])
const VERSION = fixed([1], [0, 2, '1', true, null, [], 1.5])
const TAGS = fixed([[], ['x', 'y', 'x']], [0, 'x', null, {}, [1], [null], [['x']]])
const list = (item: () => Json, ...wrong: Json[]): Type => ({
  right: () => [[item()]],
  wrong: [0, 'x', null, {}, ...wrong]
})

/** Required fields are marked with `!`. */
type Fields = Readonly<Record<string, Type>>

const USAGE: Fields = { inputTokens: COUNT, outputTokens: COUNT, totalTokens: COUNT }
const EVENT: Fields = { 'name!': TEXT, 'timestamp!': TIME, attributes: OBJECT }
const usage = (): Type => fixed([{}, { inputTokens: 1, totalTokens: 5 }], [...SCALARS, 'x', []])
const SPAN: Fields = {
  'id!': hex(8),
  parentSpanId: { right: () => [null, hexId(8)], wrong: [0, true, [], {}, '', 'x'] },
  'name!': TEXT,
  kind: KIND,
  status: STATUS,
  'startedAt!': TIME,
  'endedAt!': LATE,
  provider: TEXT,
  model: TEXT,
  input: ANY,
  output: ANY,
  attributes: OBJECT,
  events: list(() => least(EVENT), [0], [null]),
  usage: usage(),
  costUsd: COST
}
const spans = () => list(() => least(SPAN), [0], [null], [[]])
/** `endedAt` is not required, but the minimal trace should be complete. */
const TRACE: Fields = {
  'id!': hex(16),
  'name!': TEXT,
  status: STATUS,
  'startedAt!': TIME,
  'endedAt!': LATE,
  provider: TEXT,
  model: TEXT,
  sessionId: TEXT,
  userId: TEXT,
  tags: TAGS,
  input: ANY,
  output: ANY,
  metadata: OBJECT,
  usage: usage(),
  costUsd: COST,
  spans: spans()
}
const INGEST: Fields = {
  'schemaVersion!': VERSION,
  'trace!': { right: () => [least(TRACE)], wrong: [0, 'x', null, []] }
}
const APPEND: Fields = { 'schemaVersion!': VERSION, 'spans!': spans() }
const END: Fields = {
  'schemaVersion!': VERSION,
  'endedAt!': LATE,
  status: STATUS,
  provider: TEXT,
  model: TEXT,
  output: ANY,
  usage: usage(),
  costUsd: COST,
  metadata: OBJECT,
  tags: TAGS,
  spans: spans()
}
const SCORE: Fields = {
  'name!': fixed(['aZ_-9'], [0, null, [], '', 'a b', 'é']),
  'dataType!': fixed(['numeric'], [0, null, [], '', 'Numeric', 'number']),
  'value!': fixed([0, -1e-300], ['1', true, null, [], {}]),
  comment: fixed(['', 'x'], [0, true, null, [], {}]),
  spanId: hex(8)
}
const PATCH: Fields = { 'metadata!': OBJECT }

/** Names that every object rejects, whatever its fields. */
const UNKNOWN = ['extra', '', '__proto__', 'constructor', 'toString', 'Name', 'environment']

const bare = (name: string) => name.replace('!', '')
/** Returns the minimal object, with only the required fields. */
function least(fields: Fields): Record<string, Json> {
  const required = Object.entries(fields).filter(([name]) => name.endsWith('!'))
  return Object.fromEntries(required.map(([name, type]) => [bare(name), type.right()[0]]))
}
/** Returns the minimal object with one additional or changed field. */
const withField = (fields: Fields, name: string, value: Json) => {
  const object = least(fields)
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
  return object
}

t.test('every field of every body', async t => {
  const { call } = await testService(t)
  const onRunning = async (method: string, step: string, body: Json) => {
    const id = traceId()
    const start = { schemaVersion: 1, trace: { id, name: 'run', startedAt: AT } }
    await call('POST', TRACES, { body: start })
    return call(method, `${TRACES}/${id}${step}`, { body: JSON.stringify(body) })
  }
  const record = (trace: Json) => call('POST', TRACES, { body: JSON.stringify({ schemaVersion: 1, trace }) })
  const append = (span: Json) => onRunning('POST', '/spans', { schemaVersion: 1, spans: [span] })

  for (const [what, place, fields, code, send] of [
    ['ingest', '', INGEST, 'invalid_trace', body => call('POST', TRACES, { body: JSON.stringify(body) })],
    ['trace', 'trace.', TRACE, 'invalid_trace', record],
    ['usage of a trace', 'trace.usage.', USAGE, 'invalid_trace', usage => record(withField(TRACE, 'usage', usage))],
    ['span', 'spans[0].', SPAN, 'invalid_trace', append],
    ['usage of a span', 'spans[0].usage.', USAGE, 'invalid_trace', usage => append(withField(SPAN, 'usage', usage))],
    ['event', 'spans[0].events[0].', EVENT, 'invalid_trace', event => append(withField(SPAN, 'events', [event]))],
    ['append', '', APPEND, 'invalid_trace', body => onRunning('POST', '/spans', body)],
    ['end', '', END, 'invalid_trace', body => onRunning('POST', '/end', body)],
    [
      'usage of an end',
      'usage.',
      USAGE,
      'invalid_trace',
      usage => onRunning('POST', '/end', withField(END, 'usage', usage))
    ],
    ['score', '', SCORE, 'invalid_request', body => onRunning('POST', '/scores', body)],
    ['patch', '', PATCH, 'invalid_request', body => onRunning('PATCH', '', body)]
  ] as readonly [string, string, Fields, string, (object: Json) => ReturnType<typeof call>][]) {
    await t.test(what, async t => {
      const refuses = async (object: Json, field: string, claim: string) => {
        const { status, body } = await send(object)
        t.strictSame([status, body.error?.code], [400, code], claim)
        t.ok(body.error?.message.startsWith(field), `${claim}: ${body.error?.message}`)
      }
      t.ok((await send(least(fields))).status < 300, 'is accepted with only the required fields')
      for (const [marked, type] of Object.entries(fields)) {
        const name = bare(marked)
        for (const value of type.right()) {
          const { status, text } = await send(withField(fields, name, value))
          t.ok(status < 300, `${name} can be ${JSON.stringify(value)}: ${text.slice(0, 200)}`)
        }
        for (const value of type.wrong) {
          const object = withField(fields, name, value)
          await refuses(object, place + name, `${name} may not be ${JSON.stringify(value)}`)
        }
        if (marked === name || (what === 'trace' && name === 'endedAt')) continue
        const { [name]: _, ...rest } = least(fields)
        await refuses(rest, `${place}${name}: is required`, `without ${name}`)
      }
      const inside = place.replace(/\.$/, '')
      for (const name of UNKNOWN) {
        const key = /^\w+$/.test(name) ? place + name : `${inside}[""]`
        await refuses(withField(fields, name, 1), `${key}: unknown field`, `with ${JSON.stringify(name)}`)
      }
    })
  }
})

t.test('every JSON value is returned as it was recorded', async t => {
  const { call } = await testService(t)
  for (const value of ANY.right()) {
    const id = traceId()
    const free = { input: value, output: value }
    const span = { ...least(SPAN), ...free, attributes: { value } }
    const trace = { ...least(TRACE), id, ...free, metadata: { value }, spans: [span] }
    t.match(await call('POST', TRACES, { body: { schemaVersion: 1, trace } }), { status: 201 })
    const { body } = await call('GET', `${TRACES}/${id}`)
    for (const { input, output } of [body.trace, body.spans[0]]) t.strictSame([input, output], [value, value])
    t.strictSame([body.trace.metadata, body.spans[0].attributes], [{ value }, { value }])
  }
})

t.test('every boolean parameter of every route must be true or false', async t => {
  const { app, call } = await testService(t)
  const parameters = app.routes
    .filter(({ access }) => access === 'traces:read')
    .flatMap(({ path, query }) =>
      Object.entries(query?.properties ?? {})
        .filter(([, property]) => 'type' in property && property.type === 'boolean')
        .map(([name]) => ({ path: path.replaceAll(/:\w+/g, 'f'.repeat(32)), name }))
    )
  t.ok(new Set(parameters.map(({ path }) => path)).size >= 4, 'several routes have some')
  for (const { path, name } of parameters) {
    for (const value of ['yes', '1', 'TRUE', 'null']) {
      t.match(await call('GET', `${path}?${name}=${value}`), {
        status: 400,
        body: { error: { code: 'invalid_request', message: `${name}: must be true or false` } }
      })
    }
  }
})
