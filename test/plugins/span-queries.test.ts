/** Tests single requests to the lists of spans and failures: invalid input, times, hints, late arrivals. */
import t from 'tap'
import { AT, ingestBody, span, spanId, spansBody, startBody, traceId } from '../fixtures/bodies/bodies.ts'
import { exportOf, otlpSpan } from '../fixtures/bodies/otlp.ts'
import { logsOf } from '../fixtures/bodies/otlp-logs.ts'
import { testService } from '../fixtures/service/service.ts'

const TRACES = '/api/v1/traces'
const SPANS = '/api/v1/spans'
const ERRORS = '/api/v1/errors'
const RANGE = 'from=2026-11-01T00:00:00Z&to=2026-11-30T00:00:00Z'

const { call, makeKey, makeProject } = await testService(t)

async function newProject(slug: string) {
  await makeProject(slug)
  const { key } = await makeKey({ project: slug })
  return {
    get: async (path: string) => (await call('GET', path, { key })).body,
    post: (path: string, body: object) => call('POST', path, { key, body }),
    remove: (id: string) => call('DELETE', `${TRACES}/${id}`, { key })
  }
}

t.test('invalid parameters are rejected by name', async t => {
  const both = [
    'from=yesterday',
    'to=2026-13-01T00:00:00Z',
    'limit=0',
    'limit=201',
    'limit=5.5',
    'after=nonsense',
    'environment=a%20b',
    'name=',
    'name=%00',
    'kind=step',
    'kind=',
    'traceName=',
    'tag=',
    'tag=%00',
    'userId=',
    'userId=%00',
    'sessionId=',
    'sessionId=%00',
    'runsOnly=true'
  ]
  const own = [
    'status=running',
    'model=',
    'model=%00',
    'traceId=1',
    'minDurationMs=-1',
    'minDurationMs=1.5',
    'minDurationMs=x',
    'texts=yes',
    'texts=true&limit=21',
    'sort=costliest',
    'sort=',
    'kind=trace'
  ]
  const ofErrors = ['status=error', 'model=', 'traceId=1', 'texts=true', 'sort=slowest']
  for (const [path, queries] of [
    [SPANS, [...both, ...own]],
    [ERRORS, [...both, ...ofErrors]]
  ] as const) {
    for (const query of queries) {
      const { status, body } = await call('GET', `${path}?${query}`)
      t.match([status, body.error.code], [400, 'invalid_request'], `${path}?${query}`)
      const name = query.split('&').at(-1)!.split('=')[0]!
      t.ok(body.error.message.startsWith(`${name}: `), body.error.message)
    }
    t.match(await call('GET', `${path}?name=a&name=b`), { status: 400 })
  }
  t.match(await call('GET', `${SPANS}?texts=true`), { status: 200, body: { pageSize: 20 } })
  t.match(await call('GET', `${SPANS}?texts=true&limit=20`), { status: 200, body: { pageSize: 20 } })
  t.match(await call('GET', `${SPANS}?limit=200`), { status: 200, body: { pageSize: 200 } })
})

t.test('a cursor belongs to its list', async t => {
  const { get, post } = await newProject('cursors')
  for (let i = 0; i < 3; i++) await post(TRACES, ingestBody({ spans: [span(), span()] }))
  const { nextCursor } = await get(`${SPANS}?limit=1`)
  const traces = await get(`${TRACES}?limit=1`)
  t.match(await call('GET', `${TRACES}?after=${nextCursor}`), { status: 400 })
  t.match(await call('GET', `${ERRORS}?after=${nextCursor}`), { status: 400 })
  t.match(await call('GET', `${SPANS}?after=${traces.nextCursor}`), { status: 400 })
  t.match(await call('GET', `${SPANS}?sort=slowest&after=${nextCursor}`), { status: 400 })
  t.equal((await get(`${SPANS}?after=${nextCursor}&status=unset`)).spans.length, 5, 'other filters continue from there')
})

