import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import t from 'tap'
import { Agent, request } from 'undici'
import { ingestBody, span, traceId } from '../fixtures/bodies.ts'
import { testDatabase } from '../fixtures/database.ts'
import { parseRaw, sendRaw } from '../fixtures/raw.ts'
import { testService } from '../fixtures/service.ts'
import { configurationFor, serve } from '../fixtures/spoor.ts'
import { figure, isLong } from '../fixtures/torture.ts'
import { until } from '../fixtures/until.ts'

/** Together more bytes than there is room for. */
const CLIENTS = isLong ? 200 : 16
const BODY_BYTES = isLong ? 2_000_000 : 100_000
const SECONDS = isLong ? 60 : 1
const IDLE = isLong ? 5000 : 300
const WRONG_KEYS = isLong ? 100_000 : 2000
const MIB = 1024 * 1024
const READERS = isLong ? 400 : 20
/** How long a connection may take nothing of an answer. */
const UNREAD_MS = 20_000
/** How long a body may keep room for what has not come of it. */
const PATIENCE_MS = 5000
/** Within this a health route answers whatever else goes on. */
const QUICK_MS = 1000

async function start() {
  const database = await testDatabase(t)
  const { address, key } = await serve(t, configurationFor(database))
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
  return { database, address, port, authorization, health, metric, memory }
}

const { database, address, port, authorization, health, metric, memory } = await start()

/** The beginning of a request to record. */
const POST = `POST /api/v1/traces HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n`

/** Opens a connection and sends a text on it. */
async function open(text: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  await once(socket, 'connect')
  socket.write(text)
  return socket
}

function closeAll(sockets: readonly Socket[]): void {
  for (const socket of sockets) socket.destroy()
}

async function record(body: object = ingestBody()): Promise<number> {
  const { statusCode, body: answer } = await request(`${address}/api/v1/traces`, {
    method: 'POST',
    headers: { authorization },
    body: JSON.stringify(body)
  })
  await answer.dump()
  return statusCode
}

t.test('idle and slow clients take nothing from the others', async t => {
  const before = await memory()
  const sockets: Socket[] = []
  t.teardown(() => closeAll(sockets))
  for (let i = 0; i < IDLE; i++) sockets.push(await open(''))
  for (let i = 0; i < IDLE / 10; i++) {
    sockets.push(await open('GET /healthz HTTP/1.1\r\nHos'))
    sockets.push(await open(`${POST}Content-Length: 200000\r\n\r\n{"x":`))
    sockets.push(await open(`${POST}Transfer-Encoding: chunked\r\n\r\n5\r\n{"x":\r\n`))
  }
  const slowest = await health()
  const grown = (await memory()) - before
  figure(`health beside ${sockets.length} idle and slow connections, ms`, Math.round(slowest))
  figure('memory that they take, MiB', Math.round(grown))
  t.ok(slowest < QUICK_MS, `${slowest} ms`)
  t.ok(grown < 32 + (sockets.length * 64) / 1024, `${grown} MiB`)
  closeAll(sockets)
  await until(async () => (await metric('spoor_pending_writes')) === 0)
  t.equal(await metric('spoor_pending_write_bytes'), 0, 'whoever goes away in the middle of a body leaves nothing')
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
  const answer = parseRaw(await sendRaw(port, `GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`))
  t.equal(answer.status, 431)
  t.match(JSON.parse(answer.body).error, { code: 'invalid_request', requestId: answer.headers['x-request-id'] })
})

