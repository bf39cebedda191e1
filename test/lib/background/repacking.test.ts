import type { Sql } from 'postgres'
import t, { type Test } from 'tap'
import { RepackAge, Repacking, type RepackingOptions } from '../../../lib/background/repacking.ts'
import { createLog } from '../../../lib/log.ts'
import { Metrics } from '../../../lib/metrics.ts'
import { tracePortions } from '../../../lib/store/repacking/portions.ts'
import { readRepackBacklog } from '../../../lib/store/repacking/progress.ts'
import { deleteTrace } from '../../../lib/store/trace/deletion.ts'
import { endBody, hexId, span, spansBody, startBody, traceId } from '../../fixtures/bodies/bodies.ts'
import { type TestDatabase, testDatabase } from '../../fixtures/database/database.ts'
import { recordTrace, runOf, storedTexts } from '../../fixtures/database/repacking.ts'
import { seedProject } from '../../fixtures/database/seed.ts'
import { bytes, testWritePath, writer } from '../../fixtures/database/write-path.ts'
import { until } from '../../fixtures/until.ts'

function startRepacking(t: Test, database: TestDatabase, options: Partial<RepackingOptions> = {}): Repacking {
  const common = { sql: database.sqlAccess, database, log: createLog('silent'), metrics: new Metrics() }
  const repacking = new Repacking({ ...common, isCalm: () => true, afterMs: 0, ...options })
  t.teardown(() => repacking.close())
  return repacking
}

const groupsOf = async (sql: Sql, projectId: number, id: string) => (await storedTexts(sql, projectId, id)).groups

t.test('a trace that arrives in pieces is repacked soon, whichever of two servers does it', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    const keys = [writer({ projectId: await seedProject(sql) }), writer({ projectId: await seedProject(sql) })]
    startRepacking(t, database)
    startRepacking(t, database, { isCalm: () => false })
    for (const key of keys) {
      for (const way of ['live', 'otlp'] as const) {
        const id = traceId()
        await recordTrace(path, key, way, runOf(0, id))
        await until(async () => (await groupsOf(sql, key.projectId, id)) === 1)
      }
    }
  })
})

t.test('a running trace waits until it has ended, and a deleted one is forgotten', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    const key = writer({ projectId: await seedProject(sql) })
    const [running, deleted] = [startBody(), startBody()]
    const { id } = running.trace
    for (const body of [running, deleted]) await path.record(key, bytes(body))
    // A random text is as long when it is packed.
    const text = hexId(2500)
    for (let i = 0; i < 3; i++) await path.append(key, id, bytes(spansBody(span({ input: text }))))
    t.equal(await groupsOf(sql, key.projectId, id), 3)
    startRepacking(t, database)
    const waits = async () => (await sql`select from repack_waits where project_id = ${key.projectId}`).length
    await until(async () => (await waits()) === 2)
    t.equal(await groupsOf(sql, key.projectId, id), 3, 'it is running')
    await path.end(key, id, bytes(endBody()))
    await deleteTrace(sql, key.projectId, deleted.trace.id)
    await until(async () => (await waits()) === 0)
    t.equal(await groupsOf(sql, key.projectId, id), 1)
  })
})

t.test('a trace is calm once it has not changed for long enough, and until then it is not in the backlog', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    const key = writer({ projectId: await seedProject(sql) })
    const id = traceId()
    await recordTrace(path, key, 'live', runOf(0, id))
    // A tenth of this time passes between two rounds.
    const afterMs = 2000
    startRepacking(t, database, { afterMs })
    const marks = async () => (await sql`select from repack_marks`).length
    await until(async () => (await marks()) >= 2)
    const before = await readRepackBacklog(sql, afterMs * 1000)
    t.ok(
      before.every(({ waiting }) => waiting === 0),
      'no mark is that old'
    )
    await until(async () => (await groupsOf(sql, key.projectId, id)) === 1)
  })
})

t.test('traces that are already stored are a backlog, and the walk passes over it', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    const key = writer({ projectId: await seedProject(sql) })
    const ids = [traceId(), traceId()]
    for (const id of ids) await recordTrace(path, key, 'live', runOf(0, id))
    await sql`insert into repack_marks select now() - interval '1 day', nextval('trace_numbers')`
    const own = async () => (await readRepackBacklog(sql, 0)).find(({ projectId }) => projectId === key.projectId)!
    const first = await own()
    t.match(first, { waiting: 2, to: 0 })
    const age = new RepackAge().next([first], 1000)
    t.same([age.waiting, age.ageMs(3000)], [2, 2000])
    startRepacking(t, database, { afterMs: 60_000 })
    startRepacking(t, database)
    await until(async () => (await own()).waiting === 0)
    t.equal(age.next([await own()], 4000).ageMs(5000), 0)
    for (const id of ids) t.equal(await groupsOf(sql, key.projectId, id), 1)
  })
})

t.test('a trace that cannot be unpacked is logged, and the others are repacked', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    const key = writer({ projectId: await seedProject(sql) })
    const [broken, whole] = [traceId(), traceId()]
    for (const id of [broken, whole]) await recordTrace(path, key, 'live', runOf(0, id))
    await sql`
      update spans s set packed = overlay(packed placing '\\xffffffff' from 11) from traces t
      where t.project_id = ${key.projectId} and t.id = ${broken} and s.project_id = ${key.projectId}
        and s.trace_seq = t.seq and s.packed is not null`
    const lines: Record<string, unknown>[] = []
    const log = createLog('info', { write: line => lines.push(JSON.parse(line)) })
    startRepacking(t, database, { log })
    await until(async () => (await groupsOf(sql, key.projectId, whole)) === 1)
    t.match(lines, [{ level: 'error', msg: 'a trace could not be repacked', project: key.projectId }])
  })
})

t.test('if repacking is off, nothing is noted or measured', async t => {
  const database = await testDatabase(t)
  const metrics = new Metrics()
  startRepacking(t, database, { afterMs: undefined, metrics })
  t.notMatch((await metrics.render()).text, /spoor_repacking/)
})

t.test('traces are examined in portions of few spans', async t => {
  const trace = (spanCount: number) => ({ spanCount })
  const counts = (...all: number[]) => tracePortions(all.map(trace)).map(part => part.map(({ spanCount }) => spanCount))
  t.same(counts(), [])
  t.same(counts(0, 0, 5000, 0, 1), [[0, 0, 5000, 0], [1]], 'a trace without spans can come first')
  t.same(counts(2000, 3000, 1, 9000, 1), [[2000, 3000], [1], [9000], [1]])
})