t.test('pages neither lose nor repeat spans while traces and spans arrive or are deleted', async t => {
  const { get, post, remove } = await newProject('arrivals')
  const at = (second: number) => new Date(Date.parse(AT) + second * 1000).toISOString()
  const steps = (second: number, count: number) =>
    Array.from({ length: count }, () => span({ startedAt: at(second), endedAt: at(second + 1) }))
  const bodies = [0, 1, 2, 3].map(second => startBody({ startedAt: at(second), spans: steps(second, 4) }))
  for (const body of bodies) await post(TRACES, body)
  const exported = otlpSpan({ start: 12 * 3600 + 2, name: 'child', parentSpanId: spanId() })
  await post('/api/v1/otlp/v1/traces', exportOf(exported))
  const before = [...bodies.flatMap(({ trace }) => trace.spans.map(({ id }) => id)), exported.spanId]
  const seen: string[] = []
  let deleted: string[] = []
  let after: string | null = null
  for (let page = 0; page === 0 || after !== null; page++) {
    const { spans, nextCursor } = await get(`${SPANS}?limit=3${after === null ? '' : `&after=${after}`}`)
    seen.push(...spans.map(({ id }: { id: string }) => id))
    after = nextCursor
    // New traces above and below, new spans of traces that were listed, are being listed, and were not listed yet.
    await post(TRACES, ingestBody({ startedAt: at(page), endedAt: at(9), spans: steps(9, 2) }))
    for (const { trace } of bodies) await post(`${TRACES}/${trace.id}/spans`, spansBody(...steps(page, 1)))
    if (page === 1) {
      // The root arrives last and moves the start of its trace back.
      const { traceId, parentSpanId } = exported
      await post('/api/v1/otlp/v1/traces', exportOf(otlpSpan({ traceId, spanId: parentSpanId!, start: 12 * 3600 })))
    }
    if (page === 2) {
      await remove(bodies[0]!.trace.id)
      deleted = bodies[0]!.trace.spans.map(({ id }) => id)
    }
    if (page > 40) break
  }
  t.same(new Set(seen).size, seen.length, 'none is repeated')
  for (const id of before) if (!deleted.includes(id)) t.ok(seen.includes(id), 'none is lost')
})

t.test('without times, failures of the last seven days are grouped; one time determines the other', async t => {
  const { get, post } = await newProject('times')
  const days = (count: number) => new Date(Date.now() - count * 86_400_000).toISOString()
  const failing = (startedAt: string, name: string) =>
    ingestBody({
      startedAt,
      endedAt: startedAt,
      spans: [span({ startedAt, endedAt: startedAt, name, status: 'error' })]
    })
  await post(TRACES, failing(days(6), 'recent'))
  await post(TRACES, failing(days(8), 'old'))
  const now = Date.now()
  const { from, to, errors } = await get(ERRORS)
  t.same(
    errors.map(({ name }: { name: string }) => name),
    ['recent']
  )
  t.equal(Date.parse(to) - Date.parse(from), 7 * 86_400_000)
  t.ok(Math.abs(Date.parse(to) - now) < 60_000)
  t.equal((await get(`${ERRORS}?from=${days(9)}`)).failureCount, 2)
  t.match(await get(`${ERRORS}?to=2026-11-21T12:00:00.000001Z`), {
    from: '2026-11-14T12:00:00.000001Z',
    to: '2026-11-21T12:00:00.000001Z'
  })
  t.match(await get(`${ERRORS}?from=2026-11-21T00:00:00Z&to=2026-11-20T00:00:00Z`), { errors: [], complete: true })
  t.match(await get(`${ERRORS}?to=0001-01-02T00:00:00Z`), { from: '0001-01-01T00:00:00.000Z', errors: [] })
})

