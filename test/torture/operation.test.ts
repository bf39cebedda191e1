import type { Worker } from 'node:worker_threads'
import t from 'tap'
import { ingestBody } from '../fixtures/bodies/bodies.ts'
import { testService } from '../fixtures/service/service.ts'
import { dataFolder, serve, stop } from '../fixtures/service/spoor.ts'
import { until } from '../fixtures/until.ts'
import { checkLoad, type Load, startLoad } from './load/load.ts'
import { figure, rounds } from './orders.ts'

/** What a server is given to answer what is under way and to write what is queued, and its PostgreSQL to stop. */
const GRACE_MS = 30_000

t.test('SIGTERM under load loses nothing, and ends in time', async t => {
  const env = { DATA_DIR: await dataFolder(t) }
  const loads: Load[] = []
  let { serving, address, key } = await serve(t, env)
  for (const round of rounds(1, 20)) {
    const load = startLoad(address, key!)
    loads.push(load)
    await until(() => load.answered() >= 60)
    const start = performance.now()
    const { code, err } = await stop(serving)
    const took = performance.now() - start
    t.equal(code, 0, err)
    t.ok(took < GRACE_MS, `ended after ${took} ms`)
    figure('stops under load; the last took, ms', `${round}; ${Math.round(took)}`)
    await load.stop()
    const next = await serve(t, env)
    serving = next.serving
    address = next.address
  }
  await checkLoad(t, address, key!, loads)
})

t.test('threads that die under requests are replaced, and the requests are answered', async t => {
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
    figure('threads ended under 20 requests each, all answered 201', round)
  }
  t.ok(threads.length > 1, `${threads.length} threads were started`)
})
