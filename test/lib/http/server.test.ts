import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import Type from 'typebox'
import type { App } from '../../../lib/app.ts'
import { Content, JsonText, type Reply } from '../../../lib/http/route.ts'
import { createLog } from '../../../lib/log.ts'
import { endBody, span, spansBody, startBody } from '../../fixtures/bodies/bodies.ts'
import { publicRoute } from '../../fixtures/service/public-route.ts'
import { parseRaw, sendRaw, statuses } from '../../fixtures/service/raw.ts'
import { type Answer, testService } from '../../fixtures/service/service.ts'

const TRACE_ID = 'ab'.repeat(16)
const MIB2 = 2_097_152
/** The response that permits a client to send a body. */
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'

/** Adds a route whose requests undergo every check. */
function strict(app: App) {
  app.route({
    method: 'PATCH',
    path: '/test/:traceId',
    access: 'traces:delete',
    summary: 'Take everything',
    query: Type.Object({ limit: Type.Optional(Type.Integer({ minimum: 1 })) }, { additionalProperties: false }),
    takesBody: true,
    replies: {},
    handler: ({ traceId, query, payload }) => ({ body: { traceId, query, bytes: payload.length } })
  })
}

t.test('the first check that fails determines the response', async t => {
  const { call, makeKey, key } = await testService(t, { plugins: [strict] })
  const { key: reader } = await makeKey({ scopes: ['traces:read'] })
  const path = `/test/${TRACE_ID.toUpperCase()}`
  const big = { body: 'x'.repeat(MIB2 + 1) }
  const odd = { headers: { 'content-encoding': 'compress' }, body: 'x' }
  const steps: [number, string, string, string, object][] = [
    [404, 'not_found', 'DELETE', '/nothing', { key: null, ...big }],
    [405, 'method_not_allowed', 'DELETE', '/test/x?limit=x', { key: null, ...big }],
    [401, 'invalid_api_key', 'PATCH', '/test/x?limit=x', { key: null, ...big }],
    [403, 'insufficient_scope', 'PATCH', '/test/x?limit=x', { key: reader, ...big }],
    [404, 'not_found', 'PATCH', '/test/x?limit=x', { key, ...big }],
    [404, 'not_found', 'PATCH', `/test/${'a'.repeat(5000)}`, { key, ...big }],
    [415, 'unsupported_encoding', 'PATCH', path, { key, ...big, ...odd }],
    [413, 'payload_too_large', 'PATCH', path, { key, ...big }]
  ]
  for (const [status, code, method, address, options] of steps) {
    const answer = await call(method, address, options)
    t.equal(answer.status, status, `${status} ${code}`)
    t.equal(answer.body.error.code, code)
  }
  const answer = await call('PATCH', `${path}?limit=3`, { body: 'four' })
  t.equal(answer.status, 200)
  t.same(answer.body, { traceId: TRACE_ID, query: { limit: 3 }, bytes: 4 }, 'ids are lowercased')
})

t.test('every response has its own request id, and is not cached', async t => {
  const { call } = await testService(t)
  const answers = [
    await call('GET', '/api/v1'),
    await call('GET', '/healthz'),
    await call('GET', '/api/v1/key', { headers: { 'x-request-id': 'mine' } }),
    await call('GET', '/api/v1/key', { key: null }),
    await call('GET', '/nothing'),
    await call('PUT', '/api/v1'),
    await call('OPTIONS', '/api/v1'),
    await call('HEAD', '/nothing'),
    await call('POST', '/api/v1/traces', { body: 'no' })
  ]
  for (const { headers, body } of answers) {
    t.match(headers['x-request-id'], /^[0-9a-z]{24}$/)
    t.equal(headers['cache-control'], 'no-store')
    t.equal(headers['x-content-type-options'], 'nosniff')
    if (body?.error) t.equal(body.error.requestId, headers['x-request-id'])
  }
  t.equal(new Set(answers.map(({ headers }) => headers['x-request-id'])).size, answers.length)
})

