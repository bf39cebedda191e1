import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import t, { type Test } from 'tap'
import { SHAPES } from '../bodies/bodies.ts'
import { type AcceptedTraces, type LoadPlan, type LoadReport, startSender } from './load.ts'

interface Seen {
  readonly method: string
  readonly path: string
  readonly traceId: string | undefined
}

const SOME_MS = 300

/** Starts a server that keeps the requests, and rejects every tenth request if `refusesSome` is true. */
async function startReceiver(t: Test, { refusesSome = false } = {}) {
  const seen: Seen[] = []
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    const body = (await request.setEncoding('utf8').toArray()).join('')
    bodies.push(body)
    seen.push({ method: request.method!, path: request.url!, traceId: JSON.parse(body).trace?.id })
    response.statusCode = refusesSome && seen.length % 10 === 0 ? 429 : 201
    // The response arrives in two pieces, as it can over a network.
    response.setHeader('Content-Length', '10').flushHeaders()
    response.write('{"ok":')
    setImmediate(() => response.end('true'))
  })
  return { seen, bodies, port: await listen(t, server) }
}

async function listen(t: Test, server: Pick<Server, 'listen' | 'close' | 'address' | 'once'>): Promise<number> {
  server.listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server as Server, 'listening')
  return (server.address() as AddressInfo).port
}

function send(t: Test, plan: Partial<LoadPlan>): Promise<LoadReport & AcceptedTraces> {
  const sender = startSender()
  t.teardown(() => sender.stop())
  const usual = { port: 0, key: 'the key', kind: 'small', connections: 4, firstNumber: 1, warmUpMs: 0 } as const
  return sender.run({ ...usual, measureMs: SOME_MS, ...plan })
}

t.test('every trace is sent once, and all are different', async t => {
  const { seen, bodies, port } = await startReceiver(t)
  const report = await send(t, { port })
  t.equal(new Set(seen.map(({ traceId }) => traceId)).size, seen.length)
  t.ok(bodies.every(body => Buffer.byteLength(body) === SHAPES.small.bytes))
  // The last request of each connection may be answered after the report is made.
  t.ok(report.traces <= seen.length && report.traces >= seen.length - 4, `${report.traces} of ${seen.length}`)
  t.equal(report.requests, report.traces)
  t.equal(report.bodyBytes, report.traces * SHAPES.small.bytes)
  t.strictSame(report.statuses, { 201: report.requests })
  t.ok(report.p50 > 0 && report.p50 <= report.p99 && report.p99 <= report.max)
})

t.test('the requested share of traces is resent unchanged', async t => {
  const { seen, port } = await startReceiver(t)
  await send(t, { port, resends: 0.25 })
  const share = 1 - new Set(seen.map(({ traceId }) => traceId)).size / seen.length
  t.ok(Math.abs(share - 0.25) <= 4 / seen.length, `${share} of ${seen.length}`)
})

t.test('a rejected trace is counted only by its status', async t => {
  const { port } = await startReceiver(t, { refusesSome: true })
  const { statuses, traces, requests } = await send(t, { port })
  t.ok(statuses[429]! > 0)
  t.equal(traces, statuses[201])
  t.equal(requests, statuses[201]! + statuses[429]!)
})

t.test('a partly accepted export is counted as partial, and its trace is not counted', async t => {
  let requests = 0
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      // An empty partial success has two bytes.
      const body = ++requests % 10 === 0 ? 'rejects some' : requests % 2 === 0 ? 'ok' : ''
      response.setHeader('Content-Length', body.length).end(body)
    })
  })
  const port = await listen(t, server)
  const report = await send(t, { port, kind: 'otlp-protobuf', keep: 5 })
  t.ok(report.partial > 0)
  t.equal(report.traces, report.requests - report.partial)
  t.equal(new Set(report.last.map(({ id }) => id)).size, 5)
  for (const { id, spans } of report.last) t.match([id, spans], [/^[0-9a-f]{32}$/, 8])
})

t.test('a streamed trace is six requests for one trace, in order', async t => {
  const { seen, port } = await startReceiver(t)
  const report = await send(t, { port, kind: 'streaming', connections: 1 })
  const started = seen.filter(({ traceId }) => traceId !== undefined)
  const expected = started.flatMap(({ traceId }) => {
    const trace = `/api/v1/traces/${traceId}`
    return ['/api/v1/traces', ...Array<string>(4).fill(`${trace}/spans`), `${trace}/end`].map(path => `POST ${path}`)
  })
  t.strictSame(
    seen.map(({ method, path }) => `${method} ${path}`),
    expected
  )
  t.ok(report.traces === started.length || report.traces === started.length - 1)
})

t.test('at a fixed rate, no more is sent than requested', async t => {
  const { seen, port } = await startReceiver(t)
  const began = Date.now()
  await send(t, { port, rate: 100 })
  const seconds = (Date.now() - began) / 1_000
  t.ok(seen.length > 0 && seen.length <= seconds * 100 + 1, `${seen.length} requests in ${seconds} s`)
})

t.test('a connection that the server closes ends the load', async t => {
  const server = createTcpServer(socket => socket.once('data', () => socket.destroy()))
  const port = await listen(t, server as unknown as Server)
  await t.rejects(send(t, { port }), /closed|ECONNRESET|EPIPE/)
})
