/**
 * Tests the client (clients/typescript) while everything is killed: each trace that it has accepted is stored exactly
 * once and completely, or reported as lost. A trace cannot be stored twice, because its id is a key, so counting is
 * sufficient.
 */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Spoor, type Step } from '../../../clients/typescript/index.ts'
import type { Plan } from '../../fixtures/client/application.ts'
import { missing, startApplication } from '../../fixtures/client/run.ts'
import { testFolder } from '../../fixtures/folder.ts'
import { freePort } from '../../fixtures/ports.ts'
import { testService } from '../../fixtures/service/service.ts'
import { configurationFor, serve } from '../../fixtures/service/spoor.ts'
import { until } from '../../fixtures/until.ts'
import { figure, isLong, runs } from '../orders.ts'

const service = await testService(t)
const { url, key } = service

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Nothing listens at this address. */
const nowhere = `http://127.0.0.1:${await freePort()}`

const files = (folder: string) => readdirSync(folder).filter(name => name.endsWith('.spoor'))

/** Runs an application to its end, lets the next process send the remaining traces, and looks up all traces. */
async function endsWhole(t: Test, plan: Omit<Plan, 'options'>, act = (_pid: number) => {}, spoorUrl = nowhere) {
  const spool = await testFolder(t)
  const first = startApplication(t, { ...plan, options: { url: spoorUrl, key, spool } })
  await until(() => first.taken.length >= plan.traces + (plan.end === 'hang' ? 1 : 0))
  act(first.pid)
  const ended = await first.ended
  t.equal(files(spool).length, ended.taken.length, 'a file for each trace is left')
  const next = await startApplication(t, { traces: 0, end: 'return', options: { url, key, spool } }).ended
  t.equal(next.code, 0, next.err)
  const left = await missing(url, key, ended.taken.slice(0, plan.traces))
  t.same(left, [], 'all are stored')
  t.same(readdirSync(spool), [], 'and nothing is left on disk')
  return ended
}

/** Starts a relay to the service that rejects requests with this status as long as `isClosed` returns true. */
async function startGate(t: Test, status: 401 | 429, isClosed: () => boolean) {
  const gate = { url: '', rejected: 0 }
  const code = status === 401 ? 'invalid_api_key' : 'quota_exhausted'
  const type = { 'content-type': 'application/json' }
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray())
    if (isClosed()) {
      gate.rejected++
      response.writeHead(status, { ...type, 'retry-after': '1' })
      response.end(JSON.stringify({ error: { code, message: 'as the test says', requestId: 'r' } }))
      return
    }
    const headers = { ...type, authorization: String(request.headers.authorization) }
    const init = { method: request.method!, headers, ...(body.length > 0 && { body }) }
    const answer = await fetch(url + request.url, init)
    response.writeHead(answer.status, type).end(await answer.text())
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  gate.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return gate
}

t.test('process.exit right after the last trace', async t => {
  // The next process takes 200 at a time.
  const { code } = await endsWhole(t, { traces: isLong ? 500 : 250, end: 'exit' })
  t.equal(code, 7)
})

