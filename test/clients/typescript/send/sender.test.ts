/**
 * Tests the client against servers with arbitrary responses. test/torture/surroundings/client.test.ts tests it against
 * a real service.
 */
import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { Spoor, type SpoorOptions } from '../../../../clients/typescript/index.ts'
import { Owner } from '../../../../clients/typescript/send/owner.ts'
import { testFolder } from '../../../fixtures/folder.ts'

interface Asked {
  readonly method: string
  readonly path: string
  readonly body: string
}
type Reply = readonly [status: number, body?: object | string]

const OK: Reply = [201, { ok: true, duplicate: false }]
const refusal = (status: number, code: string): Reply => [status, { error: { code, message: 'why', requestId: 'r' } }]

/** Starts a server that answers by calling a function. If the function returns nothing, the connection is closed. */
async function answering(
  t: Test,
  answer: (asked: Asked, count: number) => Reply | undefined,
  options: SpoorOptions = {}
) {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    asked.push({ method: request.method!, path: request.url!, body })
    const reply = answer(asked.at(-1)!, asked.length)
    if (reply === undefined) response.destroy()
    else response.writeHead(reply[0]).end(typeof reply[1] === 'string' ? reply[1] : JSON.stringify(reply[1] ?? {}))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const said: string[] = []
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/base`
  const spoor = new Spoor({ url, key: 'key', spool: false, onProblem: problem => said.push(problem), ...options })
  t.teardown(async () => {
    await spoor.close({ timeoutMs: 10 })
    server.close()
    server.closeAllConnections()
  })
  return { spoor, asked, said, url }
}

t.test('the same bytes are resent until the server responds', async t => {
  const replies: (Reply | undefined)[] = [undefined, [200, '<html>'], refusal(429, 'quota_exhausted')]
  const { spoor, asked, said } = await answering(t, (_, count) => (count <= 3 ? replies[count - 1] : OK))
  spoor.trace('again', () => 1)
  t.match(await spoor.flush({ timeoutMs: 20_000 }), { sent: 1, kept: 0, lostCount: 0 })
  t.equal(asked.length, 4)
  t.equal(new Set(asked.map(({ path, body }) => path + body)).size, 1)
  t.equal(asked[0]!.path, '/base/api/v1/traces')
  t.ok(said.length >= 3, 'each kind of problem is reported')
})

t.test('a trace is sent when it ends, without a timer or a flush', async t => {
  const { spoor, asked } = await answering(t, () => OK)
  // When the client starts, it checks its spool and sends the traces in it.
  await nextTurn()
  const { setTimeout, setInterval } = globalThis
  const never = Object.assign(() => ({ unref: () => ({}), refresh() {} }), { __promisify__: setTimeout.__promisify__ })
  try {
    Object.assign(globalThis, { setTimeout: never, setInterval: never })
    spoor.trace('at once', () => 1)
    for (let turns = 0; asked.length === 0 && turns < 1e6; turns++) await nextTurn()
  } finally {
    Object.assign(globalThis, { setTimeout, setInterval })
  }
  t.match(asked, [{ method: 'POST', path: '/base/api/v1/traces' }])
})

t.test('a rejected key stops sending; waiting traces are kept and reported', async t => {
  const spool = await testFolder(t)
  const { spoor, asked, said } = await answering(t, () => refusal(401, 'invalid_api_key'), { spool })
  for (let i = 0; i < 30; i++) spoor.trace('kept', () => i)
  t.match(await spoor.flush(), { sent: 0, kept: 30, lostCount: 0 })
  t.ok(asked.length <= 9, 'only requests in flight were rejected')
  t.match(said, [/sending pauses for a minute, and traces are kept: 401/])
  await spoor.close()
  t.equal(readdirSync(spool).length, 30)
})

t.test('a wrong path of the server stops sending, and traces are kept', async t => {
  const { spoor, asked, said } = await answering(t, () => refusal(404, 'not_found'))
  for (let i = 0; i < 30; i++) spoor.trace('kept', () => i)
  t.match(await spoor.flush(), { sent: 0, kept: 30, lostCount: 0 })
  t.ok(asked.length <= 9, 'only requests in flight were rejected')
  t.match(said, [/sending pauses for a minute, and traces are kept: check SPOOR_URL: 404 not_found: why/])
})

t.test('a trace that is rejected for good is reported with the reason, without affecting others', async t => {
  const { spoor } = await answering(t, ({ body }) =>
    body.includes('"name":"bad"') ? refusal(409, 'trace_id_conflict') : OK
  )
  const { traceId } = spoor.trace('bad', trace => trace.score('s', 1))
  spoor.trace('good', () => 1)
  const lost = [{ traceId, name: 'bad', reason: 'record: 409 trace_id_conflict: why' }]
  t.match(await spoor.flush({ timeoutMs: 60_000 }), { sent: 1, kept: 0, lostCount: 1, lost })
})

t.test('a body that is too large for a proxy is cut further, once', async t => {
  const { spoor, asked } = await answering(t, ({ body }) => (body.length > 500_000 ? [413, 'too large'] : OK))
  spoor.trace('large', { input: 'x'.repeat(300_000) }, () => 'y'.repeat(400_000))
  t.match(await spoor.flush({ timeoutMs: 60_000 }), { sent: 1, lostCount: 0 })
  t.equal(asked.length, 2)
  t.match(JSON.parse(asked[1]!.body).trace, {
    input: /^x+…\[cut/,
    output: /^y+…\[cut/,
    metadata: { spoor: { cut: 2 } }
  })
})

t.test('if a proxy has a low limit, a joined trace is sent span by span, and cut only then', async t => {
  const { spoor, asked } = await answering(t, ({ body }) =>
    body.length > 250_000 ? [413, 'too large'] : [200, { partialSuccess: {} }]
  )
  const parent = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }
  spoor.trace('joined', { parent, input: 'why?' }, trace => {
    for (const size of [200_000, 200_000, 400_000]) trace.startSpan(`${size}`, { input: 'x'.repeat(size) }).end()
  })
  t.match(await spoor.flush({ timeoutMs: 60_000 }), { sent: 1, kept: 0, lostCount: 0, lost: [] })
  const taken = asked.filter(({ body }) => body.length <= 250_000)
  const spans = taken.flatMap(({ body }) => JSON.parse(body).resourceSpans[0].scopeSpans[0].spans)
  const inputOf = (span: { attributes: { key: string; value: { stringValue: string } }[] }) =>
    span.attributes.find(({ key }) => key === 'input.value')?.value.stringValue
  t.same(
    spans.map(({ name }: { name: string }) => name),
    ['200000', '200000', '400000', 'joined']
  )
  t.equal(inputOf(spans[0])?.length, 200_002)
  t.match(inputOf(spans[2]), /^"x+…\[cut/)
  t.equal(inputOf(spans[3]), '"why?"')
})

t.test('a proxy that accepts nothing loses the trace, which is reported', async t => {
  const { spoor } = await answering(t, () => [413, 'too large'])
  spoor.trace('refused', () => 1)
  t.match(await spoor.flush({ timeoutMs: 60_000 }), { sent: 0, kept: 0, lost: [{ reason: 'record: HTTP 413' }] })
})

t.test('if memory is full and there is no spool, losses are reported', async t => {
  const { spoor } = await answering(t, () => undefined, { memoryBytes: 3000 })
  for (let i = 0; i < 10; i++) spoor.trace(`t${i}`, { input: 'x'.repeat(500) }, () => i)
  const { kept, lost, lostCount, sent } = await spoor.flush({ timeoutMs: 100 })
  t.equal(sent + kept + lostCount, 10)
  t.ok(kept > 0 && lostCount > 0)
  t.match(lost, Array(lostCount).fill({ reason: 'there was no room for it in memory or on disk' }))
})

t.test('a score whose response was lost is looked up before it is resent', async t => {
  const score = { name: 'helpful', value: true, comment: null, spanId: null }
  const { spoor, asked } = await answering(t, ({ method }) =>
    method === 'GET' ? [200, { scores: [score] }] : undefined
  )
  spoor.score('a'.repeat(32), 'helpful', true)
  t.match(await spoor.flush({ timeoutMs: 60_000 }), { kept: 0, lostCount: 0 })
  t.same(
    asked.map(({ method, path }) => `${method} ${path.slice(-7)}`),
    ['POST /scores', 'GET /scores']
  )
})

t.test('a score whose response was lost is not confused with an identical earlier score', async t => {
  const stored: { readonly value: boolean }[] = []
  const { spoor, asked } = await answering(t, ({ method, body }, count) => {
    if (method === 'GET') return [200, { scores: stored }]
    if (count === 3) return undefined
    stored.push({ comment: null, spanId: null, ...JSON.parse(body) })
    return OK
  })
  for (const value of [true, false, true]) spoor.score('a'.repeat(32), 'helpful', value)
  t.match(await spoor.flush({ timeoutMs: 60_000 }), { kept: 0, lostCount: 0 })
  t.same(
    asked.map(({ method }) => method),
    ['POST', 'POST', 'POST', 'GET', 'POST']
  )
  t.same(
    stored.map(({ value }) => value),
    [true, false, true],
    'the last one applies'
  )
})

t.test('a score that could not be looked up is not resent until it has been', async t => {
  const score = { name: 'helpful', value: true, comment: null, spanId: null }
  const replies: (Reply | undefined)[] = [undefined, undefined, refusal(503, 'unavailable'), [200, { scores: [score] }]]
  const { spoor, asked } = await answering(t, (_, count) => replies[count - 1])
  spoor.score('a'.repeat(32), 'helpful', true)
  t.match(await spoor.flush({ timeoutMs: 60_000 }), { kept: 0, lostCount: 0 })
  t.same(
    asked.map(({ method }) => method),
    ['POST', 'GET', 'GET', 'GET']
  )
})

t.test('an id without a trace is reported as lost, blocks nothing, and names no file', async t => {
  const spool = join(await testFolder(t), 'spool')
  const { spoor, asked } = await answering(t, () => OK, { spool, spoolEach: true })
  for (const id of ['no id', '../../elsewhere', undefined as unknown as string]) spoor.score(id, 'helpful', true)
  spoor.trace('good', () => 1)
  const lost = Array(3).fill({ name: 'score helpful', reason: 'the id of a trace has 32 hexadecimal characters' })
  t.match(await spoor.flush({ timeoutMs: 60_000 }), { sent: 1, kept: 0, lost })
  t.equal(asked.length, 1)
})

t.test('traces that a closed client could neither send nor keep are lost and reported', async t => {
  const { spoor, said, url } = await answering(t, () => refusal(429, 'quota_exhausted'))
  const traceId = spoor.trace('late', trace => trace.traceId)
  const lost = [{ traceId, name: 'late', reason: 'the client was closed, and it could not be kept on disk' }]
  t.match(await spoor.close({ timeoutMs: 50 }), { sent: 0, kept: 0, lostCount: 1, lost })
  t.match(said, [
    `not sent to ${url}, will try again: 429 quota_exhausted: why`,
    /^lost trace [0-9a-f]{32} \(late\): the client/
  ])
})

t.test('what a closed client records waits on disk, or is lost and reported at once', async t => {
  for (const spool of [await testFolder(t), false] as const) {
    const { spoor, asked } = await answering(t, () => OK, { spool })
    await spoor.close()
    spoor.trace('late', () => 1)
    const lost = { name: 'late', reason: 'the client was closed, and it could not be kept on disk' }
    const began = performance.now()
    t.match(await spoor.flush(), spool === false ? { kept: 0, lost: [lost] } : { kept: 1, lost: [] })
    t.ok(performance.now() - began < 10_000, 'flush does not wait')
    t.equal(asked.length, 0)
    if (spool === false) continue
    const files = readdirSync(spool, { recursive: true, encoding: 'utf8' })
    t.equal(files.filter(name => name.endsWith('.spoor')).length, 1, 'for the next process')
  }
})

t.test('a lost score is not called a lost trace', async t => {
  const { spoor, said } = await answering(t, ({ path }) => (path.endsWith('/scores') ? refusal(400, 'odd') : OK))
  const traceId = spoor.trace('scored', trace => trace.score('s', 1).traceId)
  await spoor.flush({ timeoutMs: 60_000 })
  t.same(said, [`lost score of trace ${traceId} (scored): score: 400 odd: why`])
})

t.test('spans of an ended trace are not lost if its end is this very one', async t => {
  for (const [duplicate, lostCount] of [
    [true, 0],
    [false, 1]
  ] as const) {
    const { spoor } = await answering(t, ({ path }) =>
      path.endsWith('/spans') ? refusal(409, 'trace_finished') : [200, { ok: true, duplicate }]
    )
    const trace = spoor.start('resent', { live: true })
    trace.startSpan('s', { input: 'x'.repeat(70_000) }).end()
    trace.end()
    t.match(await spoor.flush({ timeoutMs: 60_000 }), { sent: 1, lostCount })
  }
})

t.test('broken spool files are set aside, and do not stop anything', async t => {
  const spool = await testFolder(t)
  mkdirSync(spool, { recursive: true })
  const { mark } = new Owner({ url: 'http://localhost', key: 'key' })
  writeFileSync(join(spool, `1-${'a'.repeat(32)}-1-1${mark}`), 'spoor 1 {"traceId":')
  const { spoor } = await answering(t, () => OK, { spool })
  await spoor.adopt()
  spoor.trace('good', () => 1)
  t.match(await spoor.flush({ timeoutMs: 60_000 }), { sent: 1, kept: 0, lostCount: 1 })
  t.match(readdirSync(spool).filter(name => name.endsWith('.broken')).length, 1)
})

t.test('the key does not appear in anything that an application may log', async t => {
  const key = 'a-secret-key'
  const { spoor } = await answering(t, () => [200, { ok: true, traces: [], nextCursor: null }], { key })
  const trace = spoor.start('logged')
  await spoor.traces.list()
  trace.end()
  await spoor.flush({ timeoutMs: 60_000 })
  for (const each of [spoor, spoor.traces, trace]) t.notOk(inspect(each, { depth: 20, showHidden: true }).includes(key))
})

t.test('without a key, or with an invalid address, the application runs and is told', async t => {
  for (const options of [{ key: '' }, { key: 'k', url: 'ftp://x' }, { key: 'schlüssel' }]) {
    const said: string[] = []
    const spoor = new Spoor({ spool: false, onProblem: problem => said.push(problem), ...options })
    t.equal(
      spoor.trace('unrecorded', () => 5),
      5
    )
    t.match(await spoor.close(), { sent: 0, kept: 0, lostCount: 1 })
    t.match(said[0], /^nothing is recorded: /)
  }
})