t.test('an unknown address is 404, another method 405 with Allow', async t => {
  const { call } = await testService(t, { plugins: [strict] })
  const unknown = ['/', '/api', '/api/v1/', '//api/v1', '/api/v1/traces/', '/api/v1/Key', '/api/v1/%zz', '/test/%E0%A4']
  for (const path of unknown) t.equal((await call('GET', path)).status, 404, path)
  const allowed: [string, string, string][] = [
    ['POST', '/api/v1/key', 'GET, HEAD'],
    ['OPTIONS', '/api/v1/key', 'GET, HEAD'],
    ['GET', `/test/${TRACE_ID}`, 'PATCH'],
    ['HEAD', '/test/x', 'PATCH']
  ]
  for (const [method, path, allow] of allowed) {
    const answer = await call(method, path)
    t.equal(answer.status, 405, `${method} ${path}`)
    t.equal(answer.headers.allow, allow)
  }
  t.equal((await call('GET', '/api/v1/%6Bey?more=1&more=%zz')).status, 200, 'parameters that a route does not take')
})

t.test("HEAD responds with GET's headers and no body", async t => {
  const { call } = await testService(t)
  const comparable = ({ status, headers }: Answer) => [status, headers['content-type'], headers['content-length']]
  for (const path of ['/api/v1', '/api/v1/key', '/nothing']) {
    const get = await call('GET', path)
    const head = await call('HEAD', path)
    t.same(comparable(head), comparable(get), path)
    t.equal(head.text, '')
  }
})

t.test('a handler returns a value, JSON text, other content, or nothing', async t => {
  const route = (path: string, reply: Reply) => publicRoute(path, () => reply)
  const { call } = await testService(t, {
    plugins: [
      route('/text', { status: 201, body: new JsonText('{"n":1e400}') }),
      route('/page', { body: new Content('text/html', 'h\u00e9'), headers: { 'cache-control': 'public' } }),
      route('/bytes', { body: new Content('image/x', Buffer.from([1, 2])) }),
      route('/nothing', {}),
      route('/unchanged', { status: 304, headers: { ETag: '"x"' } })
    ]
  })
  const text = await call('GET', '/text')
  t.same([text.status, text.text, text.headers['content-type']], [201, '{"n":1e400}', 'application/json'])
  const page = await call('GET', '/page')
  t.same([page.text, page.headers['content-type'], page.headers['content-length']], ['h\u00e9', 'text/html', '3'])
  t.equal(page.headers['cache-control'], 'public')
  t.equal((await call('GET', '/bytes')).headers['content-length'], '2')
  t.equal((await call('GET', '/nothing')).headers['content-length'], '0')
  const unchanged = await call('GET', '/unchanged')
  t.same([unchanged.status, unchanged.headers.etag, unchanged.headers['content-length']], [304, '"x"', undefined])
})

t.test("an unexpected error is a bare 500, logged without the client's data", async t => {
  const lines: string[] = []
  const fail = (app: App) =>
    app.route({
      method: 'POST',
      path: '/fail',
      access: 'key',
      summary: '',
      takesBody: true,
      replies: {},
      async handler() {
        throw Object.assign(new Error('broken'), { detail: 'Key (id)=(secret) exists' })
      }
    })
  const { call, key } = await testService(t, {
    plugins: [fail],
    log: createLog('info', { write: line => lines.push(line) })
  })
  const { status, body } = await call('POST', '/fail?token=secret', { body: { password: 'secret' } })
  t.equal(status, 500)
  t.equal(body.error.code, 'internal_error')
  t.notMatch(body.error.message, /broken/)
  const log = lines.join('')
  t.match(log, /"message":"broken"/)
  t.notMatch(log, /secret/)
  t.notOk(log.includes(key.slice(-43)), 'no secret of a key')
  const request = JSON.parse(lines.find(line => line.includes('"path":"/fail"'))!)
  t.match(request, {
    method: 'POST',
    status: 500,
    bytesIn: 21,
    project: 1,
    keyId: String,
    requestId: String,
    ms: Number
  })
})

