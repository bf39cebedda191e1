import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import { ingestBody } from '../fixtures/bodies.ts'
import { testDatabase } from '../fixtures/database.ts'
import { parseRaw, sendRaw } from '../fixtures/raw.ts'
import { testService } from '../fixtures/service.ts'
import { configurationFor, serve } from '../fixtures/spoor.ts'
import { figure, isLong } from '../fixtures/torture.ts'

const CLIENTS = isLong ? 400 : 64
const SECONDS = isLong ? 60 : 2
const IDLE = isLong ? 5000 : 300
const WRONG_KEYS = isLong ? 100_000 : 2000
const MIB = 1024 * 1024
/** Within this a health route answers whatever else goes on. */
const QUICK_MS = 1000

async function start(t: Test) {
  const database = await testDatabase(t)
  const { address, key, serving } = await serve(t, configurationFor(database))
  const port = Number(new URL(address).port)
  const health = async () => {
    const asked = performance.now()
    const { statusCode, body } = await request(`${address}/healthz`)
    await body.dump()
    t.equal(statusCode, 200)
    return performance.now() - asked
  }
  /** What the server's own metrics say. */
  const metric = async (name: string) => {
    const { body } = await request(`${address}/metrics`)
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await body.text())?.[1])
  }
  const memory = async () => (await metric('process_resident_memory_bytes')) / MIB
  const authorization = `Bearer ${key}`
  return { database, address, port, authorization, health, metric, memory, serving }
}

t.test('more load than can be served: 201 or 429, bounded memory, quick health', async t => {
  const { address, authorization, health, memory, metric } = await start(t)
  const dispatcher = new Agent({ connections: CLIENTS, pipelining: 1 })
  t.teardown(() => dispatcher.destroy())
  const statuses = new Map<number, number>()
  const latencies: number[] = []
  const end = performance.now() + SECONDS * 1000
  const record = async () => {
    const body = JSON.stringify(ingestBody({ input: 'x'.repeat(100_000) }))
    const asked = performance.now()
    const answer = await request(`${address}/api/v1/traces`, {
      method: 'POST',
      headers: { authorization },
      body,
      dispatcher
    })
    await answer.body.dump()
    latencies.push(performance.now() - asked)
    statuses.set(answer.statusCode, (statuses.get(answer.statusCode) ?? 0) + 1)
  }
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (performance.now() < end) await record()
  })
  let slowest = 0
  let most = 0
  while (performance.now() < end) {
    slowest = Math.max(slowest, await health())
    most = Math.max(most, await memory())
    await delay(100)
  }
  await Promise.all(clients)
  latencies.sort((one, other) => one - other)
  figure('requests by status', JSON.stringify(Object.fromEntries(statuses)))
  figure('their p99, ms', Math.round(latencies[Math.floor(latencies.length * 0.99)] ?? 0))
  figure('slowest health answer meanwhile, ms', Math.round(slowest))
  figure('most memory, MiB', Math.round(most))
  t.same(
    [...statuses.keys()].filter(status => status !== 201 && status !== 429),
    []
  )
  t.ok(slowest < QUICK_MS, `${slowest} ms`)
  t.ok(most < 1024, `${most} MiB`)
  t.equal(await metric('spoor_pending_writes'), 0)
  t.equal(await metric('spoor_pending_write_bytes'), 0)
})

t.test('idle and slow clients take nothing from the others', async t => {
  const { port, authorization, health, memory } = await start(t)
  const before = await memory()
  const sockets: Socket[] = []
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  const open = async (text: string) => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    sockets.push(socket)
    await once(socket, 'connect')
    socket.write(text)
  }
  for (let i = 0; i < IDLE; i++) await open('')
  const head = `POST /api/v1/traces HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n`
  for (let i = 0; i < IDLE / 10; i++) {
    await open('GET /healthz HTTP/1.1\r\nHos')
    await open(`${head}Content-Length: 2000000\r\n\r\n{"x":`)
    await open(`${head}Transfer-Encoding: chunked\r\n\r\n5\r\n{"x":\r\n`)
  }
  const slowest = await health()
  const grown = (await memory()) - before
  figure(`health beside ${sockets.length} idle and slow connections, ms`, Math.round(slowest))
  figure('memory that they take, MiB', Math.round(grown))
  t.ok(slowest < QUICK_MS, `${slowest} ms`)
  t.ok(grown < 32 + (sockets.length * 64) / 1024, `${grown} MiB`)
})

