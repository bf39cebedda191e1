import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import t from 'tap'
import type { App } from '../../../../lib/app.ts'
import { ClientGone, receiveBody } from '../../../../lib/http/body/body.ts'
import { BodyReservation } from '../../../../lib/http/body/body-reservation.ts'
import { LargeMemory, largeBodies } from '../../../../lib/http/body/large-memory.ts'
import { Admission } from '../../../../lib/limits/admission.ts'
import { ARRIVAL } from '../../../../lib/limits/arrival.ts'
import { LARGE_BODY_BYTES } from '../../../../lib/schema/input.ts'
import { parseRaw, sendRaw } from '../../../fixtures/service/raw.ts'
import { testService } from '../../../fixtures/service/service.ts'

const LIMIT = 2_097_152

/**
 * Routes that return the size and digest of a body: a route of the write path, and a route whose bodies do not wait in
 * the write path's queue.
 */
const PATHS = { '/payload': 'traces:write', '/message': 'key' } as const

function echo(app: App) {
  for (const [path, access] of Object.entries(PATHS)) {
    app.route({
      method: 'POST',
      path,
      access,
      summary: '',
      takesBody: true,
      replies: {},
      handler: ({ payload }) => ({ body: { bytes: payload.length, sha1: sha1(payload) } })
    })
  }
}

function echoLarge(app: App) {
  app.route({
    method: 'POST',
    path: '/large',
    access: 'traces:write',
    summary: '',
    takesBody: true,
    maxBodyBytes: 2 * LARGE_BODY_BYTES,
    replies: {},
    handler: ({ payload }) => ({ body: { bytes: payload.length, sha1: sha1(payload) } })
  })
}

const sha1 = (bytes: Uint8Array | string) => createHash('sha1').update(bytes).digest('hex')
const padded = (length: number) => Buffer.from(`{"x":"${'y'.repeat(length - 8)}"}`)

t.test('assembles chunks of any size', async t => {
  const { key, port } = await testService(t, { plugins: [echo] })
  const body = Buffer.from(Array.from({ length: 60_000 }, (_, i) => String.fromCharCode(33 + (i % 90))).join(''))
  for (const sizes of [[1], [1, 5000], [5000, 1], [1023, 1024, 1025], [20_000], [7, 16_384, 3, 3]]) {
    const parts: string[] = []
    for (let at = 0, i = 0; at < body.length; at += sizes[i++ % sizes.length]!) {
      const part = body.toString('latin1', at, at + sizes[i % sizes.length]!)
      parts.push(`${part.length.toString(16)}\r\n${part}\r\n`)
    }
    const head = `POST /payload HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n`
    const answer = parseRaw(await sendRaw(port, `${head}Transfer-Encoding: chunked\r\n\r\n${parts.join('')}0\r\n\r\n`))
    t.same(JSON.parse(answer.body), { bytes: body.length, sha1: sha1(body) }, sizes.join())
  }
})

t.test('large bodies arrive as they were sent, with any coding', async t => {
  const { call, key, port } = await testService(t, { plugins: [echoLarge] })
  const line = Array.from({ length: 9000 }, (_, i) => i.toString(36)).join(' ')
  const body = Buffer.from(line.repeat(Math.ceil((LARGE_BODY_BYTES + 1) / line.length)))
  const known = { bytes: body.length, sha1: sha1(body) }
  const codings: [coding: string, bytes: Buffer][] = [
    ['identity', body],
    ['gzip', gzipSync(body, { level: 1 })],
    ['deflate', deflateSync(body, { level: 1 })],
    ['deflate', deflateRawSync(body, { level: 1 })],
    ['br', brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })]
  ]
  for (const [coding, bytes] of codings) {
    const answer = await call('POST', '/large', { body: bytes, headers: { 'content-encoding': coding } })
    t.match(answer, { status: 200, body: known }, coding)
  }
  const head = `POST /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n`
  const chunk = `${body.length.toString(16)}\r\n${body.toString('latin1')}\r\n0\r\n\r\n`
  const answer = parseRaw(await sendRaw(port, `${head}Transfer-Encoding: chunked\r\n\r\n${chunk}`))
  t.same(JSON.parse(answer.body), known, 'in chunks')
  const broken = gzipSync(body, { level: 1 }).subarray(0, -9)
  t.equal((await call('POST', '/large', { body: broken, headers: { 'content-encoding': 'gzip' } })).status, 400)
})

