import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { request } from 'undici'
import type { App } from '../../../lib/app.ts'
import { SHAPES } from '../../bench/bodies/bodies.ts'
import { startSender } from '../../bench/load/load.ts'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'
import { testService } from '../../fixtures/service/service.ts'
import { until } from '../../fixtures/until.ts'
import { largeBody, MIB, startBesieged } from '../load/besieged.ts'
import { at, type FloodPlan, type FloodReport, runFlood } from '../load/flood.ts'
import { figure, isLong, longTest } from '../orders.ts'

/** Clients with large bodies, which together exceed the capacity in bytes. */
const CLIENTS = isLong ? 200 : 16
/** Clients that send small bodies and together exceed the limit on the number of requests. */
const CROWD = isLong ? 6000 : 100
const SECONDS = isLong ? 60 : 1
/** Maximum time for which a body may occupy capacity while none of its bytes arrive. */
const PATIENCE_MS = 5000
/** Number of requests, and total bytes of their bodies, that the server accepts before it rejects others. */
const MOST_PENDING = 4096
const MOST_PENDING_BYTES = 192 * MIB
/** The share of the capacity that one project may use. All senders of these floods belong to one project. */
const SHARE = 1 / 2
/** A health route responds within this time, whatever else is happening. */
const QUICK_MS = 1000
const MOST_MIB = 1024

const { address, port, key, authorization, post, open, record, health, metric, memory } = await startBesieged(t)

/**
 * Uses the whole capacity for requests. Each request belongs to another project, because no project may use all of it.
 */
const fillUp = ({ ingest }: App) =>
  Array.from({ length: MOST_PENDING - 1 }, (_, i) => ingest.admit(0, 1, 1_000_000 + i))

t.test('a body without available memory is rejected before it is read', async t => {
  const { call, key, port, app } = await testService(t)
  const full = fillUp(app)
  const head = `POST /api/v1/traces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`
  for (const announced of [
    'Content-Length: 2000000\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Content-Length: 2000000\r\nExpect: 100-continue\r\n'
  ]) {
    // The socket never sends the body, so the response cannot have waited for the body.
    const socket = connect(port, '127.0.0.1', () => socket.write(`${head}${announced}\r\n`))
    const [answer] = await once(socket.setEncoding('latin1'), 'data')
    socket.destroy()
    t.match(answer, /^HTTP\/1\.1 429 [\s\S]*\r\nRetry-After: \d+\r\n/, announced)
  }
  t.equal((await call('GET', '/readyz', { key: null })).status, 503, 'and /readyz says so')
  t.equal((await call('GET', '/healthz', { key: null })).status, 200)
  for (const room of full) room.release()
  t.equal((await call('POST', '/api/v1/traces', { body: ingestBody() })).status, 201)
})

t.test('a client that is still sending when it is rejected gets its response, however slowly it sends', async t => {
  const { key, port, app } = await testService(t)
  const full = fillUp(app)
  t.teardown(() => {
    for (const room of full) room.release()
  })
  const head = `POST /api/v1/traces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`
  const part = 'x'.repeat(250_000)
  const ways: [announced: string, begin: string, end: string][] = [
    ['Content-Length: 1000000', '', ''],
    ['Transfer-Encoding: chunked', '3d090\r\n', '\r\n']
  ]
  for (const [announced, begin, end] of ways) {
    const socket = connect(port, '127.0.0.1').pause()
    t.teardown(() => socket.destroy())
    socket.write(`${head}${announced}\r\n\r\n`)
    for (let i = 0; i < 4; i++) {
      await new Promise((resolve, reject) =>
        socket.write(begin + part + end, error => (error ? reject(error) : resolve(0)))
      )
      await delay(100)
    }
    const [answer] = await once(socket.setEncoding('latin1').resume(), 'data')
    t.match(answer, /^HTTP\/1\.1 429 /, announced)
  }
})

longTest(
  'a client that declares much and sends nothing blocks large bodies briefly, and small ones not at all',
  async t => {
    const start = performance.now()
    for (let i = 0; i < CLIENTS; i++) await open(t, `${post}Content-Length: 2000000\r\n\r\n`)
    const body = largeBody(1_900_000)
    t.equal(await record(body), 429, 'there is no memory for another large one')
    t.equal(await record(), 201, 'but for a small one')
    await until(async () => (await record(body)) === 201)
    const took = performance.now() - start
    figure(`${CLIENTS} who announce 2 MB and send nothing keep large bodies out for, ms`, Math.round(took))
    t.ok(took < 4 * PATIENCE_MS, `${took} ms`)
  }
)

/** Returns the median time of a small write in ms on an idle server. */
async function quietTime(): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < 50; i++) {
    const asked = performance.now()
    await record()
    times.push(performance.now() - asked)
  }
  return at(
    times.sort((one, other) => one - other),
    0.5
  )
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

/**
 * Sends the head of a request, and its body later. Returns the time until the rejection, if the request is rejected
 * without waiting for the body.
 */