if (isLong) {
  t.test('waiting traces are on disk however the process ends', async t => {
    const thrown = await endsWhole(t, { traces: 50, end: 'throw' })
    t.equal(thrown.code, 1)
    const { trace } = (await service.call('GET', `/api/v1/traces/${thrown.taken.at(-1)}`)).body
    t.match(trace, { name: 'fatal', status: 'unset' }, 'the trace that was running is also stored')
    t.match(await endsWhole(t, { traces: 50, end: 'reject' }), { code: 1 })
    t.match(await endsWhole(t, { traces: 50, end: 'return' }), { code: 0 })
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const kill = (pid: number) => process.kill(pid, signal)
      t.match(await endsWhole(t, { traces: 50, end: 'hang' }, kill), { code: null, signal }, `${signal} takes effect`)
    }
    const own = await endsWhole(t, { traces: 50, end: 'wait', code: 9 }, pid => process.kill(pid, 'SIGTERM'))
    t.equal(own.code, 9, "the application's own listener decides")
    figure('process exits: exit, throw, reject, return, SIGTERM, SIGINT, own listener', 'whole')
  })

  t.test('on SIGTERM, everything is sent before the process ends', async t => {
    const spool = await testFolder(t)
    const app = startApplication(t, { traces: 100, end: 'wait', options: { url, key, spool } })
    await until(() => app.taken.length === 100)
    app.kill('SIGTERM')
    const { signal, taken } = await app.ended
    t.equal(signal, 'SIGTERM')
    t.same(await missing(url, key, taken), [])
    t.same(readdirSync(spool), [])
  })

  t.test('the server is killed during 1,000 traces, then restarts', async t => {
    const spool = await testFolder(t)
    const port = String(await freePort())
    const env = { ...configurationFor(service.database), PORT: port }
    let server = await serve(t, env)
    const options = { url: server.address, key, spool }
    const app = startApplication(t, { traces: 1000, pauseMs: 5, end: 'flush', options })
    let kills = 0
    for (const at of [200, 400, 600, 800]) {
      await until(() => app.taken.length >= at)
      server.serving.kill('SIGKILL')
      await server.serving.finished
      kills++
      await delay(1500)
      server = await serve(t, env)
    }
    const { taken, flushed, err } = await app.ended
    t.equal(taken.length, 1000, err)
    t.match(flushed, { sent: 1000, kept: 0, lostCount: 0 })
    t.same(await missing(url, key, taken), [])
    figure('traces during kill -9 of the server; kills; lost', `1,000; ${kills}; ${flushed?.lostCount}`)
  })

  t.test('the server is unreachable for a minute', async t => {
    const spool = await testFolder(t)
    const port = await freePort()
    const options = { url: `http://127.0.0.1:${port}`, key, spool, memoryBytes: 200_000 }
    const app = startApplication(t, { traces: 600, pauseMs: 100, end: 'flush', options })
    await until(() => app.taken.length === 600, 120_000)
    await serve(t, { ...configurationFor(service.database), PORT: String(port) })
    const { taken, flushed } = await app.ended
    t.match(flushed, { sent: 600, kept: 0, lostCount: 0 })
    t.same(await missing(url, key, taken), [])
    t.same(files(spool), [])
    figure('traces recorded in a minute without a server, in 200 kB of memory; lost', `600; ${flushed?.lostCount}`)
  })

  t.test('kill -9 loses only traces in memory, and none with spoolEach', async t => {
    const spool = await testFolder(t)
    const app = startApplication(t, {
      traces: 200,
      end: 'wait',
      options: { url: nowhere, key, spool, spoolEach: true }
    })
    await until(() => app.taken.length === 200)
    app.kill('SIGKILL')
    const { taken } = await app.ended
    await startApplication(t, { traces: 0, end: 'return', options: { url, key, spool } }).ended
    t.same(await missing(url, key, taken), [])
    t.same(readdirSync(spool), [])
  })

  t.test('two processes that share a spool are killed and restarted', async t => {
    const spool = await testFolder(t)
    const taken: string[] = []
    for (let round = 0; round < 4; round++) {
      const options = { url: round < 3 ? nowhere : url, key, spool, spoolEach: true }
      const plan: Plan = { traces: 50, pauseMs: 5, end: round < 3 ? 'wait' : 'flush', options }
      const apps = [startApplication(t, plan), startApplication(t, plan)]
      await until(() => apps.every(app => app.taken.length === 50))
      if (round < 3) for (const app of apps) app.kill('SIGKILL')
      for (const app of apps) taken.push(...(await app.ended).taken)
    }
    t.equal(taken.length, 400)
    await startApplication(t, { traces: 0, end: 'return', options: { url, key, spool } }).ended
    t.same(await missing(url, key, taken), [])
    t.same(readdirSync(spool), [])
  })

  t.test('429 with Retry-After for 10 s, then normal responses', async t => {
    const spool = await testFolder(t)
    const begin = performance.now()
    const gate = await startGate(t, 429, () => performance.now() - begin < 10_000)
    const app = startApplication(t, { traces: 300, end: 'flush', options: { url: gate.url, key, spool } })
    const { taken, flushed } = await app.ended
    t.match(flushed, { sent: 300, kept: 0, lostCount: 0 })
    t.same(await missing(url, key, taken), [])
    t.ok(gate.rejected > 3 && gate.rejected < 40, 'it retries about once a second')
    figure('requests while the service rejects them for 10 s', gate.rejected)
  })

  t.test('a key is rejected, then accepted a minute later', async t => {
    const spool = await testFolder(t)
    let isRejected = true
    const gate = await startGate(t, 401, () => isRejected)
    const options = { url: gate.url, key, spool }
    const app = startApplication(t, { traces: 50, end: 'wait', options })
    await until(() => gate.rejected > 0 && app.taken.length === 50, 60_000)
    await delay(5_000)
    isRejected = false
    const begin = performance.now()
    while ((await missing(url, key, app.taken)).length > 0 && performance.now() - begin < 90_000) await delay(1000)
    t.same(await missing(url, key, app.taken), [])
    app.kill('SIGTERM')
    await app.ended
    t.same(readdirSync(spool), [], 'and nothing is left on disk')
    t.ok(gate.rejected < 20, 'nothing is sent in vain meanwhile')
    figure('requests until sending stops because the key is rejected', gate.rejected)
  })

  t.test('on a full disk, losses are counted and the rest is sent', async t => {
    const folder = await testFolder(t)
    const spool = join(folder, 'small')
    await mkdir(spool)
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', spool], { stdio: 'pipe' })
    } catch {
      t.comment('creating a disk of 256 kB requires root: not tested')
      figure('disk full', 'not looked at: mount needs root')
      return
    }
    t.teardown(() => void execFileSync('umount', [spool]))
    const port = await freePort()
    const options = { url: `http://127.0.0.1:${port}`, key, spool, memoryBytes: 100_000 }
    const app = startApplication(t, { traces: 500, end: 'flush', options })
    await until(() => app.taken.length === 500)
    await serve(t, { ...configurationFor(service.database), PORT: String(port) })
    const { taken, flushed } = await app.ended
    t.equal(flushed!.sent + flushed!.lostCount, 500)
    t.equal(flushed!.kept, 0)
    t.ok(flushed!.lostCount > 0)
    const lost = flushed!.lost.map(({ traceId }) => traceId).sort()
    t.same((await missing(url, key, taken)).sort(), lost, 'missing traces are reported')
    t.match(flushed!.lost[0]!.reason, 'no room')
    figure('disk full: sent, and reported as lost, of 500', `${flushed!.sent}, ${flushed!.lostCount}`)
  })

  t.test('values of any size, cycles, more than 200 spans, clock changes', async t => {
    const spoor = new Spoor({ url, key, spool: await testFolder(t) })
    t.teardown(() => spoor.close())
    const circle: Record<string, unknown> = { name: 'circle' }
    circle.self = [circle]
    const huge = spoor.start('huge', { input: 'ü'.repeat(4_000_000), metadata: { circle } })
    for (let i = 0; i < 20; i++)
      huge.startSpan('step', { input: { text: 'x'.repeat(4_000_000), i } }).end({ output: circle })
    huge.end({ output: Array.from({ length: 100_000 }, (_, i) => ({ i })) })
    const many = spoor.start('many')
    for (let i = 0; i < 500; i++)
      many.startSpan(`s${i}`).end({ status: i > 480 ? 'error' : 'ok', usage: { inputTokens: 1 } })
    many.end()
    const { now } = Date
    const jumping = spoor.start('clock')
    const span = jumping.startSpan('inside')
    Date.now = () => now() - 3_600_000
    span.end()
    jumping.end()
    Date.now = now
    t.match(await spoor.flush(), { sent: 3, kept: 0, lostCount: 0 })
    const read = async (id: string) => (await service.call('GET', `/api/v1/traces/${id}`)).body
    t.equal((await read(huge.traceId)).spans.length, 20)
    const { trace, spans } = await read(many.traceId)
    t.match(trace, {
      // A trace of more than 200 spans is sent as OTLP, in which the trace is a span itself.
      spanCount: 501,
      errorCount: 19,
      usage: { inputTokens: 500 }
    })
    t.equal(trace.metadata.spoor, undefined, 'nothing is left out')
    t.equal(spans.at(-1).name, 's499')
    t.ok((await read(jumping.traceId)).trace.durationMs < 60_000, 'much less than the jump of the wall clock')
  })

  t.test('an abandoned stream ends its step', async t => {
    const spoor = new Spoor({ url, key, spool: await testFolder(t) })
    t.teardown(() => spoor.close())
    const numbers = spoor.observe(async function* numbers() {
      yield 1
      yield 2
    })
    let traceId = ''
    await spoor.trace('unread', trace => {
      traceId = trace.traceId
      numbers()
      return 'done'
    })
    for (let i = 0; i < 100 && (await spoor.flush()).sent === 0; i++) {
      collectGarbage()
      await delay(20)
    }
    const { spans } = (await service.call('GET', `/api/v1/traces/${traceId}`)).body
    t.match(spans, [{ name: 'numbers', status: 'unset', events: [{ attributes: { reason: 'collected' } }] }])
  })

  t.test('whatever an application passes, the server accepts the result', async t => {
    const spoor = new Spoor({ url, key, spool: await testFolder(t), onProblem: () => {} })
    t.teardown(() => spoor.close())
    const value = fc.anything({
      maxDepth: 2,
      maxKeys: 4,
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true
    })
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.constantFrom('', '\0', '\ud800', 'é'.repeat(501))
    )
    const number = fc.oneof(fc.double(), fc.integer(), fc.constant(undefined))
    const time = fc.oneof(fc.constant(undefined), fc.date({ noInvalidDate: false }), fc.double(), text)
    const step = fc.record({
      ...{ name: text, input: value, output: value, model: text, provider: text, costUsd: number, startedAt: time },
      ...{ usage: fc.record({ inputTokens: number, outputTokens: number, totalTokens: number }), endedAt: time },
      ...{ attributes: fc.dictionary(text, value), kind: text, status: text, depth: fc.nat(3), isOpen: fc.boolean() }
    })
    const trace = fc.record({
      ...{
        name: text,
        sessionId: text,
        userId: text,
        tags: fc.array(text, { maxLength: 30 }),
        input: value,
        output: value
      },
      ...{ metadata: fc.dictionary(text, value), live: fc.boolean(), steps: fc.array(step, { maxLength: 12 }) },
      ...{ isShared: fc.boolean(), score: fc.oneof(fc.boolean(), fc.double({ noNaN: true, noDefaultInfinity: true })) }
    })
    let traces = 0
    await fc.assert(
      fc.asyncProperty(trace, async given => {
        const options = { ...given, input: given.input, isShared: undefined, steps: undefined, output: undefined }
        const root = spoor.start(given.name, options as object)
        if (given.isShared && !given.live) root.traceparent
        const path: Step[] = [root]
        for (const { depth, isOpen, name, output, status, endedAt, ...rest } of given.steps) {
          const parent = path[Math.min(depth, path.length - 1)]!
          const span = parent.startSpan(name, rest as object)
          span.addEvent(name, rest.attributes).setAttributes(rest.attributes)
          if (isOpen) path.push(span)
          else span.end({ output, status: status as 'ok', endedAt })
        }
        root.score('random', given.score)
        root.end({ output: given.output })
        traces++
        const { lost, kept } = await spoor.flush()
        if (lost.length + kept > 0) throw new Error(JSON.stringify(lost[0] ?? 'kept'))
      }),
      runs(200)
    )
    figure('random traces, all accepted', traces)
  })

  t.test('memory is bounded, however much is recorded while the server is unreachable', async t => {
    const options = { url: nowhere, key, spool: false as const, memoryBytes: 4 * 1024 ** 2, onProblem: () => {} }
    const spoor = new Spoor(options)
    t.teardown(() => spoor.close({ timeoutMs: 1 }))
    const heap = () => {
      collectGarbage()
      return process.memoryUsage().heapUsed / 1024 ** 2
    }
    const before = heap()
    const input = { text: 'x'.repeat(2000) }
    for (let i = 0; i < 20_000; i++) spoor.trace('much', { input }, () => input)
    const more = heap() - before
    const { kept, lostCount } = await spoor.flush({ timeoutMs: 1 })
    t.equal(kept + lostCount, 20_000)
    t.ok(kept > 500 && more < 20, `${more} MiB more`)
    figure('heap that 80 MB of traces take beyond a limit of 4 MiB, MiB', Math.round(more))
  })

  t.test('CPU time', async t => {
    const spoor = new Spoor({ url, key, spool: await testFolder(t) })
    t.teardown(() => spoor.close())
    const text = 'x'.repeat(1000)
    const record = (spans: number) =>
      spoor.trace('cost', trace => {
        for (let i = 0; i < spans; i++) trace.span('step', { kind: 'llm', input: { text } }, () => ({ text }))
      })
    for (let i = 0; i < 100; i++) record(8)
    await spoor.flush()
    const before = process.cpuUsage()
    for (let i = 0; i < 100; i++) record(8)
    const recording = process.cpuUsage(before)
    await spoor.flush()
    const all = process.cpuUsage(before)
    const each = ({ user, system }: NodeJS.CpuUsage) => Math.round((user + system) / 800)
    figure(
      'CPU a span of 2 kB: recording, and with sending (and the service, which is in this process), µs',
      `${each(recording)}, ${each(all)}`
    )
    t.ok(each(recording) < 500)
  })
}