t.test("requests that Node's parser rejects get the error envelope", async t => {
  const { port } = await testService(t)
  const refused: [string, number, string][] = [
    ['not HTTP', 400, 'hello\r\n\r\n'],
    ['a header without a colon', 400, 'GET / HTTP/1.1\r\nHost: x\r\nbroken\r\n\r\n'],
    ['two lengths', 400, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
    ['an invalid length', 400, 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n'],
    [
      'a length and chunks',
      400,
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n'
    ],
    ['headers over the limit', 431, `GET / HTTP/1.1\r\nHost: x\r\nLong: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['no Host', 400, 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['CONNECT', 400, 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n']
  ]
  for (const [title, status, text] of refused) {
    const answer = parseRaw(await sendRaw(port, text))
    t.equal(answer.status, status, title)
    t.equal(answer.headers['cache-control'], 'no-store')
    t.equal(answer.headers['x-content-type-options'], 'nosniff')
    t.equal(answer.headers['content-type'], 'application/json')
    const { error } = JSON.parse(answer.body)
    t.equal(error.code, 'invalid_request')
    t.equal(error.requestId, answer.headers['x-request-id'])
  }
})

t.test('a body that breaks off within its chunks gets 400', async t => {
  const { port, key } = await testService(t)
  const head = `POST /api/v1/traces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n`
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.on('data', chunk => {
    received += chunk
    // The server has started to read the body.
    if (received === CONTINUE) socket.write('2\r\n{}\r\nzz\r\n')
  })
  socket.write(head)
  await once(socket, 'close')
  t.ok(received.startsWith(CONTINUE))
  const answer = parseRaw(received.slice(CONTINUE.length))
  t.equal(answer.status, 400)
  t.equal(JSON.parse(answer.body).error.code, 'invalid_request')
})

t.test('a complete request is served, and then invalid data after it gets a response', async t => {
  const { port, key, call } = await testService(t)
  const head = `HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`
  const get = `GET /api/v1/project ${head}\r\n`
  const record = () => {
    const text = JSON.stringify(startBody())
    return `POST /api/v1/traces ${head}Content-Length: ${text.length}\r\n\r\n${text}`
  }
  const chunked = `POST /api/v1/traces ${head}Transfer-Encoding: chunked\r\n\r\n`
  const broken: [string, number, string][] = [
    ['not a request line', 400, 'nonsense\r\n\r\n'],
    ['headers over the limit', 431, `GET / HTTP/1.1\r\nLong: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['CONNECT', 400, 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n'],
    ['no chunk', 400, `${chunked}no chunk\r\n`],
    ['a chunk, and no other', 400, `${chunked}2\r\n{}\r\nno chunk\r\n`],
    ['an invalid chunk, and more', 400, `${chunked}no chunk\r\n${'x'.repeat(2_000_000)}`]
  ]
  const whole: [string, number[], () => string][] = [
    ['nothing', [], () => ''],
    ['a read', [200], () => get],
    ['a write', [201], record],
    ['several', [200, 201, 200], () => get + record() + get]
  ]
  const warnings: Error[] = []
  const warn = (warning: Error) => warnings.push(warning)
  process.on('warning', warn)
  t.teardown(() => process.off('warning', warn))
  await Promise.all(
    whole.flatMap(([first, before, sent]) =>
      broken.map(async ([title, status, text]) => {
        t.same(statuses(await sendRaw(port, sent() + text)), [...before, status], `${title} after ${first}`)
      })
    )
  )
  t.same(warnings, [], "Node's repeated warnings are logged once")
  t.match((await call('GET', '/metrics')).text, /^spoor_pending_writes 0$/m)
})

t.test('a request that breaks off while it waits behind another is not served', async t => {
  const { port, key, call } = await testService(t)
  const { trace } = startBody()
  await call('POST', '/api/v1/traces', { body: { schemaVersion: 1, trace } })
  const head = `/api/v1/traces/${trace.id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`
  const text = `GET ${head}\r\nDELETE ${head}Transfer-Encoding: chunked\r\n\r\nno chunk\r\n`
  t.same(statuses(await sendRaw(port, text)), [200, 400])
  t.equal((await call('GET', `/api/v1/traces/${trace.id}`)).status, 200)
})

t.test('a client that requests a tunnel and resets the connection does no harm', async t => {
  const { port, call } = await testService(t)
  await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      socket.write('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n')
      await delay(i)
      socket.resetAndDestroy()
    })
  )
  t.equal((await call('GET', '/healthz')).status, 200)
})

t.test('expectations', async t => {
  const { port, key } = await testService(t)
  const post = (more: string) =>
    sendRaw(
      port,
      `POST /api/v1/traces HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n${more}\r\n\r\n{}`
    )
  const asked = await post('Expect: 100-continue\r\nContent-Length: 2')
  t.match(asked, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 400 /, '100 Continue is sent before the body is read')
  const refused = await post('Expect: 100-continue\r\nContent-Length: 3000000')
  t.match(refused, /^HTTP\/1\.1 413 /, 'no 100 Continue is sent for a body that is too large')
  t.match(await post('Expect: something\r\nContent-Length: 2'), /^HTTP\/1\.1 400 /, 'other expectations are ignored')
})

t.test('addresses in responses are under BASE_URL, or under the requested Host', async t => {
  const { port, call } = await testService(t)
  const docs = async (host: string) => {
    const text = await sendRaw(port, `GET /api/v1 HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    return JSON.parse(parseRaw(text).body).docs
  }
  t.equal((await call('GET', '/api/v1')).body.docs, `http://127.0.0.1:${port}/docs`)
  t.equal(await docs('spoor.example:80'), 'http://spoor.example:80/docs')
  t.equal(await docs('[::1]:80'), 'http://[::1]:80/docs')
  t.equal(await docs('x"><script>'), `http://127.0.0.1:${port}/docs`)
  const behind = await testService(t, { config: { baseUrl: 'https://spoor.example/traces' } })
  t.equal((await behind.call('GET', '/api/v1')).body.mcp, 'https://spoor.example/traces/api/mcp')
})

t.test('a handler learns that its client has disconnected', async t => {
  let started = () => {}
  const running = new Promise<void>(resolve => {
    started = resolve
  })
  let gone: Promise<unknown> = Promise.resolve()
  const { port } = await testService(t, {
    plugins: [
      publicRoute('/slow', async ({ signal }) => {
        gone = once(signal, 'abort')
        started()
        await gone
        return {}
      })
    ]
  })
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n')
  await running
  socket.destroy()
  await t.resolves(gone)
})

t.test('pipelined requests on one connection are served one after the other', async t => {
  let underWay = 0
  let most = 0
  const { port, key } = await testService(t, {
    plugins: [
      publicRoute('/slow', async () => {
        most = Math.max(most, ++underWay)
        await delay(5)
        underWay--
        return {}
      })
    ]
  })
  await sendRaw(port, `${'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(4)}GET / HTTP/1.1\r\nConnection: close\r\n\r\n`)
  t.equal(most, 1)

  const { trace } = startBody()
  const head = `HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`
  const post = (path: string, body: object) => {
    const text = JSON.stringify(body)
    return `POST /api/v1/traces${path} ${head}Content-Length: ${text.length}\r\n\r\n${text}`
  }
  const text = await sendRaw(
    port,
    post('', { schemaVersion: 1, trace }) +
      post(`/${trace.id}/spans`, spansBody(span())) +
      post(`/${trace.id}/end`, endBody()) +
      `GET /api/v1/traces/${trace.id} ${head}Connection: close\r\n\r\n`
  )
  t.same(statuses(text), [201, 200, 200, 200], 'the data of an earlier request is visible to later ones')
  t.match(text, '"spanCount":1')
})

t.test('a server that stops lets a slow client receive its whole response', async t => {
  const bytes = 24 * 1024 * 1024
  const { port, close } = await testService(t, {
    plugins: [publicRoute('/long', () => ({ body: new Content('application/octet-stream', Buffer.alloc(bytes)) }))]
  })
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  t.teardown(() => socket.destroy())
  socket.write('GET /long HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(socket, 'readable')
  const closed = close()
  let taken = 0
  socket.on('data', chunk => {
    taken += chunk.length
    // The client pauses now and then, in total for longer than the server waits for a request to start.
    if (taken % 4_000_000 >= chunk.length) return
    socket.pause()
    setTimeout(() => socket.resume(), 100)
  })
  await once(socket, 'close')
  t.ok(taken > bytes, `${taken} bytes`)
  await closed
})

t.test('X-Forwarded-For from an untrusted peer is reported once', async t => {
  const warnings = async (trustProxy: string[]) => {
    const said: string[] = []
    const log = createLog('warn', { write: line => void said.push(line) })
    const { call } = await testService(t, { log, config: { trustProxy } })
    await call('GET', '/healthz', { key: null })
    for (let i = 0; i < 3; i++) {
      await call('GET', '/healthz', { key: null, headers: { 'x-forwarded-for': i === 1 ? 'unknown' : '192.0.2.9' } })
    }
    return said.filter(line => line.includes('X-Forwarded-For')).map(line => JSON.parse(line).peer)
  }
  t.same(await warnings([]), ['127.0.0.1'])
  t.same(await warnings(['10.0.0.0/8']), ['127.0.0.1'], 'another proxy is trusted')
  t.same(await warnings(['127.0.0.0/8']), [])
})
