/** Tests every limit of the specification's section 8, at the limit and just above it, over HTTP. */
import t from 'tap'
import {
  AT,
  endBody,
  hexId,
  ingestBody,
  LATER,
  span,
  spansBody,
  startBody,
  traceId
} from '../fixtures/bodies/bodies.ts'
import { type TestService, testService } from '../fixtures/service/service.ts'

const MAX_DOCUMENT = 768_000
const MAX_BODY = 2_097_152
const TRACES = '/api/v1/traces'

interface Sent {
  readonly method: string
  readonly path: string
  readonly body: object
}
type Send = (request: Sent) => ReturnType<TestService['call']>

const spans = (count: number) => Array.from({ length: count }, () => span())
const chars = (count: number) => '😀'.repeat(count)
const words = (count: number) => Array.from({ length: count }, (_, i) => `tag ${i}`)

t.test('stored documents can have 768000 bytes, but not one more', async t => {
  const { call } = await testService(t)
  const send: Send = ({ method, path, body }) => call(method, path, { body })
  const read = async (id: string) => (await call('GET', `${TRACES}/${id}`)).body
  const post = (path: string, body: object) => ({ method: 'POST', path: TRACES + path, body })

  /**
   * Each case has a name, the trace to record first (if any), and a request that puts a given string into the document
   * whose size is limited.
   */
  const cases: readonly [string, (id: string) => object | undefined, (id: string, text: string) => Sent][] = [
    ['a trace, by its input', () => undefined, (id, input) => post('', ingestBody({ id, input }))],
    ['a trace, by its output, next to a span', () => undefined, (id, output) => post('', ingestBody({ id, output }))],
    [
      'a running trace, by its metadata',
      () => undefined,
      (id, text) => post('', startBody({ id, metadata: { text } }))
    ],
    [
      'a trace after its end, by the output of the end',
      id => startBody({ id, input: 'x'.repeat(400_000) }),
      (id, output) => post(`/${id}/end`, endBody({ output, status: 'ok', tags: ['a', 'b'], usage: { inputTokens: 1 } }))
    ],
    [
      'a trace after its end, by metadata that is merged',
      id => startBody({ id, output: 'é'.repeat(200_000), metadata: { a: 1, b: 2 }, model: 'before' }),
      (id, text) => post(`/${id}/end`, endBody({ metadata: { b: null, text }, model: 'after', costUsd: 0.1 }))
    ],
    [
      'a complete trace, by metadata that is patched',
      id => ingestBody({ id, input: 'x'.repeat(400_000), metadata: { a: 'x'.repeat(100_000), b: [1] } }),
      (id, a) => ({ method: 'PATCH', path: `${TRACES}/${id}`, body: { metadata: { a } } })
    ]
  ]
  for (const [claim, before, request] of cases) {
    await t.test(claim, async t => {
      const make = async () => {
        const id = traceId()
        const start = before(id)
        if (start !== undefined) t.equal((await send(post('', start))).status, 201)
        return id
      }
      const least = await make()
      await send(request(least, ''))
      const room = MAX_DOCUMENT - (await read(least)).trace.estimatedBytes

      const most = await make()
      const allowed = await send(request(most, 'x'.repeat(room)))
      t.ok(allowed.status < 300, `${room} characters fit`)
      t.equal((await read(most)).trace.estimatedBytes, MAX_DOCUMENT)
      const bytes = await make()
      t.ok((await send(request(bytes, 'é'.repeat(room >> 1)))).status < 300, 'bytes are counted, not characters')

      const over = await make()
      const state = await read(over)
      t.match(await send(request(over, 'x'.repeat(room + 1))), {
        status: 413,
        body: { error: { code: 'payload_too_large' } }
      })
      t.strictSame(withoutRequestId(await read(over)), withoutRequestId(state), 'nothing was written')
    })
  }

  const spanCases: readonly [string, (id: string, spans: object[]) => Sent][] = [
    ['a recorded span', (id, spans) => post('', ingestBody({ id, spans }))],
    ['an appended span', (id, spans) => post(`/${id}/spans`, spansBody(...spans))],
    ['a span sent with the end', (id, spans) => post(`/${id}/end`, endBody({ spans }))]
  ]
  for (const [claim, request] of spanCases) {
    await t.test(claim, async t => {
      const isRecord = request('', []).path === TRACES
      const make = async () => {
        const id = traceId()
        if (!isRecord) t.equal((await send(post('', startBody({ id })))).status, 201)
        return id
      }
      const fixed = { id: hexId(8), name: 'é', events: [{ name: 'e', timestamp: AT }], usage: { totalTokens: 1 } }
      const bytesOf = async (list: object[]) => {
        const id = await make()
        t.ok((await send(request(id, list))).status < 300, 'is taken')
        return (await read(id)).trace.estimatedBytes
      }
      const none = isRecord ? await bytesOf([]) : undefined
      const small = span()
      const one = await bytesOf([small])
      const base = none === undefined ? one - (await documentOf(small)) : none
      const room = MAX_DOCUMENT - ((await bytesOf([span({ ...fixed, input: '' })])) - base)
      t.equal((await bytesOf([span({ ...fixed, input: 'x'.repeat(room) })])) - base, MAX_DOCUMENT)
      const over = await make()
      const list = [span(), span({ ...fixed, input: 'x'.repeat(room + 1) })]
      t.match(await send(request(over, list)), { status: 413, body: { error: { message: new RegExp(fixed.id) } } })
      const after = await call('GET', `${TRACES}/${over}`)
      t.match(after, isRecord ? { status: 404 } : { body: { trace: { status: 'running', spanCount: 0 } } })
    })
  }

  /** Returns the size of a span's document in bytes, measured by recording the span. */
  async function documentOf(one: object): Promise<number> {
    const [bare, full] = [ingestBody(), ingestBody({ spans: [one] })]
    await send(post('', bare))
    await send(post('', full))
    return (await read(full.trace.id)).trace.estimatedBytes - (await read(bare.trace.id)).trace.estimatedBytes
  }

  await t.test('the limit applies to each document alone', async t => {
    const large = () => span({ input: 'x'.repeat(500_000) })
    const body = ingestBody({ input: 'x'.repeat(500_000), spans: [large(), large()] })
    t.match(await send(post('', body)), { status: 201 })
    t.ok((await read(body.trace.id)).trace.estimatedBytes > 2 * MAX_DOCUMENT - 100_000)
  })
})