async function announce(t: Test, socket: Socket, bytes: number): Promise<number | undefined> {
  const asked = performance.now()
  socket.write(`${post}Content-Length: ${bytes}\r\n\r\n`)
  const answered = once(socket, 'data')
  const refused = answered.then(([answer]) => {
    t.match(answer, /^HTTP\/1\.1 4(00|29) /)
    return performance.now() - asked
  })
  const took = await Promise.race([refused, delay(500, undefined)])
  socket.write('x'.repeat(bytes))
  await answered
  return took
}

/** Floods the server, and measures it during the flood. */
async function besiege(t: Test, plan: Omit<FloodPlan, 'port' | 'key' | 'seconds'>) {
  const socket = (await open(t, '')).setEncoding('latin1')
  let isOver = false
  const over = runFlood({ port, key, seconds: SECONDS, ...plan }).finally(() => {
    isOver = true
  })
  const seen = { slowest: 0, most: 0, announcedMs: [] as number[] }
  while (!isOver) {
    seen.slowest = Math.max(seen.slowest, await health())
    seen.most = Math.max(seen.most, await memory())
    const refusedAfter = await announce(t, socket, SHAPES[plan.kind].bytes)
    if (refusedAfter !== undefined) seen.announcedMs.push(refusedAfter)
    await delay(isLong ? 100 : 10)
  }
  return { report: await over, ...seen }
}

const named = (name: string, { stored, refused, storedMs, refusedMs, openedMs }: FloodReport) => {
  figure(`${name}: stored, and refused with 429`, `${stored.length}, ${refused}`)
  for (const [what, times] of [
    ['stored requests', storedMs],
    ['rejected requests', refusedMs],
    ['the first response of a new connection', openedMs]
  ] as const) {
    figure(`${name}: p50, p99 and slowest of ${what}, ms`, [0.5, 0.99, 1].map(p => at(times, p)).join(', '))
  }
}

/** Checks the promises that hold in every flood. */
async function check(t: Test, name: string, plan: Omit<FloodPlan, 'port' | 'key' | 'seconds'>) {
  const [quiet, empty, there] = [await quietTime(), await memory(), await listIds()]
  const { report, slowest, most, announcedMs } = await besiege(t, plan)
  named(name, report)
  figure(`${name}: slowest health answer meanwhile, ms`, Math.round(slowest))
  figure(`${name}: most memory, MiB`, Math.round(most))
  t.same(report.others, [], 'every response was 201, or 429 with Retry-After')
  t.equal(await metric('spoor_pending_writes'), 0)
  t.equal(await metric('spoor_pending_write_bytes'), 0)
  const added = [...(await listIds())].filter(id => !there.has(id))
  t.same(added.sort(), [...report.stored].sort(), 'exactly the traces with 201 are stored')
  const later = await quietTime()
  // In a flood of one second, times and memory are meaningless on any machine.
  if (!isLong) return
  figure(`${name}: median time of a small write before and afterwards, ms`, `${quiet}, ${later}`)
  figure(`${name}: memory before and afterwards, MiB`, `${Math.round(empty)}, ${Math.round(await memory())}`)
  figure(
    `${name}: refused before anything of the body was sent, p50 in ms`,
    at(
      announcedMs.sort((one, other) => one - other),
      0.5
    )
  )
  t.ok(report.refused > 0, 'the load exceeded the capacity')
  t.ok(announcedMs.length > 0, 'clients that sent no body were rejected too')
  t.ok(most < MOST_MIB, `${most} MiB`)
  // Times mean something only on a machine without other load.
  if (!isLong) return
  // A request waits at most until the server has written everything that it can hold. The bound is three times that
  // duration.
  const held = SHARE * Math.min(MOST_PENDING, MOST_PENDING_BYTES / SHAPES[plan.kind].bytes)
  const bound = 3 * Math.min(1, held / report.stored.length) * SECONDS * 1000
  t.ok(at(report.storedMs, 0.99) < bound, `${at(report.storedMs, 0.99)} of ${bound} ms`)
  t.ok(slowest < QUICK_MS, `health after ${slowest} ms`)
  t.ok(later < 3 * quiet + 20, `${quiet} ms before, ${later} ms afterwards`)
}

t.test('twice the load that the server can handle', async t => {
  const sender = startSender()
  t.teardown(() => sender.stop())
  const measureMs = isLong ? 10_000 : 200
  const plan = {
    port,
    key,
    kind: 'typical',
    connections: 64,
    firstNumber: 0,
    warmUpMs: measureMs / 2,
    measureMs
  } as const
  const { traces, seconds } = await sender.run(plan)
  const perSecond = traces / seconds
  figure('maximum typical traces per second', Math.round(perSecond))
  const rate = Math.max(2 * perSecond, 50)
  await check(t, 'twice the load', { kind: 'typical', clients: CROWD, rate })
})

longTest('clients that send large bodies and retry after exactly Retry-After', async t => {
  await check(t, 'large bodies', { kind: 'large', clients: CLIENTS })
})