t.test('empty responses name existing values', async t => {
  const { get, post } = await newProject('hints')
  t.equal((await get(`${SPANS}?name=chat`)).hint, 'The project has no traces.')
  t.equal((await get(ERRORS)).hint, 'The project has no traces.')
  await post(TRACES, ingestBody({ spans: [span({ name: 'search_orders', model: 'gpt-4o' }), span({ name: 'chat' })] }))
  t.equal((await get(SPANS)).hint, null)
  t.equal(
    (await get(`${SPANS}?name=search_order`)).hint,
    'No recent step is named "search_order". The nearest: "search_orders".'
  )
  t.equal(
    (await get(`${SPANS}?model=gpt4o&environment=prod`)).hint,
    'No trace has the environment "prod". The most frequent: "unassigned". No recent step has the model "gpt4o". ' +
      'The nearest: "gpt-4o".'
  )
  const id = traceId()
  t.equal((await get(`${SPANS}?traceId=${id}`)).hint, `The project has no trace ${id}.`)
  t.equal(
    (await get(`${SPANS}?name=chat&status=error`)).hint,
    `No span that was examined meets all conditions. All of the values exist. The newest trace started at ${AT}.`
  )
  t.equal(
    (await get(`${ERRORS}?${RANGE}&tag=x&userId=u&traceName=rum`)).hint,
    'No trace has the name "rum". The nearest: "run". No trace has the user ID "u". Recent traces have none. ' +
      'No trace has the tag "x". Recent traces have none.'
  )
  t.match((await get(`${SPANS}?sessionId=s`)).hint, /^No trace has the session ID "s"/)
  t.match((await get(`${ERRORS}?${RANGE}&name=chat`)).hint, /^No failure that was examined meets all conditions\./)
  t.match((await get(`${ERRORS}?${RANGE}&name=cha`)).hint, /No recent step is named "cha"\. The nearest: "chat"/)
})

t.test('log records that state an exception explain why a step failed', async t => {
  const { get, post } = await newProject('records')
  const exported = otlpSpan({ start: 12 * 3600, status: 2, name: 'call' })
  await post('/api/v1/otlp/v1/traces', exportOf(exported))
  const attributes = { 'exception.type': 'Timeout', 'exception.message': 'no answer after 30 s' }
  const { traceId, spanId } = exported
  const record = { traceId, spanId, at: 12 * 3600 + 1, eventName: 'exception', attributes }
  t.match(await post('/api/v1/otlp/v1/logs', logsOf([record])), { status: 200 })
  const [listed] = (await get(SPANS)).spans
  t.match(listed, { error: { type: 'Timeout', message: 'no answer after 30 s' }, eventCount: 1 })
  const [texts] = (await get(`${SPANS}?texts=true`)).spans
  t.same(texts.events, (await get(`${TRACES}/${traceId}`)).spans[0].events)
  t.match((await get(`${ERRORS}?${RANGE}`)).errors, [
    {
      name: 'call',
      type: 'Timeout',
      message: 'no answer after <number>',
      count: 1,
      passedOn: 0,
      example: { traceId, spanId }
    }
  ])
})

t.test('a failure that its parents pass on ranks below its cause; a trace can fail by itself', async t => {
  const { get, post } = await newProject('causes')
  for (let i = 0; i < 3; i++) {
    const tool = span({ name: 'lookup', kind: 'tool', status: 'error', output: `order ${i} is unknown` })
    const agent = span({ name: 'agent', kind: 'agent', status: 'error' })
    await post(TRACES, ingestBody({ status: 'error', spans: [agent, { ...tool, parentSpanId: agent.id }] }))
  }
  await post(
    TRACES,
    ingestBody({ name: 'import', status: 'error', output: { error: 'disk 3 is full' }, spans: [span()] })
  )
  await post(TRACES, ingestBody({ status: 'ok', spans: [span({ name: 'retried', status: 'error' })] }))
  const { errors } = await get(`${ERRORS}?${RANGE}`)
  t.match(errors, [
    { name: 'lookup', kind: 'tool', message: 'order <number> is unknown', count: 3, passedOn: 0, traces: 3 },
    {},
    {},
    { name: 'agent', count: 3, passedOn: 3, message: null, type: null }
  ])
  t.match(
    errors.find(({ kind }: { kind: string }) => kind === 'trace'),
    {
      ...{ name: 'import', message: 'disk <number> is full', count: 1, firstSeen: AT, lastSeen: AT },
      example: { spanId: null, message: 'disk 3 is full' }
    }
  )

  t.match(await get(`${ERRORS}?${RANGE}&limit=1`), { errors: [{ name: 'lookup' }], groupCount: 4, failureCount: 8 })
  t.match(await get(`${ERRORS}?${RANGE}&kind=trace`), { errors: [{ name: 'import' }], failureCount: 1 })
})
