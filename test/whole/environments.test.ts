/** Tests the rules of specification 2.10 in order, over HTTP. */
import t from 'tap'
import { revokeKey, setKeyEnvironment } from '../../lib/admin/keys.ts'
import { endBody, ingestBody, span, spansBody, startBody, traceId } from '../fixtures/bodies/bodies.ts'
import { setEnvironment } from '../fixtures/database/seed.ts'
import { testService } from '../fixtures/service/service.ts'
import { until } from '../fixtures/until.ts'

const TRACES = '/api/v1/traces'
const SCORE = { name: 'quality', dataType: 'numeric', value: 1 }

t.test('environments', async t => {
  const { call, key, makeKey, database } = await testService(t)
  const production = await makeKey({ environment: 'Production' })
  const record = async (key: string, body: { trace: { id: string } } = ingestBody()) => {
    t.equal((await call('POST', TRACES, { key, body })).status, 201)
    return body.trace.id
  }
  const read = async (id: string) => (await call('GET', `${TRACES}/${id}`)).body.trace
  const listed = async (environment: string) => {
    const { body } = await call('GET', `${TRACES}?limit=200&environment=${environment}`)
    return body.traces.map((trace: { id: string }) => trace.id)
  }

  await t.test('1. a trace has the environment of the key that recorded it', async t => {
    const id = await record(production.key)
    t.equal((await read(id)).environment, 'production')
    t.ok((await listed('production')).includes(id))
    t.match(await call('GET', '/api/v1/key', { key: production.key }), { body: { environment: 'production' } })
  })

  await t.test('1. no request body can set it', async t => {
    const id = await record(key, startBody())
    const extra = { environment: 'production' }
    for (const [path, body, field] of [
      ['', ingestBody(extra), 'trace.environment'],
      ['', { ...ingestBody(), ...extra }, 'environment'],
      ['', ingestBody({ spans: [span(extra)] }), 'trace.spans[0].environment'],
      [`/${id}/spans`, { ...spansBody(span()), ...extra }, 'environment'],
      [`/${id}/spans`, spansBody(span(extra)), 'spans[0].environment'],
      [`/${id}/end`, endBody(extra), 'environment']
    ] as const) {
      const { status, body: answer } = await call('POST', TRACES + path, { body })
      t.strictSame([status, answer.error.code], [400, 'invalid_trace'])
      t.equal(answer.error.message, `${field}: unknown field`)
    }
    t.match(await call('PATCH', `${TRACES}/${id}`, { body: { metadata: {}, ...extra } }), {
      status: 400,
      body: { error: { code: 'invalid_request', message: /^environment: / } }
    })
    t.match(await call('PATCH', `${TRACES}/${id}`, { body: { metadata: extra } }), { status: 200 })
    t.match(await read(id), { environment: null, metadata: extra }, 'metadata does not set it')
  })

  await t.test('2. traces of a key without one are unassigned', async t => {
    const id = await record(key)
    t.equal((await read(id)).environment, null)
    t.ok((await listed('unassigned')).includes(id))
    t.notOk((await listed('production')).includes(id))
    t.match(await call('GET', '/api/v1/key'), { body: { environment: null } })
  })

  await t.test("3. changing a key's environment affects only later recordings", async t => {
    const moving = await makeKey({ environment: 'before' })
    const change = async (environment: string, shown: string | null) => {
      await database.pool.run(sql => setKeyEnvironment(sql, moving.keyId, environment))
      await until(async () => (await call('GET', '/api/v1/key', { key: moving.key })).body.environment === shown)
    }
    const first = await record(moving.key)
    await change('after', 'after')
    const second = await record(moving.key)
    await change('unassigned', null)
    const third = await record(moving.key)
    for (const [id, environment] of [
      [first, 'before'],
      [second, 'after'],
      [third, null]
    ] as const) {
      t.equal((await read(id)).environment, environment)
    }
  })

  await t.test('4. revoking a key leaves its traces and their environment intact', async t => {
    const leaving = await makeKey({ environment: 'leaving' })
    const id = await record(leaving.key)
    const before = await read(id)
    await database.pool.run(sql => revokeKey(sql, leaving.keyId))
    await until(async () => (await call('GET', '/api/v1/key', { key: leaving.key })).status === 401)
    t.strictSame(await read(id), before)
    t.strictSame(await listed('leaving'), [id])
  })

  await t.test("5. two keys can share one, and continue each other's traces", async t => {
    const twin = await makeKey({ environment: 'production' })
    const id = await record(production.key, startBody())
    t.match(await call('POST', `${TRACES}/${id}/spans`, { key: twin.key, body: spansBody(span()) }), { status: 200 })
    t.match(await call('POST', `${TRACES}/${id}/end`, { key: twin.key, body: endBody() }), { status: 200 })
    const own = await record(twin.key)
    t.strictSame((await listed('production')).filter((each: string) => [id, own].includes(each)).length, 2)
  })

  await t.test("6. a score has its trace's environment, and follows it", async t => {
    const id = await record((await makeKey({ environment: 'scored' })).key)
    const { score } = (await call('POST', `${TRACES}/${id}/scores`, { key: production.key, body: SCORE })).body
    t.notOk('environment' in score)
    const scores = async (environment: string) =>
      (await call('GET', `/api/v1/scores?environment=${environment}`)).body.scores.map(
        (each: { id: string }) => each.id
      )
    t.strictSame(await scores('scored'), [score.id])
    t.strictSame(await scores('production'), [])
    await database.pool.run(sql => sql`update traces set environment = 'relabelled' where id = ${id}`)
    t.strictSame(await scores('scored'), [])
    t.strictSame(await scores('relabelled'), [score.id])
  })

  await t.test('7. a resend with a key of another environment is still the same trace', async t => {
    for (const [recording, resending, environment] of [
      [production.key, key, 'production'],
      [key, production.key, null]
    ] as const) {
      const body = ingestBody({ spans: [span()] })
      const id = await record(recording, body)
      const before = await read(id)
      const answer = { status: 200, body: { ok: true, traceId: id, duplicate: true, running: false, spanCount: 1 } }
      t.match(await call('POST', TRACES, { key: resending, body }), answer)
      t.strictSame(await read(id), before)
      t.equal(before.environment, environment)
      const other = ingestBody({ id, name: 'another' })
      t.match(await call('POST', TRACES, { key: resending, body: other }), { status: 409 })
    }
  })

  await t.test('8. a trace without one does not match unassigned until it is marked', async t => {
    const id = await record(key, startBody())
    await database.pool.run(sql => setEnvironment(sql, id, null))
    t.equal((await read(id)).environment, null)
    t.notOk((await listed('unassigned')).includes(id))
    t.match(await call('POST', `${TRACES}/${id}/spans`, { body: spansBody(span()) }), { status: 200 })
    t.match(await call('POST', `${TRACES}/${id}/end`, { key: production.key, body: endBody() }), { status: 403 })
    t.match(await call('POST', `${TRACES}/${id}/end`, { body: endBody() }), { status: 200 })
    await database.pool.run(sql => setEnvironment(sql, id, 'unassigned'))
    t.ok((await listed('unassigned')).includes(id))
  })

  await t.test('a key of another environment cannot append or end, and can do everything else', async t => {
    const forbidden = { status: 403, body: { error: { code: 'forbidden' } } }
    for (const [recording, other] of [
      [production.key, key],
      [key, production.key],
      [production.key, (await makeKey({ environment: 'staging' })).key]
    ] as const) {
      const first = span()
      const id = await record(recording, startBody({ spans: [first] }))
      const send = (step: string, body: object) => call('POST', `${TRACES}/${id}${step}`, { key: other, body })
      t.match(await send('/spans', spansBody(span())), forbidden)
      t.match(await send('/spans', spansBody(first)), forbidden, 'even if nothing would be written')
      t.match(
        await send('/spans', spansBody(span({ id: first.id, name: 'another' }))),
        forbidden,
        'before a conflict is detected'
      )
      t.match(await send('/spans', spansBody()), { status: 400 }, 'but after the schema is checked')
      t.match(await send('/end', endBody({ endedAt: '2001-01-01T00:00:00Z' })), forbidden)
      t.match(await call('POST', `${TRACES}/${traceId()}/end`, { key: other, body: endBody() }), { status: 404 })
      t.match(await call('POST', `${TRACES}/${id}/end`, { key: recording, body: endBody() }), { status: 200 })
      t.match(await send('/end', endBody()), forbidden, 'or resend the end')
      t.match(await send('/spans', spansBody(span())), forbidden, 'before 409')
      t.match(await read(id), { spanCount: 1 })
      t.match(await send('/scores', SCORE), { status: 201 })
      const patch = { key: other, body: { metadata: { a: 1 } } }
      t.match(await call('PATCH', `${TRACES}/${id}`, patch), { status: 200 })
      t.match(await call('GET', `${TRACES}/${id}`, { key: other }), { status: 200 })
      t.match(await call('DELETE', `${TRACES}/${id}`, { key: other }), { status: 200 })
    }
  })
})
