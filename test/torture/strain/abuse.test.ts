import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { Agent, request } from 'undici'
import { sessionCookie } from '../../../lib/http/people/cookie.ts'
import { PROTOBUF_TYPE } from '../../../lib/schema/otlp.ts'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'
import { toProtobuf } from '../../fixtures/bodies/fuzz-otlp.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { parseRaw, sendRaw } from '../../fixtures/service/raw.ts'
import { configurationFor, jsonHere, serve } from '../../fixtures/service/spoor.ts'
import { until } from '../../fixtures/until.ts'
import { largeBody, MIB, startBesieged } from '../load/besieged.ts'
import { figure, isLong, longTest } from '../orders.ts'

const IDLE = isLong ? 5000 : 300
const WRONG_KEYS = isLong ? 100_000 : 2000
/** Clients that read nothing: many with a few requests each (`TIMES`), and a few with many requests each (`AHEAD`). */
const READERS = isLong ? 400 : 20
const TIMES = 4
const PIPELINERS = isLong ? 50 : 2
const AHEAD = isLong ? 400 : 50
/** The size of the trace that the clients request. */
const LARGE_BYTES = 1_800_000
/**
 * Maximum time for which a connection may accept no bytes of a response, and maximum number of unsent bytes in total.
 */
const UNREAD_MS = 20_000
const UNREAD_MIB = 128
/** Memory for six responses in preparation, and for uncollected garbage. */
const MAKING_MIB = 256
/** Number of passwords tried at the same moment, and number checked per network within a quarter of an hour. */
const PASSWORDS = 1000
const MOST_TRIED = 50
/** Number of passwords checked simultaneously. */
const AT_ONCE = 2
/** A health route responds within this time, whatever else is happening. */
const QUICK_MS = 1000

const { database, address, port, authorization, post, get, open, record, health, metric, memory } =
  await startBesieged(t)

/** A short run cannot check times on an arbitrary machine. */
function checkQuick(t: Test, ms: number, what = 'health'): void {
  if (isLong) t.ok(ms < QUICK_MS, `${what}: after ${ms} ms`)
}

t.test('idle and slow clients take nothing from others', async t => {
  const before = await memory()
  const sockets: Socket[] = []
  for (let i = 0; i < IDLE; i++) sockets.push(await open(t, ''))
  for (let i = 0; i < IDLE / 10; i++) {
    sockets.push(await open(t, 'GET /healthz HTTP/1.1\r\nHos'))
    sockets.push(await open(t, `${post}Content-Length: 200000\r\n\r\n{"x":`))
    sockets.push(await open(t, `${post}Transfer-Encoding: chunked\r\n\r\n5\r\n{"x":\r\n`))
  }
  const slowest = await health()
  const grown = (await memory()) - before
  figure(`health beside ${sockets.length} idle and slow connections, ms`, Math.round(slowest))
  figure('their memory, MiB', Math.round(grown))
  checkQuick(t, slowest)
  t.ok(grown < 32 + (sockets.length * 64) / 1024, `${grown} MiB`)
  t.equal(await record(), 201)
  for (const socket of sockets) socket.destroy()
  await until(async () => (await metric('spoor_pending_writes')) === 0)
  t.equal(await metric('spoor_pending_write_bytes'), 0, 'clients that disconnect within a body leave nothing behind')
})

t.test('headers beyond the limit get 431 in the usual envelope', async t => {
  const answer = parseRaw(await sendRaw(port, `GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`))
  t.equal(answer.status, 431)
  t.match(JSON.parse(answer.body).error, { code: 'invalid_request', requestId: answer.headers['x-request-id'] })
})