/** Removes the request's id, the only part that differs between otherwise identical errors. */
function withoutRequestId(body: { error?: { requestId: string } }) {
  return body.error === undefined ? body : { error: { ...body.error, requestId: '' } }
}

t.test('request bodies can have 2097152 bytes, but not one more', async t => {
  const { call } = await testService(t)
  const start = async () => {
    const body = startBody()
    t.equal((await call('POST', TRACES, { body })).status, 201)
    return `${TRACES}/${body.trace.id}`
  }
  for (const [claim, method, path, body, status] of [
    ['ingest', 'POST', TRACES, ingestBody(), 201],
    ['spans', 'POST', `${await start()}/spans`, spansBody(span()), 200],
    ['end', 'POST', `${await start()}/end`, endBody(), 200],
    ['patch', 'PATCH', await start(), { metadata: {} }, 200],
    ['scores', 'POST', `${await start()}/scores`, { name: 'n', dataType: 'boolean', value: true }, 201]
  ] as const) {
    const padded = (bytes: number) => JSON.stringify(body).padEnd(bytes)
    t.match(await call(method, path, { body: padded(MAX_BODY + 1) }), {
      status: 413,
      body: { error: { code: 'payload_too_large' } }
    })
    t.equal((await call(method, path, { body: padded(MAX_BODY) })).status, status, claim)
  }
})

