/**
 * One project's heavy bodies wait for each other, but another project's write does not wait for all of them. One
 * project's reads, however many and slow, leave connections for other projects.
 */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { ingestBody, span } from '../fixtures/bodies/bodies.ts'
import { countLockWaits, lockTable } from '../fixtures/database/locks.ts'
import { callMessage, post } from '../fixtures/service/mcp.ts'
import { signedIn } from '../fixtures/service/people.ts'
import { type TestService, testService } from '../fixtures/service/service.ts'
import { until } from '../fixtures/until.ts'

const HEAVY = 24

t.test('a project that sends a burst does not make another project wait for all of it', async t => {
  const { call, makeKey, makeProject, key } = await testService(t)
  await makeProject('other')
  const other = await makeKey({ project: 'other' })
  const done: string[] = []
  const record = async (name: string, key: string, length: number) => {
    const input = Array.from({ length }, () => ({ [name]: 1 }))
    // A compressed heavy body arrives at once.
    const body = gzipSync(JSON.stringify(ingestBody({ input })), { level: 1 })
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    const { status } = await call('POST', '/api/v1/traces', { key, body, headers })
    t.equal(status, 201, name)
    done.push(name)
  }
  const heavy = Array.from({ length: HEAVY }, () => record('a', key, 80_000))
  await Promise.all([...heavy, record('b', other.key, 10_000)])
  // If projects did not take turns, this write would be the last. The number of bodies processed before it arrives
  // depends on the machine's load.
  t.ok(done.indexOf('b') < HEAVY - 4, `not behind all of them: ${done.join('')}`)
})

t.test("while all of one project's reads are stuck, others can read", async t => {
  const service = await testService(t)
  const { call, makeKey, makeProject, key, database } = service
  await makeProject('other')
  const other = await makeKey({ project: 'other' })
  const person = await signedIn(service, 'owner@example.com', 'owner')
  const body = ingestBody({ spans: [span()] })
  t.equal((await call('POST', '/api/v1/traces', { body })).status, 201)
  const { id } = body.trace
  const get = callMessage('get_trace', { traceId: id })
  const ways: Record<string, () => Promise<{ status: number }>> = {
    api: () => call('GET', `/api/v1/traces/${id}`),
    tools: () => post(service, get),
    page: () => person.ask('GET', `p/default/traces/${id}/outline`),
    texts: () => person.ask('GET', `p/default/traces/${id}/texts`),
    download: () => person.ask('GET', `p/default/traces/${id}?download=1`)
  }
  const unlock = await lockTable(t, database, 'spans', 'access exclusive')
  let answered = 0
  const stuck = Object.entries(ways).flatMap(([way, read]) =>
    Array.from({ length: HEAVY }, async () => {
      const { status } = await read()
      answered++
      return `${way}: ${status}`
    })
  )
  await until(async () => (await countUnderWay(service)) === stuck.length && (await countLockWaits(database)) >= 3)
  const list = await call('GET', '/api/v1/traces', { key: other.key })
  const tool = await post(service, callMessage('list_traces', {}), { key: other.key })
  t.same([list.status, tool.status, answered], [200, 200, 0])
  await unlock()
  const all = Object.keys(ways).map(way => `${way}: 200`)
  t.same(new Set(await Promise.all(stuck)), new Set(all), 'and then all are answered')
  t.equal((await call('GET', `/api/v1/traces/${id}`, { key })).status, 200)
})

/** Returns the number of reads in flight. */
async function countUnderWay({ call }: TestService): Promise<number> {
  const { text } = await call('GET', '/metrics')
  return Number(/^spoor_reads_under_way (\d+)$/m.exec(text)?.[1])
}