t.test('requests in one go on one connection are answered in order', async t => {
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

t.test('who announces much and sends nothing keeps the others out for a moment only', async t => {
  // Of seconds only: lib/room.ts is tested by itself.
  if (!isLong) return
  const sockets: Socket[] = []
  t.teardown(() => closeAll(sockets))
  const start = performance.now()
  for (let i = 0; i < 200; i++) sockets.push(await open(`${POST}Content-Length: 2000000\r\n\r\n`))
  await until(async () => (await record()) === 201)
  const took = performance.now() - start
  figure('200 who announce 2 MB and send nothing keep others out for, ms', Math.round(took))
  t.ok(took < 2 * PATIENCE_MS, `${took} ms`)
})

t.test('who asks for much and reads nothing takes a bounded room, for a while', async t => {
  const body = ingestBody({ spans: [600_000, 600_000, 600_000].map(length => span({ input: 'x'.repeat(length) })) })
  t.equal(await record(body), 201)
  const before = await memory()
  const sockets: Socket[] = []
  t.teardown(() => closeAll(sockets))
  let closed = 0
  const get = `GET /api/v1/traces/${body.trace.id} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`
  for (let i = 0; i < READERS; i++) {
    const socket = await open(get.repeat(4))
    socket.pause().on('close', () => closed++)
    sockets.push(socket)
  }
  const start = performance.now()
  await until(async () => (await metric('spoor_unread_bytes')) > MIB)
  let most = 0
  const isLeft = async () => closed < READERS && (await metric('spoor_unread_bytes')) > 0
  while (isLong && (await isLeft()) && performance.now() - start < 4 * UNREAD_MS) {
    most = Math.max(most, (await memory()) - before)
    await delay(200)
  }
  const unread = await metric('spoor_unread_bytes')
  figure(`${READERS} who ask for 7 MB and read nothing: most memory, MiB`, Math.round(most))
  figure('the last of them was let go after, ms', Math.round(performance.now() - start))
  t.ok((await health()) < QUICK_MS)
  if (isLong) t.equal(unread, 0, 'they were let go')
  t.ok(most < 512, `${most} MiB`)
  closeAll(sockets)
  await until(async () => (await metric('spoor_unread_bytes')) === 0)
})

t.test('bodies that never end, bombs and floods of headers are refused at once, and leave nothing', async t => {
  const endless = async () => {
    const socket = await open(`${POST}Transfer-Encoding: chunked\r\n\r\n`)
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
    const timer = setInterval(() => socket.writable && socket.write(chunk), 1)
    const [answer] = await once(socket.setEncoding('latin1'), 'data')
    clearInterval(timer)
    socket.destroy()
    return Number(answer.split(' ')[1])
  }
  const sendEncoded = (body: Uint8Array, encoding: string) => async () => {
    const headers = { authorization, 'content-encoding': encoding }
    const answer = await request(`${address}/api/v1/traces`, { method: 'POST', headers, body })
    await answer.body.dump()
    return answer.statusCode
  }
  const zeros = Buffer.alloc(100 * MIB)
  const bomb = gzipSync(zeros, { level: 1 })
  const brotli = brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })
  const headers = 'X: y\r\n'.repeat(20_000)
  const abuses: [name: string, send: () => Promise<number>, status: number][] = [
    ['a body that never ends', endless, 413],
    [`gzip of ${Math.round(zeros.length / bomb.length)} times its size`, sendEncoded(bomb, 'gzip'), 413],
    [`br of ${Math.round(zeros.length / brotli.length)} times its size`, sendEncoded(brotli, 'br'), 413],
    ['gzip of gzip', sendEncoded(gzipSync(bomb), 'gzip'), 400],
    ['gzip of gzip, and said so', sendEncoded(gzipSync(bomb), 'gzip, gzip'), 415],
    ['many headers', async () => parseRaw(await sendRaw(port, `${POST}${headers}\r\n`)).status, 431]
  ]
  const times = isLong ? 50 : 4
  const before = await memory()
  for (const [name, send, status] of abuses) {
    const [took, ...statuses] = await Promise.all([health(), ...Array.from({ length: times }, send)])
    t.same(new Set(statuses), new Set([status]), name)
    t.ok(took < QUICK_MS, `${name}: health after ${took} ms`)
  }
  const grown = (await memory()) - before
  figure(`memory that ${abuses.length * times} bombs and the like leave taken, MiB`, Math.round(grown))
  t.ok(grown < 128, `${grown} MiB`)
  t.equal(await metric('spoor_pending_write_bytes'), 0)
})

