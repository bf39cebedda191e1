import { gzipSync } from 'node:zlib'
import t from 'tap'
import { ERRORS, type ErrorCode } from '../../../lib/errors.ts'
import { MAX_BODY_BYTES } from '../../../lib/schema/input.ts'
import { SCOPES } from '../../../lib/schema/scopes.ts'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { byRelay, testRelay } from '../../fixtures/database/relay.ts'
import { callMessage, ENDPOINT, post } from '../../fixtures/service/mcp.ts'
import { type Answer, type CallOptions, testService } from '../../fixtures/service/service.ts'

const ALLOWED = 'https://app.example.com'
const service = await testService(t, { config: { allowedOrigins: [ALLOWED] } })
const LIST = callMessage('list_traces')
const PING = { jsonrpc: '2.0', id: 7, method: 'ping' }
const PONG = { jsonrpc: '2.0', id: 7, result: {} }

const request = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })
const initialize = (protocolVersion: string) =>
  request('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } })

/** Checks the error envelope and the response's headers. */
function assertRefused({ status, body, headers }: Answer, code: ErrorCode, what: string = code) {
  t.same([status, body.error.code], [ERRORS[code].status, code], what)
  t.equal(body.error.requestId, headers['x-request-id'], what)
}

t.test('responds in JSON, whatever JSON type a client accepts', async t => {
  const accepts = [undefined, '*/*', 'application/json', 'application/*;q=0.5', 'text/event-stream, application/json']
  for (const accept of accepts) {
    const headers = { 'content-type': 'application/json', ...(accept !== undefined && { accept }) }
    const answer = await service.call('POST', ENDPOINT, { body: PING, headers })
    t.same([answer.status, answer.headers['content-type'], answer.body], [200, 'application/json', PONG], `${accept}`)
  }
  for (const accept of ['text/html', 'text/event-stream']) {
    const { status, body } = await post(service, PING, { headers: { accept } })
    t.same([status, body.error.code, body.id], [406, -32000, null], accept)
  }
})

t.test('accepts any Content-Type, and encoded bodies', async t => {
  t.same((await service.call('POST', ENDPOINT, { body: JSON.stringify(PING) })).body, PONG)
  const headers = { 'content-encoding': 'gzip', 'content-type': 'text/plain' }
  t.same((await post(service, gzipSync(JSON.stringify(PING)), { headers })).body, PONG)
})

t.test('supports every protocol version before 2026-07-28', async t => {
  for (const version of ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']) {
    t.equal((await post(service, initialize(version))).body.result.protocolVersion, version)
    t.equal((await post(service, PING, { headers: { 'mcp-protocol-version': version } })).status, 200)
  }
  t.equal((await post(service, initialize('2030-01-01'))).body.result.protocolVersion, '2025-11-25')
  const unknown = await post(service, PING, { headers: { 'mcp-protocol-version': '1999-01-01' } })
  t.same([unknown.status, unknown.body.error.code], [400, -32000])
})

/**
 * Sends a request of version 2026-07-28. The body names the client, and the headers repeat the method and the tool's
 * name.
 */
function modern(method: string, params: Record<string, unknown> = {}, version = '2026-07-28') {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {}
  }
  const name = params.name as string | undefined
  const headers = { 'mcp-protocol-version': version, 'mcp-method': method, ...(name && { 'mcp-name': name }) }
  return post(service, request(method, { ...params, _meta }), { headers })
}

t.test('supports 2026-07-28, without a handshake', async t => {
  t.match((await modern('server/discover')).body.result, {
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {} }
  })
  const { result } = (await modern('tools/list')).body
  t.same(result.tools, (await post(service, request('tools/list', {}))).body.result.tools, 'the same tools')
  const call = await modern('tools/call', { name: 'list_traces', arguments: { limit: 3 } })
  t.match(call.body.result, { resultType: 'complete', structuredContent: { pageSize: 3 } })
  const refused = await modern('tools/call', { name: 'list_traces', arguments: { limit: 0 } })
  t.match(refused.body.result, { isError: true, structuredContent: { error: { code: 'invalid_request' } } })
})

