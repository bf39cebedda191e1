/** Measures one project's requests while another project reads as much, or sends as slowly, as possible. */
import { connect } from 'node:net'
import { request } from 'undici'
import { ingestBody, span, spansBody, startBody } from '../../fixtures/bodies/bodies.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { configurationFor, jsonHere, serve } from '../../fixtures/service/spoor.ts'
import { figure, longTest } from '../orders.ts'

const READERS = 24
const SECONDS = 10
/** Number of appends, spans per append and bytes per span. Together they make a trace of 8 MB. */
const APPENDS = 5
const SPANS = 36
const SPAN_BYTES = 45_000
/** Pause between two small reads. */
const PAUSE_MS = 20
/** Time limit for the small list: this multiple of the time on an idle server, or this time, whichever is longer. */
const MOST_TIMES = 5
const MOST_MS = 25

interface Asked {
  readonly status: number
  readonly ms: number
}

longTest("whatever one project reads, another project's short lists are answered quickly", async t => {
  const database = await testDatabase(t)
  const env = configurationFor(database)
  const { address, key } = await serve(t, env)
  const other = await jsonHere(['project', 'create', 'other', '--slug', 'other'], env)
  const { key: otherKey } = await jsonHere(['key', 'create', '--project', other.slug], env)

  /** Sends a request, and reads the whole response. */
  async function ask(key: string, method: 'GET' | 'POST', path: string, body?: object): Promise<Asked> {
    const began = performance.now()
    const headers = {
      authorization: `Bearer ${key}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json'
    }
    const answer = await request(address + path, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body)
    })
    for await (const _ of answer.body);
    return { status: answer.statusCode, ms: performance.now() - began }
  }

  /** Sends a request. Throws unless the request is accepted. */
  async function send(key: string, path: string, body: object): Promise<void> {
    const { status } = await ask(key, 'POST', path, body)
    if (status > 201) throw new Error(`POST ${path}: ${status}`)
  }

  async function recordBig(): Promise<string> {
    const body = startBody({ name: 'big' })
    const { id } = body.trace
    await send(key!, '/api/v1/traces', body)
    for (let i = 0; i < APPENDS; i++) {
      const spans = Array.from({ length: SPANS }, (_, n) => ({
        ...span(),
        input: `${n} lorem `.repeat(SPAN_BYTES / 8)
      }))
      await send(key!, `/api/v1/traces/${id}/spans`, spansBody(...spans))
    }
    return id
  }

  const big = await recordBig()
  for (let i = 0; i < 5; i++) await send(otherKey, '/api/v1/traces', ingestBody())

  /** Returns the main thread's longest delay since the previous call, in ms. */
  async function heldMs(): Promise<number> {
    const { body } = await request(`${address}/metrics`)
    return 1000 * Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(await body.text())?.[1])
  }

  /** Returns the median time of a small list of the other project, in ms. */
  async function smallList(): Promise<number> {
    const seen: number[] = []
    for (const end = performance.now() + SECONDS * 1000; performance.now() < end; ) {
      const { status, ms } = await ask(otherKey, 'GET', '/api/v1/traces?limit=5')
      t.equal(status, 200)
      seen.push(ms)
      await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
    }
    return seen.sort((a, b) => a - b)[seen.length >> 1]!
  }

  const call = (detail: string) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'get_trace', arguments: { traceId: big, detail } }
  })
  const WAYS: Readonly<Record<string, () => Promise<Asked>>> = {
    'GET of the detail': () => ask(key!, 'GET', `/api/v1/traces/${big}`),
    'get_trace, full': () => ask(key!, 'POST', '/api/mcp', call('full')),
    'get_trace, outline': () => ask(key!, 'POST', '/api/mcp', call('outline'))
  }

  await smallList()
  const quiet = await smallList()
  figure('small list on an idle server, p50 in ms', quiet.toFixed(1))
  for (const [way, read] of Object.entries(WAYS)) {
    // The first call of a tool loads the protocol's code.
    await read()
    let isOn = true
    const statuses = new Set<number>()
    const readers = Array.from({ length: READERS }, async () => {
      while (isOn) statuses.add((await read()).status)
    })
    await heldMs()
    const beside = await smallList()
    const held = await heldMs()
    isOn = false
    await Promise.all(readers)
    t.same([...statuses], [200], `${way}: ${READERS} connections are not too many`)
    figure(`small list beside ${READERS} × ${way}, p50 in ms`, beside.toFixed(1))
    figure(`longest delay of the main thread beside ${READERS} × ${way}, ms`, held.toFixed(1))
    t.ok(beside <= Math.max(MOST_TIMES * quiet, MOST_MS), `${way}: ${beside} ms under load, ${quiet} ms without`)
  }
})

/**
 * Bytes of a large export that is sent at once, and maximum number of slow bodies that one project can have in flight
 * at the same time.
 */
const LARGE = 9_000_000
const SLOW = 20
/** An exporter gives up after this time. */
const EXPORTER_MS = 10_000

longTest("however slowly one project sends, another project's large exports are accepted", async t => {
  const database = await testDatabase(t)
  const env = configurationFor(database)
  const { address, key } = await serve(t, env)
  const other = await jsonHere(['project', 'create', 'other', '--slug', 'other'], env)
  const { key: otherKey } = await jsonHere(['key', 'create', '--project', other.slug], env)
  const path = '/api/v1/otlp/v1/traces'
  for (let i = 0; i < SLOW; i++) {
    const socket = connect(Number(new URL(address).port), '127.0.0.1').on('error', () => {})
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${20_000_000}\r\n\r\n{`
    )
    const trickle = setInterval(() => socket.write(' '), 1000)
    socket.on('close', () => clearInterval(trickle))
    t.teardown(() => socket.destroy())
  }
  const body = Buffer.from(`{"resourceSpans":[]${' '.repeat(LARGE)}}`)
  for (let i = 0; i < 10; i++) {
    const began = performance.now()
    const headers = { authorization: `Bearer ${otherKey}`, 'content-type': 'application/json' }
    const answer = await request(address + path, { method: 'POST', headers, body })
    await answer.body.dump()
    const ms = performance.now() - began
    t.equal(answer.statusCode, 200, 'a client that sends everything at once is never rejected because others are slow')
    figure('large export during slow ones of another project, ms', Math.round(ms))
    t.ok(ms < EXPORTER_MS, `${ms} ms`)
  }
})