t.test('an aborted body is not waited for', async t => {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{')
  const [request] = (await once(server, 'request')) as [IncomingMessage]
  request.on('error', () => {})
  socket.destroy()
  await new Promise(resolve => request.once('close', resolve))
  const slot = largeBodies(1000).of(undefined)
  const expected = { length: 9, party: undefined, slot }
  const arrival = new BodyReservation(new Admission({ requests: 1e3, bytes: 1e6 }), expected, ARRIVAL)
  t.teardown(() => arrival.release())
  const bounds = { large: slot, memory: new LargeMemory().lease(), limit: LIMIT, party: undefined }
  const outcome = receiveBody(request, undefined, arrival, bounds).catch(error => error)
  t.type(await Promise.race([outcome, turn().then(() => turn('nothing'))]), ClientGone)
})

t.test('decodes gzip, deflate and br', async t => {
  const { call } = await testService(t, { plugins: [echo] })
  const text = JSON.stringify({ list: Array(500).fill('value \u{1f600}') })
  const encoded: [string, Uint8Array | string][] = [
    ['identity', text],
    ['', text],
    ['gzip', gzipSync(text)],
    ['GZip', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['X-GZIP', gzipSync(text)],
    ['identity, gzip', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['deflate', deflateRawSync(text)],
    ['br', brotliCompressSync(text)]
  ]
  for (const [name, body] of encoded) {
    const answer = await call('POST', '/payload', { body, headers: { 'content-encoding': name } })
    t.same(answer.body, { bytes: Buffer.byteLength(text), sha1: sha1(text) }, name)
  }
})

t.test('rejects other codings, and corrupt encoded bodies', async t => {
  const { call } = await testService(t, { plugins: [echo] })
  const whole = gzipSync(padded(5000))
  const refused: [string, number, string, Uint8Array][] = [
    ['compress', 415, 'unsupported_encoding', whole],
    ['zstd', 415, 'unsupported_encoding', whole],
    ['gzip, gzip', 415, 'unsupported_encoding', whole],
    ['toString', 415, 'unsupported_encoding', whole],
    ['gzip', 400, 'invalid_json', padded(100)],
    ['gzip', 400, 'invalid_json', whole.subarray(0, -10)],
    ['gzip', 400, 'invalid_json', new Uint8Array()],
    ['deflate', 400, 'invalid_json', whole],
    ['br', 400, 'invalid_json', whole]
  ]
  for (const path of Object.keys(PATHS)) {
    for (const [name, status, code, body] of refused) {
      const answer = await call('POST', path, { body, headers: { 'content-encoding': name } })
      t.equal(answer.status, status, `${name} ${body.length}`)
      t.equal(answer.body.error.code, code)
    }
  }
})

t.test('accepts 2097152 decoded bytes, but not one more', async t => {
  const { call, port, key } = await testService(t, { plugins: [echo] })
  const inChunks = (path: string, body: Uint8Array) => {
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n`
    const start = `${head}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n`
    return sendRaw(port, Buffer.concat([Buffer.from(start), body, Buffer.from('\r\n0\r\n\r\n')]))
  }
  for (const path of Object.keys(PATHS)) {
    for (const [bytes, status] of [
      [LIMIT, 200],
      [LIMIT + 1, 413]
    ] as const) {
      const body = padded(bytes)
      t.equal((await call('POST', path, { body })).status, status, `${path} ${bytes} declared`)
      t.equal(parseRaw(await inChunks(path, body)).status, status, `${path} ${bytes} in chunks`)
      const encoded: [string, Uint8Array][] = [
        ['gzip', gzipSync(body)],
        ['deflate', deflateSync(body)],
        ['br', brotliCompressSync(body)]
      ]
      for (const [name, body] of encoded) {
        const answer = await call('POST', path, { body, headers: { 'content-encoding': name } })
        t.equal(answer.status, status, `${path} ${bytes} ${name}`)
        if (status === 413) t.equal(answer.body.error.code, 'payload_too_large')
      }
    }
  }
})

t.test('stops at the limit, however much the decoder would produce', async t => {
  const { call } = await testService(t, { plugins: [echo] })
  const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024), { level: 1 })
  const before = process.memoryUsage().arrayBuffers
  const answer = await call('POST', '/payload', { body: bomb, headers: { 'content-encoding': 'gzip' } })
  t.equal(answer.status, 413)
  t.ok(process.memoryUsage().arrayBuffers - before < 50 * 1024 * 1024)
})

t.test('rejects a declared length before the body arrives, and closes the connection', async t => {
  const { port, key } = await testService(t, { plugins: [echo] })
  const socket = connect(port, '127.0.0.1')
  socket.write(
    `POST /payload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${LIMIT + 1}\r\n\r\n`
  )
  const [first] = await socket.take(1).toArray()
  const answer = parseRaw(String(first))
  t.equal(answer.status, 413)
  t.equal(answer.headers.connection, 'close')
})

t.test('keeps a connection after a small body was rejected unread', async t => {
  const { port, key } = await testService(t, { plugins: [echo] })
  const refused = 'POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello'
  const next = `GET /api/v1/key HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`
  t.match(await sendRaw(port, refused + next), /^HTTP\/1\.1 404 [\s\S]*HTTP\/1\.1 200 /)
})
