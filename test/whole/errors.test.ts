/** Causes every error code of specification section 7, and every additional code of this service, as a client would. */
import t from 'tap'
import type { App } from '../../lib/app.ts'
import { ERROR_CODES, ERRORS, type ErrorCode } from '../../lib/errors.ts'
import { endBody, ingestBody, span, spansBody, startBody, traceId } from '../fixtures/bodies/bodies.ts'
import { testDatabase } from '../fixtures/database/database.ts'
import { testRelay } from '../fixtures/database/relay.ts'
import { type Answer, testService } from '../fixtures/service/service.ts'
import { until } from '../fixtures/until.ts'

const TRACES = '/api/v1/traces'
const SCORE = { name: 'quality', dataType: 'numeric', value: 1 }

/** The status of each error code, from section 7. */
const STATUSES: { readonly [code in ErrorCode]: number } = {
  invalid_json: 400,
  invalid_trace: 400,
  invalid_request: 400,
  invalid_api_key: 401,
  insufficient_scope: 403,
  trial_limit_reached: 403,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  trace_id_conflict: 409,
  trace_finished: 409,
  span_conflict: 409,
  conflict: 409,
  cursor_expired: 410,
  payload_too_large: 413,
  unsupported_encoding: 415,
  quota_exhausted: 429,
  too_many_requests: 429,
  internal_error: 500,
  not_configured: 500,
  unavailable: 503
}

/** Adds a route with a bug, and a route that does not respond until told to. */
function broken(app: App) {
  app.route({
    method: 'GET',
    path: '/held',
    access: 'traces:read',
    summary: '',
    replies: {},
    async handler() {
      await held
      return {}
    }
  })
  app.route({
    method: 'GET',
    path: '/broken',
    access: 'key',
    summary: '',
    replies: {},
    handler() {
      throw new Error('broken')
    }
  })
}

let letGo = () => {}
const held = new Promise<void>(resolve => {
  letGo = resolve
})
/** Maximum number of requests in flight per project. */
const MOST_READS = 256

t.test('every code has its status and the envelope', async t => {
  const database = await testDatabase(t)
  const relay = await testRelay(t, database.target)
  const service = await testService(t, {
    database,
    view: { connect: relay.connect },
    plugins: [broken],
    config: { trialTraces: 0 }
  })
  const { call, makeKey } = service
  const unconfigured = await testService(t, { database, view: { digestSecret: undefined } })
  const reader = (await makeKey({ scopes: ['traces:read'] })).key
  const elsewhere = (await makeKey({ environment: 'prod' })).key
  const trial = (await makeKey()).key
  const post = (path: string, body: unknown, key = service.key) => call('POST', path, { key, body })

  const known = span()
  const running = startBody({ spans: [known] })
  const complete = ingestBody()
  for (const body of [running, complete]) t.match(await post(TRACES, body), { status: 201 })
  const path = `${TRACES}/${running.trace.id}`
  const scores = `${TRACES}/${complete.trace.id}/scores`
  for (let i = 0; i < 100; i++) await post(scores, SCORE)

  const provoke: { readonly [code in ErrorCode]: () => Promise<Answer> } = {
    invalid_json: () => post(TRACES, '{'),
    invalid_trace: () => post(TRACES, {}),
    invalid_request: () => call('GET', `${TRACES}?colour=red`),
    invalid_api_key: () => call('GET', TRACES, { key: null }),
    insufficient_scope: () => post(TRACES, ingestBody(), reader),
    trial_limit_reached: async () => {
      // The key has not been used yet, so the server reads it as a key of a trial account.
      await database.pool.run(sql => sql`update accounts set type = 'trial'`)
      const answer = await post(TRACES, ingestBody(), trial)
      await database.pool.run(sql => sql`update accounts set type = 'owner'`)
      return answer
    },
    forbidden: () => post(`${path}/spans`, spansBody(span()), elsewhere),
    not_found: () => call('GET', `${TRACES}/${traceId()}`),
    method_not_allowed: () => call('PUT', TRACES),
    trace_id_conflict: () => post(TRACES, ingestBody({ id: complete.trace.id, name: 'another' })),
    trace_finished: () => post(`${TRACES}/${complete.trace.id}/end`, endBody()),
    span_conflict: () => post(`${path}/spans`, spansBody({ ...known, name: 'another' })),
    conflict: () => post(scores, SCORE),
    cursor_expired: async () => {
      const { nextCursor } = (await call('GET', '/api/v1/changes')).body
      await database.pool.run(sql => sql`update change_feeds set id = id + 1`)
      return call('GET', `/api/v1/changes?after=${nextCursor}`)
    },
    payload_too_large: () => post(TRACES, ingestBody({ input: 'x'.repeat(768_000) })),
    unsupported_encoding: () => call('POST', TRACES, { headers: { 'content-encoding': 'zstd' }, body: '{}' }),
    internal_error: () => call('GET', '/broken'),
    not_configured: () => unconfigured.call('GET', TRACES),
    too_many_requests: async () => {
      const many = Array.from({ length: MOST_READS }, () => call('GET', '/held'))
      await until(async () => /^spoor_reads_under_way 256$/m.test((await call('GET', '/metrics', { key: null })).text))
      const answer = await call('GET', '/held')
      letGo()
      await Promise.all(many)
      return answer
    },
    // From here on, the database is unavailable.
    quota_exhausted: () => {
      relay.cut()
      return post(TRACES, ingestBody())
    },
    unavailable: () => call('GET', '/api/v1/project')
  }
  for (const code of Object.keys(provoke) as ErrorCode[]) {
    await t.test(code, async t => {
      const { status, headers, body } = await provoke[code]()
      t.equal(status, STATUSES[code])
      t.strictSame(Object.keys(body), ['error'])
      t.strictSame(body.error, { code, message: body.error.message, requestId: headers['x-request-id'] })
      t.ok(body.error.message.length > 10, body.error.message)
      t.equal(headers['content-type'], 'application/json')
      t.equal(headers['cache-control'], 'no-store')
      t.equal(headers['www-authenticate'], code === 'invalid_api_key' ? 'Bearer' : undefined)
      t.equal(headers['retry-after'], status === 429 || status === 503 ? '1' : undefined)
      t.equal(ERRORS[code].status, status)
    })
  }
  t.strictSame(Object.keys(provoke).sort(), [...ERROR_CODES].sort(), 'and there is no other code')
})
