/** Tests the tables of permissions in specification 4 and 5: every route with every kind of key, over HTTP. */
import t from 'tap'
import { isPersonAccess } from '../../lib/http/people/admit.ts'
import { DEFAULT_SCOPES, SCOPES } from '../../lib/schema/scopes.ts'
import { hexId, ingestBody, startBody, traceId } from '../fixtures/bodies/bodies.ts'
import { testService } from '../fixtures/service/service.ts'

const TRACES = '/api/v1/traces'

/** The table of specification 4. Null means that every key is allowed. */
const ROUTES = [
  ['GET', '/api/v1/key', null],
  ['GET', '/api/v1/project', 'traces:read'],
  ['POST', TRACES, 'traces:write'],
  ['GET', TRACES, 'traces:read'],
  ['GET', `${TRACES}/{traceId}`, 'traces:read'],
  ['PATCH', `${TRACES}/{traceId}`, 'traces:write'],
  ['DELETE', `${TRACES}/{traceId}`, 'traces:delete'],
  ['POST', `${TRACES}/{traceId}/spans`, 'traces:write'],
  ['POST', `${TRACES}/{traceId}/end`, 'traces:write'],
  ['POST', `${TRACES}/{traceId}/scores`, 'traces:write'],
  ['GET', `${TRACES}/{traceId}/scores`, 'traces:read'],
  ['DELETE', `${TRACES}/{traceId}/scores/{scoreId}`, 'traces:delete'],
  ['GET', '/api/v1/scores', 'traces:read'],
  ['GET', '/api/v1/spans', 'traces:read'],
  ['GET', '/api/v1/errors', 'traces:read'],
  ['GET', '/api/v1/sessions', 'traces:read'],
  ['GET', '/api/v1/sessions/{sessionId}', 'traces:read'],
  ['GET', '/api/v1/users', 'traces:read'],
  ['POST', '/api/v1/deletions', 'traces:delete'],
  ['GET', '/api/v1/search', 'traces:read'],
  ['GET', '/api/v1/changes', 'traces:read'],
  ['GET', '/api/v1/usage', 'traces:read']
] as const
/** These protocols have their own tables: test/plugins/otlp/traces.test.ts, test/plugins/mcp/index.test.ts. */
const UNLISTED = ['traces', 'logs', 'metrics'].map(signal => `/api/v1/otlp/v1/${signal}`).concat('/api/mcp')

t.test('access', async t => {
  const { app, call, key, makeKey, database } = await testService(t)
  const guarded = app.routes.filter(
    ({ path, access }) => access !== 'public' && !isPersonAccess(access) && !UNLISTED.includes(path)
  )
  t.strictSame(
    guarded.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`).sort(),
    ROUTES.map(([m, p]) => `${m} ${p}`).sort()
  )
  const single = await Promise.all(
    SCOPES.map(async scope => [scope, (await makeKey({ scopes: [scope] })).key] as const)
  )
  const body = startBody()
  t.match(await call('POST', TRACES, { body }), { status: 201 })
  const at = (path: string, id = body.trace.id, scoreId = hexId(8)) =>
    path.replace('{traceId}', id).replace('{scoreId}', scoreId)
  const denied = { status: 403, body: { error: { code: 'insufficient_scope' } } }
  const missing = { status: 404, body: { error: { code: 'not_found' } } }

  for (const [method, path, scope] of ROUTES) {
    await t.test(`${method} ${path}`, async t => {
      // No body is sent, because permissions are checked before the body.
      const send = (key: string | null, address = at(path)) => call(method, address, { key })
      t.match(await send(null), { status: 401, headers: { 'www-authenticate': 'Bearer' } })
      for (const [granted, key] of single) {
        const answer = await send(key, at(path, traceId()))
        if (scope === null || granted === scope) t.not(answer.status, 403, `${granted} is enough`)
        else t.match(answer, denied, `${granted} is not enough`)
      }
      if (!path.includes('{traceId}')) return
      for (const id of ['x', hexId(15), `${traceId()}0`, 'g'.repeat(32), `${traceId()}%20`, '%00']) {
        t.match(await send(key, at(path, id)), missing, `${id} is not a trace`)
      }
      if (!path.includes('{scoreId}')) return
      for (const id of ['x', hexId(7), hexId(9), 'g'.repeat(16)]) {
        t.match(await send(key, at(path, body.trace.id, id)), missing, `${id} is not a score`)
      }
    })
  }

  await t.test('a score exists only on its own trace', async t => {
    const other = ingestBody()
    await call('POST', TRACES, { body: other })
    const score = { name: 'n', dataType: 'boolean', value: true }
    const { id } = (await call('POST', `${TRACES}/${other.trace.id}/scores`, { body: score })).body.score
    t.match(await call('DELETE', `${TRACES}/${body.trace.id}/scores/${id}`), missing)
    t.match(await call('DELETE', `${TRACES}/${other.trace.id}/scores/${id}`), { status: 200 })
  })

  await t.test('by default, a key can write and read, and one from before scopes can only write', async t => {
    t.strictSame(DEFAULT_SCOPES, ['traces:write', 'traces:read'])
    const { key, keyId } = await makeKey()
    await database.pool.run(sql => sql`update api_keys set scopes = null where id = ${keyId}`)
    t.strictSame((await call('GET', '/api/v1/key', { key })).body.scopes, ['traces:write'])
    t.match(await call('POST', TRACES, { key, body: ingestBody() }), { status: 201 })
    t.match(await call('GET', TRACES, { key }), denied)
    t.match(await call('DELETE', `${TRACES}/${traceId()}`, { key }), denied)
  })

  await t.test('the index and the document need no key, and ignore a wrong one', async t => {
    for (const path of ['/api/v1', '/api/v1/openapi.json']) {
      t.equal((await call('GET', path, { key: null })).status, 200)
      t.equal((await call('GET', path, { key: 'nonsense' })).status, 200)
    }
    const { endpoints } = (await call('GET', '/api/v1')).body
    for (const [method, path] of ROUTES)
      t.ok(Object.values(endpoints).includes(`${method} ${path}`), `${method} ${path}`)
    t.match(endpoints, {
      recordTrace: `POST ${TRACES}`,
      listTraces: `GET ${TRACES}`,
      getTrace: `GET ${TRACES}/{traceId}`,
      patchTraceMetadata: `PATCH ${TRACES}/{traceId}`,
      deleteTrace: `DELETE ${TRACES}/{traceId}`,
      getProject: 'GET /api/v1/project'
    })
  })
})

t.test("keys begin with the deployment's prefix, which may contain an underscore", async t => {
  const { call, key } = await testService(t, { config: { keyPrefix: 'acme_traces' } })
  t.match(key, /^acme_traces_live_[0-9A-Za-z]{16}_[0-9A-Za-z]{43}$/)
  t.equal((await call('GET', '/api/v1/key')).status, 200)
  t.equal((await call('GET', '/api/v1/key', { key: key.replace('acme_traces', 'spoor') })).status, 401)
  t.match((await call('GET', '/api/v1')).body.auth, /Authorization: Bearer acme_traces_live_/)
})