t.test('errors of 2026-07-28 follow its specification', async t => {
  const errors: [string, Promise<Answer>, number, number][] = [
    ['an unknown method', modern('tools/delete'), 404, -32601],
    ['prompts', modern('prompts/list'), 404, -32601],
    ['a method of earlier versions', modern('ping'), 404, -32601],
    ['a stream of changes, which is not supported', modern('subscriptions/listen', { notifications: {} }), 404, -32601],
    ['an unknown tool', modern('tools/call', { name: 'drop_tables' }), 200, -32602],
    ['a list of arguments', modern('tools/call', { name: 'list_traces', arguments: [] }), 200, -32602],
    ['an unknown version', modern('tools/list', {}, '2030-01-01'), 400, -32022],
    [
      'a request that does not identify its client',
      post(service, PING, { headers: { 'mcp-protocol-version': '2026-07-28' } }),
      400,
      -32602
    ],
    [
      'contradictory headers',
      post(service, request('tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } })),
      400,
      -32602
    ]
  ]
  for (const [what, answer, status, code] of errors) {
    const { status: given, body } = await answer
    t.same(
      [given, body.jsonrpc, body.id, body.error.code],
      [status, '2.0', what === 'a request that does not identify its client' ? 7 : 1, code],
      what
    )
  }
})

t.test('a simple call gets the same response as one that the SDK must inspect', async t => {
  const get = (id: unknown, name: string, args: object, _meta?: object) =>
    post(service, {
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name, arguments: args, ...(_meta && { _meta }) }
    })
  for (const [id, name, args] of [
    [1, 'list_traces', { limit: 3 }],
    ['a "name"', 'list_traces', { limit: 'three' }],
    [-7, 'get_trace', { traceId: 'none' }],
    [0, 'no_such_tool', {}]
  ] as const) {
    const [plain, full] = [await get(id, name, args), await get(id, name, args, { progressToken: 1 })]
    const known = (answer: Answer) => answer.text.replaceAll(String(answer.headers['x-request-id']), '')
    t.same([plain.status, known(plain)], [full.status, known(full)], name)
  }
})

t.test('protocol errors follow the specification', async t => {
  const tooDeep = `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'['.repeat(110)}${']'.repeat(110)}}`
  const errors: [string, unknown, number, number][] = [
    ['an empty body', '', 400, -32700],
    ['no JSON', '{', 400, -32700],
    ['no UTF-8', Buffer.from('{"a":"\xff"}', 'latin1'), 400, -32700],
    ['JSON that is too deep', tooDeep, 400, -32600],
    ['a string', '"ping"', 400, -32600],
    ['null', 'null', 400, -32600],
    ['no version', { id: 1, method: 'ping' }, 400, -32600],
    ['an unknown field', { ...PING, extra: 1 }, 400, -32600],
    ['an invalid id', { ...PING, id: {} }, 400, -32600],
    ['an empty batch', [], 400, -32600],
    ['a batch with an invalid item', [PING, 1], 400, -32600],
    ['a handshake without parameters', { jsonrpc: '2.0', id: 1, method: 'initialize' }, 200, -32602],
    ['a handshake with too few', request('initialize', { protocolVersion: '2025-11-25' }), 200, -32602],
    ['a handshake with invalid ones', request('initialize', { protocolVersion: 1 }), 200, -32602],
    ['101 messages', Array(101).fill(PING), 400, -32600],
    ['an unknown method', request('tools/delete', {}), 200, -32601],
    ['prompts', request('prompts/list', {}), 200, -32601],
    ['an unknown resource', request('resources/read', { uri: 'spoor://other' }), 200, -32602],
    ['a resource without an address', request('resources/read', {}), 200, -32602],
    ['an unknown tool', callMessage('drop_tables'), 200, -32602],
    ["a tool named like an object's property", callMessage('constructor'), 200, -32602],
    ['no name', request('tools/call', {}), 200, -32602],
    ['no parameters', { jsonrpc: '2.0', id: 1, method: 'tools/call' }, 200, -32602],
    ['a list of arguments', request('tools/call', { name: 'list_traces', arguments: [] }), 200, -32602],
    ['null for arguments', request('tools/call', { name: 'list_traces', arguments: null }), 200, -32602],
    ['an unknown cursor', request('tools/list', { cursor: 'x' }), 200, -32602]
  ]
  for (const [what, message, status, code] of errors) {
    const { status: given, body, headers } = await post(service, message)
    t.same([given, body.jsonrpc, body.error.code], [status, '2.0', code], what)
    t.equal(headers['cache-control'], 'no-store')
    t.match(headers['x-request-id'], /^[0-9a-z]{24}$/)
  }
})

t.test('an invalid handshake is told which field is wrong', async t => {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } }
  const faults: [object | undefined, string][] = [
    [undefined, 'params: is required'],
    [{ ...params, protocolVersion: 5 }, 'params.protocolVersion: must be a string'],
    [{ ...params, capabilities: undefined }, 'params.capabilities: is required'],
    [{ ...params, clientInfo: { name: 'a' } }, 'params.clientInfo.version: is required'],
    [{ ...params, capabilities: { roots: 5 } }, 'params: are not valid for initialize']
  ]
  for (const [params, message] of faults) {
    const { body } = await post(service, { jsonrpc: '2.0', id: 'x', method: 'initialize', params })
    t.same(body, { jsonrpc: '2.0', error: { code: -32602, message }, id: 'x' })
  }
})

