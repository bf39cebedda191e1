import type { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { freePort } from '../../fixtures/ports.ts'
import { lacksNginx, startNginx } from '../../fixtures/service/nginx.ts'
import { testService } from '../../fixtures/service/service.ts'
import { configurationFor, dataFolder, runForJson, serve, stop } from '../../fixtures/service/spoor.ts'
import { until } from '../../fixtures/until.ts'
import { startKeepingClients } from '../load/keeping-clients.ts'
import { checkLoad, type Load, startLoad } from '../load/load.ts'
import { figure, longTest, rounds } from '../orders.ts'

/** The time for a server to complete requests in flight and write its queue, and for its PostgreSQL to stop. */
const GRACE_MS = 30_000

t.test('SIGTERM under load loses nothing, and stops the server in time', async t => {
  const env = { DATA_DIR: await dataFolder(t) }
  const loads: Load[] = []
  let { serving, address, key } = await serve(t, env)
  for (const round of rounds(1, 20, 0.25)) {
    const load = startLoad(address, key!)
    loads.push(load)
    await until(() => load.answered() >= 60)
    const start = performance.now()
    const { code, err } = await stop(serving)
    const took = performance.now() - start
    t.equal(code, 0, err)
    t.ok(took < GRACE_MS, `ended after ${took} ms`)
    figure('stops under load; duration of the last, ms', `${round}; ${Math.round(took)}`)
    await load.stop()
    const next = await serve(t, env)
    serving = next.serving
    address = next.address
  }
  await checkLoad(t, address, key!, loads)
})

longTest('SIGTERM resets no connection that clients are using', async t => {
  const env = { ...configurationFor(await testDatabase(t)), SHUTDOWN_GRACE: '3s' }
  for (const round of rounds(1, 10, 0.5)) {
    const { serving, address, key } = await serve(t, env)
    const made = key ?? (await runForJson(['key', 'create', '--project', 'default'], env)).key
    const light = startKeepingClients(t, address, made, { clients: 16, pauseMs: 200 })
    const busy = startKeepingClients(t, address, made, { clients: 64, pauseMs: 0 })
    await until(() => light.answered() >= 60 && busy.answered() >= 300)
    serving.kill('SIGTERM')
    await until(async () => (await readiness(address)).status === 503)
    t.match(await readiness(address), { status: 503, body: { reasons: ['the server is stopping'] } })
    t.match(await serving.finished, { code: 0 })
    await Promise.all([light.stop(), busy.stop()])
    t.same([...light.failures, ...busy.failures], [])
    figure('stops under 16 light and 64 busy clients, none of them reset', round)
  }
})

const rollingRestarts = async (t: Test) => {
  const ports = [await freePort(), await freePort()]
  const env = { ...configurationFor(await testDatabase(t)), SHUTDOWN_GRACE: '3s' }
  const start = (port: number) => serve(t, { ...env, PORT: String(port) })
  const servers = [await start(ports[0]!), await start(ports[1]!)]
  const key = servers[0]!.key!
  const address = await startNginx(t, ports)
  const clients = startKeepingClients(t, address, key, { clients: 16, pauseMs: 5, strict: true })
  await until(() => clients.answered() >= 200)
  for (const round of rounds(1, 20, 0.8)) {
    for (const [i, port] of ports.entries()) {
      t.match(await stop(servers[i]!.serving), { code: 0 })
      servers[i] = await start(port)
      const before = clients.answered()
      await until(() => clients.answered() > before + 200)
    }
    t.same(clients.failures, [])
    figure('rolling restarts of two servers behind nginx', `${round}; ${clients.answered()} requests, none failed`)
  }
  await clients.stop()
}
longTest('two servers behind nginx, restarted in turn under load, lose no request', rollingRestarts, lacksNginx)

async function readiness(address: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${address}/readyz`)
  return { status: response.status, body: await response.json() }
}

t.test('threads that die during requests are replaced, and the requests are answered', async t => {
  const threads: Worker[] = []
  const note = (thread: Worker) => void threads.push(thread)
  process.on('worker', note)
  t.teardown(() => process.off('worker', note))
  const { call } = await testService(t)
  const record = () => call('POST', '/api/v1/traces', { body: ingestBody({ input: 'x'.repeat(200_000) }) })
  t.equal((await record()).status, 201)
  for (const round of rounds(3, 50)) {
    const answers = Array.from({ length: 20 }, record)
    await threads.at(-1)?.terminate()
    const statuses = (await Promise.all(answers)).map(answer => answer.status)
    t.same([...new Set(statuses)], [201])
    figure('threads killed during 20 requests each, all answered with 201', round)
  }
  t.ok(threads.length > 1, `${threads.length} threads were started`)
})