t.test('large bodies in one go on one connection are all answered, in order', async t => {
  const bodies = Array.from({ length: 20 }, () => JSON.stringify(ingestBody({ input: 'x'.repeat(40_000) })))
  const texts = bodies.map(body => `${POST}Content-Length: ${body.length}\r\n\r\n${body}`)
  const text = await sendRaw(port, `${texts.join('')}GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  const ids = [...text.matchAll(/"traceId":"(\w+)"/g)].map(match => match[1])
  t.same(
    ids,
    bodies.map(body => JSON.parse(body).trace.id)
  )
})

/** Sends one body after another for a while, each as large as may be, and waits as long as it is told to where it is refused. */
async function flood(until: number, dispatcher: Agent): Promise<Flood> {
  const answered: Flood = { stored: [], times: [], refused: [], others: [] }
  const text = JSON.stringify(ingestBody({ id: '*', input: 'x'.repeat(BODY_BYTES) }))
  const [start, end] = text.split('*').map(part => Buffer.from(part)) as [Buffer, Buffer]
  while (performance.now() < until) {
    const id = traceId()
    const headers = { authorization, 'content-length': String(text.length - 1 + id.length) }
    const body = Readable.from([start, Buffer.from(id), end])
    const asked = performance.now()
    const answer = await request(`${address}/api/v1/traces`, { method: 'POST', headers, body, dispatcher })
    const took = performance.now() - asked
    await answer.body.dump().catch(() => {})
    if (answer.statusCode === 201) {
      answered.stored.push(id)
      answered.times.push(took)
    } else if (answer.statusCode === 429) {
      answered.refused.push(took)
      await delay(Number(answer.headers['retry-after']) * 1000)
    } else answered.others.push(answer.statusCode)
  }
  return answered
}

interface Flood {
  readonly stored: string[]
  /** In ms: of what was stored, and of what was refused. */
  readonly times: number[]
  readonly refused: number[]
  readonly others: number[]
}

const at = (list: number[], part: number) =>
  Math.round(list.sort((one, other) => one - other)[Math.floor(list.length * part)] ?? 0)

/** The median time of a small write, in ms, where nothing else is going on. */
async function quietTime(): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < 50; i++) {
    const asked = performance.now()
    await record()
    times.push(performance.now() - asked)
  }
  return at(times, 0.5)
}

async function listIds(): Promise<Set<string>> {
  const ids = new Set<string>()
  let after: string | null = ''
  while (after !== null) {
    const path: string = `${address}/api/v1/traces?limit=200${after && `&after=${after}`}`
    const { body } = await request(path, { headers: { authorization } })
    const page = (await body.json()) as { traces: { id: string }[]; nextCursor: string | null }
    for (const { id } of page.traces) ids.add(id)
    after = page.nextCursor
  }
  return ids
}

t.test(
  'more load than can be served: 201 or 429, bounded memory, quick health, and afterwards all is as before',
  async t => {
    const [quiet, empty] = [await quietTime(), await memory()]
    const there = await listIds()
    const dispatcher = new Agent({ connections: CLIENTS, pipelining: 1, headersTimeout: 0 })
    t.teardown(() => dispatcher.destroy())
    const end = performance.now() + SECONDS * 1000
    const floods = Promise.all(Array.from({ length: CLIENTS }, () => flood(end, dispatcher)))
    let slowest = 0
    let most = 0
    while (performance.now() < end) {
      slowest = Math.max(slowest, await health())
      most = Math.max(most, await memory())
      await delay(250)
    }
    const all = await floods
    const stored = all.flatMap(each => each.stored)
    const times = all.flatMap(each => each.times)
    const refused = all.flatMap(each => each.refused)
    figure(`bodies of ${BODY_BYTES} bytes stored, and refused with 429`, `${stored.length}, ${refused.length}`)
    figure('p50 and p99 of what was stored, ms', `${at(times, 0.5)}, ${at(times, 0.99)}`)
    figure('p50 and p99 of what was refused, ms', `${at(refused, 0.5)}, ${at(refused, 0.99)}`)
    figure('slowest health answer meanwhile, ms', Math.round(slowest))
    figure('most memory, MiB', Math.round(most))
    t.same(
      all.flatMap(each => each.others),
      []
    )
    if (isLong) t.ok(refused.length > 0, 'it was more than could be served')
    t.ok(slowest < QUICK_MS, `${slowest} ms`)
    t.ok(most < 1024, `${most} MiB`)
    t.equal(await metric('spoor_pending_writes'), 0)
    t.equal(await metric('spoor_pending_write_bytes'), 0)
    const added = [...(await listIds())].filter(id => !there.has(id))
    t.same(added.sort(), stored.sort(), 'what was answered 201 is there, and nothing else')
    const later = await quietTime()
    figure('median time of a small write before and afterwards, ms', `${quiet}, ${later}`)
    figure('memory before and afterwards, MiB', `${Math.round(empty)}, ${Math.round(await memory())}`)
    // On a machine that others use as well, small times say little.
    t.ok(later < 3 * quiet + 20, `${quiet} ms before, ${later} ms afterwards`)
  }
)