t.test('a notification has no response, and a batch has one for each request', async t => {
  const notification = { jsonrpc: '2.0', method: 'notifications/initialized' }
  t.match(await post(service, notification), { status: 202, text: '' })
  const { body } = await post(service, [PING, notification, LIST])
  t.match(body, [PONG, { id: 1, result: { structuredContent: { traces: Array } } }])
})

t.test('a cancelled call is still answered', async t => {
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
  t.match((await post(service, [LIST, cancel])).body, { id: 1, result: { structuredContent: { traces: Array } } })
})

t.test('requires a key for every request', async t => {
  for (const key of [null, 'nonsense']) {
    for (const message of [PING, LIST, '{']) {
      const answer = await post(service, message, { key })
      assertRefused(answer, 'invalid_api_key')
      t.equal(answer.headers['www-authenticate'], 'Bearer')
    }
  }
})

t.test("a tool outside the key's scopes gets 403, and no part of the message is processed", async t => {
  const body = ingestBody()
  const id = body.trace.id
  const calls: [string, string, object][] = [
    ['traces:read', 'record_trace', body],
    ['traces:read', 'get_ingest_schema', {}],
    ['traces:read', 'delete_trace', { traceId: id }],
    ['traces:write', 'list_traces', {}],
    ['traces:write', 'get_trace', { traceId: 'nonsense' }],
    ['traces:delete', 'add_score', {}],
    ['traces:delete', 'get_project', {}]
  ]
  for (const [scope, name, args] of calls) {
    const { key } = await service.makeKey({ scopes: SCOPES.filter(each => each === scope) })
    assertRefused(await post(service, callMessage(name, args), { key }), 'insufficient_scope', `${name} with ${scope}`)
    t.equal((await post(service, callMessage('no_such_tool'), { key })).body.error.code, -32602)
  }
  const { key } = await service.makeKey({ scopes: ['traces:write'] })
  const batch = [callMessage('record_trace', body), { ...LIST, id: 2 }]
  assertRefused(await post(service, batch, { key }), 'insufficient_scope')
  t.equal((await service.call('GET', `/api/v1/traces/${id}`)).status, 404)
})

t.test('a rejected call has the request id of its response', async t => {
  const { status, headers, body } = await post(service, callMessage('get_trace', { traceId: 'x' }))
  const { isError, structuredContent, content } = body.result
  t.same([status, isError, structuredContent.error.code], [200, true, 'not_found'])
  t.equal(structuredContent.error.requestId, headers['x-request-id'])
  t.same(JSON.parse(content[0].text), structuredContent)
})

t.test('the limit of 2 MiB applies to the whole message', async t => {
  const text = JSON.stringify(PING)
  t.same((await post(service, text.padEnd(MAX_BODY_BYTES))).body, PONG)
  assertRefused(await post(service, text.padEnd(MAX_BODY_BYTES + 1)), 'payload_too_large')
  const headers = { 'content-encoding': 'gzip' }
  const answer = await post(service, gzipSync(text.padEnd(MAX_BODY_BYTES + 1)), { headers })
  assertRefused(answer, 'payload_too_large', 'decoded')
})