t.test('a trace can have 200 spans, however they arrive', async t => {
  const { call } = await testService(t)
  const start = async (count: number) => {
    const body = startBody({ spans: spans(count) })
    t.equal((await call('POST', TRACES, { body })).status, 201)
    return { path: `${TRACES}/${body.trace.id}`, stored: body.trace.spans }
  }
  const refused = { status: 400, body: { error: { code: 'invalid_trace', message: /spans: .*200/ } } }
  t.match(await call('POST', TRACES, { body: ingestBody({ spans: spans(201) }) }), refused)
  t.match(await call('POST', TRACES, { body: ingestBody({ spans: spans(200) }) }), {
    status: 201,
    body: { spanCount: 200 }
  })
  const empty = await start(0)
  t.match(await call('POST', `${empty.path}/spans`, { body: spansBody(...spans(201)) }), refused)
  t.match(await call('POST', `${empty.path}/spans`, { body: spansBody() }), { status: 400 }, 'an empty batch')
  const batch = spans(200)
  const whole = { added: 200, duplicate: 0, spanCount: 200 }
  t.match(await call('POST', `${empty.path}/spans`, { body: spansBody(...batch) }), { status: 200, body: whole })
  const again = { added: 0, duplicate: 200, spanCount: 200 }
  t.match(await call('POST', `${empty.path}/spans`, { body: spansBody(...batch) }), { status: 200, body: again })
  t.match(await call('POST', `${empty.path}/spans`, { body: spansBody(span()) }), refused)
  t.match(await call('POST', `${empty.path}/end`, { body: endBody({ spans: [span()] }) }), refused)
  t.match(await call('POST', `${empty.path}/end`, { body: endBody({ spans: batch }) }), { status: 200 })

  for (const [way, make] of [
    ['spans', (list: object[]) => spansBody(...list)],
    ['end', (list: object[]) => endBody({ spans: list })]
  ] as const) {
    const { path, stored } = await start(150)
    t.match(await call('POST', `${path}/${way}`, { body: make(spans(51)) }), refused, `${way}: 150 and 51`)
    t.match((await call('GET', path)).body, { trace: { status: 'running', spanCount: 150 } })
    const body = make([...spans(50), ...stored.slice(0, 20)])
    t.match(
      await call('POST', `${path}/${way}`, { body }),
      { status: 200, body: { spanCount: 200 } },
      'known spans do not count'
    )
    t.equal((await call('GET', path)).body.spans.length, 200)
  }
})