t.test('pipelined requests on one connection are answered in order', async t => {
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

t.test('wrong keys leave no trace, and cost the database little', async t => {
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
  figure('memory that they leave behind, MiB', Math.round(grown))
  figure('database transactions per request', (made / (WRONG_KEYS * 0.9)).toFixed(3))
  t.same([...statuses], [401])
  t.ok(grown < 64, `${grown} MiB`)
  t.ok(made < WRONG_KEYS / 2, `${made} transactions`)
  checkQuick(t, await health())
})

t.test('wrong sessions leave no trace, and cost the database little', async t => {
  const dispatcher = new Agent({ connections: 64, pipelining: 1 })
  t.teardown(() => dispatcher.destroy())
  const transactions = async () =>
    database.pool.run(async sql => {
      const [row] = await sql`
        select pg_stat_clear_snapshot(), xact_commit::int as n from pg_stat_database
        where datname = current_database()`
      return row?.n
    })
  const { name } = sessionCookie({ baseUrl: undefined, digestSecret: database.digestSecret })
  const statuses = new Set<number>()
  const flood = async (most: number) => {
    let sent = 0
    const clients = Array.from({ length: 64 }, async () => {
      while (sent++ < most) {
        const headers = { cookie: `${name}=${String(sent).padStart(43, '0')}` }
        const { statusCode, body } = await request(`${address}/app/api/p/default/traces`, { headers, dispatcher })
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
  figure('wrong sessions', WRONG_KEYS)
  figure('memory that they leave behind, MiB', Math.round(grown))
  figure('database transactions per wrong session', (made / WRONG_KEYS).toFixed(3))
  t.same([...statuses], [401])
  t.ok(grown < 64, `${grown} MiB`)
  t.ok(made < WRONG_KEYS / 2, `${made} transactions`)
  checkQuick(t, await health())
})

longTest('a flood of passwords is stopped, takes bounded memory, and takes nothing from others', async t => {
  const dispatcher = new Agent({ connections: PASSWORDS, pipelining: 1 })
  t.teardown(() => dispatcher.destroy())
  const before = await memory()
  const headers = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
  const answers = Array.from({ length: PASSWORDS }, async (_, i) => {
    const body = JSON.stringify({ email: `${i}@example.com`, password: `${i}`.repeat(500) })
    const path = `${address}/app/api/sign-in/password`
    const answer = await request(path, { method: 'POST', headers, body, dispatcher })
    await answer.body.dump()
    return [answer.statusCode, answer.headers['retry-after']] as const
  })
  const slowest = await health()
  t.equal(await record(), 201)
  let most = 0
  const watch = setInterval(async () => {
    most = Math.max(most, (await memory()) - before)
  }, 100)
  const all = await Promise.all(answers)
  clearInterval(watch)
  const tried = all.filter(([status]) => status === 401).length
  figure(`of ${PASSWORDS} passwords from one network, looked at`, tried)
  figure('their maximum memory, MiB', Math.round(most))
  figure('health response meanwhile, ms', Math.round(slowest))
  t.ok(tried > 0 && tried <= MOST_TRIED, `${tried} were checked`)
  t.ok(
    all.every(([status, wait]) => status === 401 || (status === 429 && Number(wait) > 0)),
    'the others were told when to retry'
  )
  const attempts = () => database.pool.run(sql => sql`select from sign_in_attempts`)
  // The table has a row for the network, and a row for each email address whose password was checked. Attempts that are
  // rejected while another attempt is being counted may add a few rows.
  const counted = (await attempts()).length
  t.ok(counted <= MOST_TRIED + 1 + AT_ONCE, `${counted} attempts are stored`)
  const network = `encode(sha256('network 127.0.0'), 'hex')`
  await database.pool.run(sql =>
    sql.unsafe(`
    insert into sign_in_attempts values (${network}, ${MOST_TRIED}, now() + interval '15 minutes')
    on conflict (subject) do update set attempts = excluded.attempts, until = excluded.until`)
  )
  const full = (await attempts()).length
  const late = Array.from({ length: PASSWORDS }, async (_, i) => {
    const body = JSON.stringify({ email: `late-${i}@example.com`, password: 'whatever it may be' })
    const path = `${address}/app/api/sign-in/password`
    const answer = await request(path, { method: 'POST', headers, body, dispatcher })
    await answer.body.dump()
    return answer.statusCode
  })
  t.same([...new Set(await Promise.all(late))], [429])
  t.equal((await attempts()).length, full, 'rejected clients leave nothing behind')
  t.ok(most < 192, `${most} MiB`)
  checkQuick(t, slowest)
})

/**
 * The key of another project, created once. Clients that must be served use this project, because clients that read
 * nothing may use all of their own project's capacity.
 */
let otherKey: string | undefined
async function otherAuthorization(): Promise<string> {
  if (otherKey === undefined) {
    const env = configurationFor(database)
    const { slug } = await jsonHere(['project', 'create', 'other', '--slug', 'other'], env)
    otherKey = (await jsonHere(['key', 'create', '--project', slug], env)).key as string
  }
  return `Bearer ${otherKey}`
}

/**
 * Sends a request for a trace many times at once, and reads the responses slowly. Resolves to the trace id in each
 * response.
 */
async function readSlowly(t: Test, sent: string, times: number, bytesPerSecond: number): Promise<string[]> {
  const pauseMs = 100
  const last = sent.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
  const socket = await open(t, sent.repeat(times - 1) + last)
  let text = ''
  let taken = 0
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk
    taken += chunk.length
    if (taken < (bytesPerSecond * pauseMs) / 1000) return
    taken = 0
    socket.pause()
    setTimeout(() => socket.resume(), pauseMs)
  })
  await once(socket, 'close')
  return [...text.matchAll(/\{"trace":\{"id":"(\w{32})"/g)].map(match => match[1]!)
}

for (const [who, count, times] of [
  ['clients that request much and read nothing', READERS, TIMES],
  ['clients that pipeline large requests and read nothing', PIPELINERS, AHEAD]
] as const) {
  t.test(`${who} use bounded memory, for a while, and others are served`, async t => {
    const body = largeBody(LARGE_BYTES)
    t.equal(await record(body), 201)
    const { statusCode: recorded, body: answer } = await request(`${address}/api/v1/traces`, {
      method: 'POST',
      headers: { authorization: await otherAuthorization() },
      body: JSON.stringify(body)
    })
    await answer.dump()
    t.equal(recorded, 201, 'another project gets the same')
    const before = await memory()
    let closed = 0
    for (let i = 0; i < count; i++) {
      const socket = await open(t, get(body.trace.id).repeat(times))
      socket.pause().on('close', () => closed++)
    }
    const start = performance.now()
    // Once too many bytes are unsent in total, the server may also close the connections of slow readers.
    const others = get(body.trace.id).replace(authorization, await otherAuthorization())
    const slow = isLong && times === TIMES ? readSlowly(t, others, 30, 5_000_000) : undefined
    await until(async () => (await metric('spoor_unread_bytes')) > MIB)
    const { statusCode, body: detail } = await request(`${address}/api/v1/traces/${body.trace.id}`, {
      headers: { authorization: await otherAuthorization() }
    })
    t.equal((await detail.arrayBuffer()).byteLength > LARGE_BYTES, true, 'others are served')
    t.equal(statusCode, 200)
    let most = 0
    let slowest = 0
    let mostUnread = 0
    const isLeft = async () => {
      const unread = (await metric('spoor_unread_bytes')) / MIB
      mostUnread = Math.max(mostUnread, unread)
      return unread > 0
    }
    while (isLong && (await isLeft()) && performance.now() - start < 30 * UNREAD_MS) {
      most = Math.max(most, (await memory()) - before)
      slowest = Math.max(slowest, await health())
      await delay(200)
    }
    const name = `${count} who ask for ${Math.round((times * LARGE_BYTES) / 1e6)} MB and read nothing`
    figure(`${name}: most memory, MiB`, Math.round(most))
    figure(`${name}: most that waited, MiB`, Math.round(mostUnread))
    figure(`${name}: the last was let go after, ms`, Math.round(performance.now() - start))
    figure(`${name}: slowest health answer, ms`, Math.round(slowest))
    if (slow !== undefined)
      t.same(await slow, Array(30).fill(body.trace.id), 'clients that read slowly are served meanwhile')
    if (isLong) t.equal(await metric('spoor_unread_bytes'), 0, 'they were disconnected')
    t.ok(mostUnread < UNREAD_MIB + 16, `${mostUnread} MiB wait`)
    t.ok(most < UNREAD_MIB + MAKING_MIB, `${most} MiB`)
    checkQuick(t, slowest)
  })
}

t.test('large responses to pipelined requests are all sent, in order, to a client that reads slowly', async t => {
  const bodies = [largeBody(LARGE_BYTES), largeBody(LARGE_BYTES)]
  for (const body of bodies) t.equal(await record(body), 201)
  const slow = bodies.map(body => readSlowly(t, get(body.trace.id), 5, 20_000_000))
  for (const [i, body] of bodies.entries()) t.same(await slow[i], Array(5).fill(body.trace.id))
  await until(async () => (await metric('spoor_unread_bytes')) === 0)
})

t.test('endless bodies, bombs and floods of headers are rejected at once, and leave nothing behind', async t => {
  const endless = async () => {
    const socket = await open(t, `${post}Transfer-Encoding: chunked\r\n\r\n`)
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
    ['an endless body', endless, 413],
    [`gzip of ${Math.round(zeros.length / bomb.length)} times its size`, sendEncoded(bomb, 'gzip'), 413],
    [`br of ${Math.round(zeros.length / brotli.length)} times its size`, sendEncoded(brotli, 'br'), 413],
    ['gzip of gzip', sendEncoded(gzipSync(bomb), 'gzip'), 400],
    ['gzip of gzip, declared as such', sendEncoded(gzipSync(bomb), 'gzip, gzip'), 415],
    ['many headers', async () => parseRaw(await sendRaw(port, `${post}${headers}\r\n`)).status, 431]
  ]
  const times = isLong ? 50 : 4
  const before = await memory()
  for (const [name, send, status] of abuses) {
    const [took, ...statuses] = await Promise.all([health(), ...Array.from({ length: times }, send)])
    t.same(new Set(statuses), new Set([status]), name)
    checkQuick(t, took, `health beside ${name}`)
  }
  const grown = (await memory()) - before
  figure(`memory that ${abuses.length * times} bombs and the like leave taken, MiB`, Math.round(grown))
  t.ok(grown < 128, `${grown} MiB`)
  t.equal(await metric('spoor_pending_write_bytes'), 0)
})

t.test("incomplete messages to the tools hold no more than their own memory, and none of the writers'", async t => {
  const count = isLong ? 400 : 60
  const before = await memory()
  const head = post.replace('/api/v1/traces', '/api/mcp')
  const refused: Promise<unknown>[] = []
  for (let i = 0; i < count; i++) {
    const socket = await open(t, `${head}Content-Length: 2000000\r\n\r\n`)
    refused.push(once(socket.setEncoding('latin1'), 'data').then(([answer]) => answer))
    socket.write('x'.repeat(1_500_000))
  }
  t.match(await Promise.race(refused), /^HTTP\/1\.1 429 [\s\S]*\r\nRetry-After: \d+\r\n/)
  t.equal(await record(largeBody(LARGE_BYTES)), 201)
  const grown = (await memory()) - before
  figure(`memory that ${count} unfinished messages to the tools take, MiB`, Math.round(grown))
  t.ok(grown < 256, `${grown} MiB`)
})

/** Number of simultaneous exports. */
const EXPORTS = 12
const EXPORT_BYTES = 63_000_000
const MOST_MIB = 600
const JSON_TYPE = 'application/json'
const KINDS_OF_EXPORT = [
  { coding: 'identity', type: JSON_TYPE, spansEach: Number.POSITIVE_INFINITY },
  { coding: 'gzip', type: JSON_TYPE, spansEach: 20 },
  { coding: 'gzip', type: PROTOBUF_TYPE, spansEach: Number.POSITIVE_INFINITY },
  { coding: 'identity', type: PROTOBUF_TYPE, spansEach: 1 }
] as const

longTest(
  'a dozen concurrent exports of the maximum size are each answered, and acknowledged data is stored',
  async t => {
    const database = await testDatabase(t)
    const { address, key, serving } = await serve(t, configurationFor(database))
    const peakMiB = async () =>
      Number(/^VmHWM:\s+(\d+)/m.exec(await readFile(`/proc/${serving.pid}/status`, 'utf8'))![1]) / 1024
    const traceIds: string[] = []
    for (const [round, { coding, type, spansEach }] of KINDS_OF_EXPORT.entries()) {
      const what = `${coding}, ${type}, ${spansEach} spans a trace`
      const answers = Array.from({ length: EXPORTS }, async (_, i) => {
        const first = round * EXPORTS + i
        const raw = exportOf(first, EXPORT_BYTES, spansEach)
        const encoded = type === JSON_TYPE ? Buffer.from(JSON.stringify(raw)) : toProtobuf(raw)
        const body = coding === 'gzip' ? gzipSync(encoded, { level: 1 }) : encoded
        const headers = { authorization: `Bearer ${key}`, 'content-type': type, 'content-encoding': coding }
        const options = { method: 'POST', headers, body, headersTimeout: 0, bodyTimeout: 0 } as const
        const answer = await request(`${address}/api/v1/otlp/v1/traces`, options)
        await answer.body.dump()
        if (answer.statusCode === 200) traceIds.push(traceIdOf(first, 0))
        return [answer.statusCode, answer.headers['retry-after']] as const
      })
      const all = await Promise.all(answers)
      const taken = all.filter(([status]) => status === 200).length
      const peak = Math.round(await peakMiB())
      figure(`${EXPORTS} exports of 63 MB, ${what}: stored, and most memory in MiB`, `${taken}, ${peak}`)
      t.ok(taken > 0, `${what}: ${taken} were stored`)
      t.ok(peak < MOST_MIB, `${what}: ${peak} MiB`)
      t.ok(
        all.every(([status, wait]) => status === 200 || (status === 429 && Number(wait) > 0)),
        `${what}: the others were told to retry`
      )
    }
    for (const id of traceIds) {
      const { statusCode, body } = await request(`${address}/api/v1/traces/${id}`, {
        headers: { authorization: `Bearer ${key}` }
      })
      await body.dump()
      t.equal(statusCode, 200, 'acknowledged data is stored')
    }
  }
)

const traceIdOf = (number: number, trace: number): string =>
  `${String(number + 1).padStart(8, '0')}${String(trace).padStart(24, '0')}`

/** Returns the export with the given number. Each of its traces has `spansEach` spans. */
function exportOf(number: number, bytes: number, spansEach: number) {
  const attributes = [{ key: 'input.value', value: { stringValue: 'lorem '.repeat(340) } }]
  const spanOf = (i: number) => ({
    traceId: traceIdOf(number, Math.floor(i / spansEach)),
    spanId: String(i + 1).padStart(16, '0'),
    name: 'step',
    startTimeUnixNano: '1700000000000000000',
    endTimeUnixNano: '1700000000000000001',
    attributes
  })
  const count = Math.floor(bytes / (JSON.stringify(spanOf(0)).length + 1))
  return { resourceSpans: [{ scopeSpans: [{ spans: Array.from({ length: count }, (_, i) => spanOf(i)) }] }] }
}

t.test('large pipelined bodies on one connection are all answered, in order', async t => {
  const bodies = Array.from({ length: 20 }, () => JSON.stringify(ingestBody({ input: 'x'.repeat(40_000) })))
  const texts = bodies.map(body => `${post}Content-Length: ${body.length}\r\n\r\n${body}`)
  const text = await sendRaw(port, `${texts.join('')}GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  const ids = [...text.matchAll(/"traceId":"(\w+)"/g)].map(match => match[1])
  t.same(
    ids,
    bodies.map(body => JSON.parse(body).trace.id)
  )
})