t.test('a body that there is no room for is refused before it is read', async t => {
  const { call, key, port, app } = await testService(t)
  const full = Array.from({ length: 4096 }, () => app.ingest.admit(0))
  const head = `POST /api/v1/traces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`
  for (const announced of [
    'Content-Length: 2000000\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Content-Length: 2000000\r\nExpect: 100-continue\r\n'
  ]) {
    // Of the body nothing is ever sent, so that an answer is one that did not wait for it.
    const socket = connect(port, '127.0.0.1', () => socket.write(`${head}${announced}\r\n`))
    const [answer] = await once(socket.setEncoding('latin1'), 'data')
    socket.destroy()
    t.match(answer, /^HTTP\/1\.1 429 [\s\S]*\r\nRetry-After: \d+\r\n/, announced)
  }
  t.equal((await call('GET', '/readyz', { key: null })).status, 503, 'and /readyz says so')
  for (const room of full) room.release()
  t.equal((await call('POST', '/api/v1/traces', { body: ingestBody() })).status, 201)
})

t.test('headers beyond the limit are 431 in the form of every error', async t => {
  const { port } = await start(t)
  const answer = parseRaw(await sendRaw(port, `GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`))
  t.equal(answer.status, 431)
  t.match(JSON.parse(answer.body).error, { code: 'invalid_request', requestId: answer.headers['x-request-id'] })
})

t.test('requests in one go on one connection are answered in order', async t => {
  const { port } = await start(t)
  const count = 1000
  const socket = connect(port, '127.0.0.1')
  const one = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`
  socket.end(one('/healthz').repeat(count - 1) + one('/nowhere', 'Connection: close\r\n'))
  let text = ''
  for await (const chunk of socket) text += chunk
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(match => match[1])
  t.equal(statuses.length, count)
  t.equal(statuses.at(-1), '404')
  t.ok(statuses.slice(0, -1).every(status => status === '200'))
})

t.test('wrong keys leave nothing behind, and cost the database little', async t => {
  const { address, memory, database, health } = await start(t)
  const { pool } = database
  const transactions = async () =>
    pool.run(async sql => {
      const [row] = await sql`
        select pg_stat_clear_snapshot(), xact_commit::int as n from pg_stat_database
        where datname = current_database()`
      return row?.n
    })
  const dispatcher = new Agent({ connections: 64, pipelining: 1 })
  t.teardown(() => dispatcher.destroy())
  let sent = 0
  const statuses = new Set<number>()
  const flood = async (most: number) => {
    const clients = Array.from({ length: 64 }, async () => {
      while (sent < most) {
        const token = `spoor_live_${String(sent++).padStart(16, '0')}_${'x'.repeat(43)}`
        const headers = { authorization: `Bearer ${token}` }
        const { statusCode, body } = await request(`${address}/api/v1/key`, { headers, dispatcher })
        await body.dump()
        statuses.add(statusCode)
      }
    })
    await Promise.all(clients)
  }
  await flood(WRONG_KEYS / 10)
  const [before, asked] = [await memory(), await transactions()]
  await flood(WRONG_KEYS)
  const [grown, made] = [(await memory()) - before, (await transactions()) - asked]
  figure('wrong keys', WRONG_KEYS)
  figure('memory that they leave taken, MiB', Math.round(grown))
  figure('transactions of the database for each', (made / (WRONG_KEYS * 0.9)).toFixed(3))
  t.same([...statuses], [401])
  t.ok(grown < 64, `${grown} MiB`)
  t.ok(made < WRONG_KEYS / 2, `${made} transactions`)
  t.ok((await health()) < QUICK_MS)
})
