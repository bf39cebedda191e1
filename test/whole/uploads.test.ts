/** A project's uploads, however slow, do not block the uploads of another project. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { App } from '../../lib/app.ts'
import { MAX_EXPORT_BYTES } from '../../lib/schema/otlp.ts'
import { ingestBody } from '../fixtures/bodies/bodies.ts'
import { grpcClient, grpcSession, TRACES } from '../fixtures/service/grpc.ts'
import { parseRaw, sendRaw } from '../fixtures/service/raw.ts'
import { type TestServiceOptions, testService } from '../fixtures/service/service.ts'
import { until } from '../fixtures/until.ts'
import { isLong } from '../torture/orders.ts'

const MIB = 1024 * 1024
const OTLP = '/api/v1/otlp/v1/traces'
const HELD = '/held'
/** An upload is slow if no byte arrives for this long. */
const QUICK = { periodMs: 100 }

/** Starts a service with several projects and their keys, and a route that holds bodies until it may respond. */
async function setUp(t: Test, options: TestServiceOptions = {}) {
  let answer = () => {}
  const told = new Promise<void>(resolve => {
    answer = resolve
  })
  let note = () => {}
  const arrived = new Promise<void>(resolve => {
    note = resolve
  })
  const hold = (app: App) =>
    app.route({
      method: 'POST',
      path: HELD,
      access: 'traces:write',
      summary: '',
      takesBody: true,
      maxBodyBytes: MAX_EXPORT_BYTES,
      replies: {},
      handler: async () => {
        note()
        await told
        return { body: {} }
      }
    })
  const service = await testService(t, { ...options, plugins: [hold] })
  const keys = [service.key]
  for (const slug of ['b', 'c', 'd', 'e']) {
    await service.makeProject(slug)
    keys.push((await service.makeKey({ project: slug })).key)
  }
  const [a, b, c, d, e] = keys as [string, string, string, string, string]
  const head = (key: string, path: string, more: string) =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n${more}\r\n\r\n`
  const open = (key: string, more: string, path = OTLP) => {
    const socket = connect(service.port, '127.0.0.1')
      .setEncoding('latin1')
      .on('error', () => {})
    t.teardown(() => socket.destroy())
    socket.write(head(key, path, more))
    return socket
  }
  /** Sends a whole body at once. */
  const send = async (key: string, body: Buffer, more: string, path = OTLP) =>
    parseRaw(
      await sendRaw(service.port, Buffer.concat([Buffer.from(head(key, path, `Connection: close\r\n${more}`)), body]))
    )
  /**
   * Sends a body that the service holds. The body is large only when decoded, and occupies as much capacity as the
   * largest body.
   */
  const sendHeld = (key: string) => send(key, PACKED, `${announce(PACKED.length)}\r\nContent-Encoding: gzip`, HELD)
  return { ...service, keys: { a, b, c, d, e }, open, send, sendHeld, arrived, answer: () => answer() }
}

const blank = (bytes: number) => Buffer.from(`{"resourceSpans":[]${' '.repeat(bytes - 20)}}`)
const PACKED = gzipSync(blank(9 * MIB), { level: 1 })
const announce = (bytes: number) => `Content-Length: ${bytes}`
const chunked = (bytes: Buffer) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n0\r\n\r\n')])
const answerOf = async (socket: Socket) => parseRaw(String((await once(socket, 'data'))[0]))

t.test('slow large bodies of one project leave memory to other projects', async t => {
  const { keys, open, send } = await setUp(t)
  for (let i = 0; i < 20; i++) open(keys.a, announce(20 * MIB)).write('{')
  const body = blank(9 * MIB)
  t.equal((await send(keys.b, body, announce(body.length))).status, 200)
  if (isLong) t.equal((await send(keys.b, chunked(body), 'Transfer-Encoding: chunked')).status, 200, 'in chunks')
  t.equal((await send(keys.b, PACKED, `${announce(PACKED.length)}\r\nContent-Encoding: gzip`)).status, 200, 'in gzip')
})

t.test('a slow body yields its slot to a waiting body, and can be resent; alone, it continues', async t => {
  const { keys, open, send } = await setUp(t, { arrival: QUICK })
  const slow = [keys.a, keys.c].map(key => open(key, announce(MAX_EXPORT_BYTES)))
  for (const socket of slow) socket.write('{')
  const honest = open(keys.d, announce(9 * MIB))
  const body = blank(9 * MIB)
  // The other upload has either lost its slot as well or still has it. Both are correct.
  const first = Promise.race(slow.map(answerOf))
  t.equal((await send(keys.b, body, announce(body.length))).status, 200)
  t.match(await first, { status: 429, headers: { 'retry-after': /^\d+$/ }, body: /quota_exhausted.*too slowly/ })
  for (const socket of slow) socket.destroy()
  for (let at = 0; at < body.length; at += 3 * MIB) {
    honest.write(body.subarray(at, at + 3 * MIB))
    await new Promise(resolve => setTimeout(resolve, 2.5 * QUICK.periodMs))
  }
  t.equal((await answerOf(honest)).status, 200, 'while nobody waits, a slow body can take its time')
})

t.test("a request's own time limit does not run while it waits for its turn", async t => {
  const arrival = { periodMs: 100, periodBytes: 1, slowMs: 500 }
  const { keys, open, send, sendHeld, arrived, answer } = await setUp(t, { arrival })
  const held = [sendHeld(keys.a)]
  await arrived
  held.push(sendHeld(keys.c))
  const body = blank(9 * MIB)
  const waiting = [send(keys.b, body, announce(body.length)), send(keys.b, chunked(body), 'Transfer-Encoding: chunked')]
  await new Promise(resolve => setTimeout(resolve, 2 * arrival.slowMs))
  answer()
  for (const each of [...waiting, ...held]) t.equal((await each).status, 200)
  const late = open(keys.a, announce(1000))
  t.match(await answerOf(late), { status: 408, body: /took too long/ }, 'a body that is being read and does not arrive')
  await once(late, 'close')
})

t.test('a request that waits too long is told to retry', async t => {
  const { keys, send, sendHeld, arrived, answer } = await setUp(t, { arrival: { waitMs: 200 } })
  const held = sendHeld(keys.a)
  await arrived
  const body = blank(9 * MIB)
  const ways: [name: string, bytes: Buffer, more: string][] = [
    ['announced', body, announce(body.length)],
    ['in chunks', chunked(body), 'Transfer-Encoding: chunked']
  ]
  for (const [name, bytes, more] of ways) {
    const { status, headers } = await send(keys.a, bytes, more)
    t.equal(status, 429, name)
    t.match(headers['retry-after'], /^\d+$/, name)
  }
  answer()
  t.equal((await held).status, 200)
})

t.test('memory that a project declares and does not use is not taken from others', async t => {
  const { keys, open, call } = await setUp(t)
  const paths = ['/api/v1/traces', OTLP, '/api/mcp']
  const refused: unknown[] = []
  for (const path of paths) {
    for (let i = 0; i < 100; i++) {
      const socket = open(keys.a, announce(2_000_000), path)
      socket.once('data', data => refused.push(data))
    }
  }
  await until(() => refused.length > 50)
  const large = ingestBody({ input: 'x'.repeat(700_000) })
  t.equal((await call('POST', paths[0]!, { key: keys.b, body: large })).status, 201)
  t.equal((await call('POST', OTLP, { key: keys.b, body: { resourceSpans: [] } })).status, 200)
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { padding: 'x'.repeat(60_000) } }
  const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
  t.equal((await call('POST', '/api/mcp', { key: keys.b, body: message, headers })).status, 200)
})

t.test('gRPC calls that send nothing do not block those of another project', async t => {
  const service = await setUp(t, { config: { grpcPort: 0 }, arrival: QUICK })
  const { keys } = service
  const port = service.grpcPort as number
  const session = grpcSession(t, port)
  const ended: Promise<unknown>[] = []
  const stall = (key: string, count: number) => {
    for (let i = 0; i < count; i++) {
      const headers = { ':method': 'POST', ':path': TRACES, 'content-type': 'application/grpc', te: 'trailers' }
      const stream = session.request({ ...headers, authorization: `Bearer ${key}` })
      stream.on('error', () => {}).write(Buffer.from([0, 0, 0, 1, 0]))
      ended.push(once(stream, 'response').then(([headers]) => headers['grpc-status']))
    }
  }
  const call = grpcClient(t, port)
  stall(keys.a, 40)
  await new Promise(resolve => session.ping(resolve))
  t.match(await call(TRACES, new Uint8Array(), `Bearer ${keys.b}`), { status: 'OK' }, 'others have slots')
  for (const key of [keys.c, keys.d, keys.e]) stall(key, 10)
  await new Promise(resolve => session.ping(resolve))
  t.match(
    await call(TRACES, new Uint8Array(), `Bearer ${keys.b}`),
    { status: 'OK' },
    'and those that block others are rejected'
  )
  t.equal(await Promise.race(ended), '8', 'RESOURCE_EXHAUSTED: exporters retry')
})