t.test('fields are accepted up to their limits and rejected beyond them', async t => {
  const { call } = await testService(t)
  const record = (over: object) => call('POST', TRACES, { body: ingestBody(over) })
  const onRunning = async (step: string, body: object) => {
    const start = startBody()
    await call('POST', TRACES, { body: start })
    return call('POST', `${TRACES}/${start.trace.id}/${step}`, { body })
  }
  const append = (over: object) => onRunning('spans', spansBody(span(over)))
  const end = (over: object) => onRunning('end', endBody(over))
  const event = (over: object) => ({ events: [{ name: 'e', timestamp: AT, ...over }] })
  const usage = (field: string, count: number) => ({ usage: { [field]: count } })
  const text = (field: string, most: number): [string, object[], object[]] => [
    field,
    [{ [field]: 'x' }, { [field]: chars(most) }],
    [{ [field]: '' }, { [field]: chars(most + 1) }]
  ]
  const tags: [string, object[], object[]] = [
    'tags',
    [{ tags: [] }, { tags: words(20) }, { tags: ['x', chars(64)] }],
    [{ tags: words(21) }, { tags: [''] }, { tags: ['x', chars(65)] }]
  ]
  const counts = ['inputTokens', 'outputTokens', 'totalTokens'].map((field): [string, object[], object[]] => [
    `usage.${field}`,
    [usage(field, 0), usage(field, 2 ** 53 - 1)],
    [usage(field, -1), usage(field, 2 ** 53), usage(field, 0.5)]
  ])
  const cost: [string, object[], object[]] = ['costUsd', [{ costUsd: 0 }, { costUsd: 1e300 }], [{ costUsd: -1e-300 }]]
  const shared = [text('provider', 200), text('model', 200), ...counts, cost]

  const table: readonly [typeof record, string, ...[string, object[], object[]][]][] = [
    [record, 'trace.', text('name', 500), text('sessionId', 200), text('userId', 200), tags, ...shared],
    [
      append,
      'spans[0].',
      text('name', 500),
      [
        'events',
        [{ events: [] }, { events: Array(50).fill(event({}).events[0]) }],
        [{ events: Array(51).fill(event({}).events[0]) }]
      ],
      ['events[0].name', [event({ name: chars(500) })], [event({ name: '' }), event({ name: chars(501) })]],
      [
        'parentSpanId',
        [{ parentSpanId: null }, { parentSpanId: 'F'.repeat(16) }],
        [{ parentSpanId: '' }, { parentSpanId: 'f'.repeat(17) }]
      ],
      ['id', [{ id: hexId(8).toUpperCase() }], [{ id: hexId(7) }, { id: `${hexId(8)}0` }, { id: 'g'.repeat(16) }]],
      ...shared
    ],
    [end, '', tags, ...shared]
  ]
  for (const [send, place, ...fields] of table) {
    for (const [field, near, far] of fields) {
      await t.test(`${place}${field}`, async t => {
        for (const over of near) t.ok((await send(over)).status < 300, JSON.stringify(over).slice(0, 60))
        for (const over of far) {
          const { status, body } = await send(over)
          t.match([status, body.error.code], [400, 'invalid_trace'])
          t.ok(body.error.message.startsWith(place + field), body.error.message)
        }
      })
    }
  }
})

t.test('lists respect the limit, at most 500 scores and 200 of everything else', async t => {
  const { call } = await testService(t)
  for (const [path, most] of [
    [TRACES, 200],
    ['/api/v1/scores', 500],
    ['/api/v1/spans', 200],
    ['/api/v1/errors', 200],
    ['/api/v1/search', 200]
  ] as const) {
    for (const limit of [1, most]) {
      t.match(await call('GET', `${path}?limit=${limit}`), { status: 200, body: { pageSize: limit } })
    }
    t.match(await call('GET', path), { status: 200, body: { pageSize: 50 } })
    for (const limit of [0, -1, most + 1, '1e1', '5.5', 'x', '99999999999999999999']) {
      const { status, body } = await call('GET', `${path}?limit=${limit}`)
      t.match([status, body.error.code, body.error.message], [400, 'invalid_request', /^limit: /], `limit=${limit}`)
    }
  }
})

t.test('times range from the year 1 to the year 9999, to the microsecond', async t => {
  const { call } = await testService(t)
  const [first, last] = ['0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999999Z']
  const body = ingestBody({ startedAt: first, endedAt: last, spans: [span({ startedAt: first, endedAt: last })] })
  t.match(await call('POST', TRACES, { body }), { status: 201 })
  const { trace, spans: stored } = (await call('GET', `${TRACES}/${body.trace.id}`)).body
  const durationMs = Date.parse('9999-12-31T23:59:59.999Z') - Date.parse(first) + 1
  for (const each of [trace, stored[0]]) t.match(each, { startedAt: first, endedAt: last, durationMs })
  for (const query of [`from=${first}&to=${first}`, 'sort=slowest']) {
    t.match((await call('GET', `${TRACES}?${query}`)).body.traces, [{ id: body.trace.id }], query)
  }
  for (const startedAt of ['0000-12-31T23:59:59Z', '0001-01-01T00:00:00+00:01', LATER.replace('Z', '+24:00')]) {
    t.match(await call('POST', TRACES, { body: ingestBody({ startedAt, endedAt: last }) }), { status: 400 }, startedAt)
  }
})