t.test('supports only POST and a preflight', async t => {
  for (const method of ['GET', 'HEAD', 'DELETE', 'PUT', 'PATCH']) {
    const { status, headers } = await service.call(method, ENDPOINT)
    t.same([status, headers.allow], [405, 'POST, OPTIONS'], method)
  }
  t.same((await service.call('OPTIONS', '/api/v1/traces')).status, 405)
})

t.test('pages of other origins are rejected before any other check', async t => {
  const own = [`http://localhost:${service.port}`, `http://127.0.0.1:${service.port}`, `http://[::1]:${service.port}`]
  for (const origin of [...own, ALLOWED]) {
    const { status, headers } = await post(service, PING, { headers: { origin } })
    t.same([status, headers['access-control-allow-origin'], headers.vary], [200, origin, 'Origin'], origin)
  }
  const others = [
    'http://evil.example',
    'http://localhost',
    'null',
    `https://localhost:${service.port}`,
    `${ALLOWED}:8443`
  ]
  for (const origin of others) {
    const headers = { origin, host: origin.replace('http://', '') }
    const answer = await post(service, '{', { key: null, headers })
    assertRefused(answer, 'forbidden', origin)
    t.equal(answer.headers['access-control-allow-origin'], undefined)
    assertRefused(await service.call('OPTIONS', ENDPOINT, { key: null, headers: { origin } }), 'forbidden', origin)
  }
})

t.test('a page of an allowed origin can read every response', async t => {
  const { key } = await service.makeKey({ scopes: ['traces:read'] })
  const headers = { origin: ALLOWED }
  const refused: [CallOptions, unknown, number][] = [
    [{ key: null }, PING, 401],
    [{ key }, callMessage('delete_trace'), 403],
    [{ key }, ' '.repeat(MAX_BODY_BYTES + 1), 413],
    [{ key }, '{', 400]
  ]
  for (const [options, message, status] of refused) {
    const answer = await post(service, message, { ...options, headers })
    t.same([answer.status, answer.headers['access-control-allow-origin']], [status, ALLOWED])
    t.match(answer.headers['access-control-expose-headers'], /X-Request-Id/)
  }
})

t.test('a preflight states what may be sent', async t => {
  const { status, text, headers } = await service.call('OPTIONS', ENDPOINT, { key: null, headers: { origin: ALLOWED } })
  t.same([status, text], [204, ''])
  t.match(headers, {
    'access-control-allow-origin': ALLOWED,
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': /Authorization.*Content-Type.*Mcp-Protocol-Version.*Mcp-Method.*Mcp-Name/,
    'cache-control': 'no-store',
    'x-request-id': String
  })
})

t.test("behind BASE_URL, only its origin is the server's own", async t => {
  const behind = await testService(t, { config: { baseUrl: 'https://traces.example.com/spoor' } })
  const statusOf = async (origin: string) => (await post(behind, PING, { headers: { origin } })).status
  t.equal(await statusOf('https://traces.example.com'), 200)
  t.equal(await statusOf(`http://localhost:${behind.port}`), 403)
})

t.test('failures are not results: 503 while the database is unreachable, 500 if nothing is configured', async t => {
  const database = await testDatabase(t)
  const relay = await testRelay(t, database.target)
  const away = await testService(t, { database, view: byRelay(relay, database) })
  t.equal((await post(away, LIST)).status, 200)
  relay.cut()
  const answer = await post(away, LIST)
  assertRefused(answer, 'unavailable')
  t.equal(answer.headers['retry-after'], '1')
  const bare = await testService(t, { view: { digestSecret: undefined } })
  assertRefused(await post(bare, LIST), 'not_configured')
})

t.test('a write that the store rejects is a result', async t => {
  const database = await testDatabase(t)
  const full = await testService(t, { database })
  await database.pool.run(async sql => {
    const [row] = await sql`select current_database() as name`
    await sql.unsafe(`alter database ${row?.name} set default_transaction_read_only = on`)
  })
  const { status, body } = await post(full, callMessage('record_trace', ingestBody()))
  t.same([status, body.result.isError, body.result.structuredContent.error.code], [200, true, 'quota_exhausted'])
})
