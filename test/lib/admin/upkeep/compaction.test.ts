import type { Sql } from 'postgres'
import t, { type Test } from 'tap'
import { applyCompaction, type CompactionOptions, planCompaction } from '../../../../lib/admin/upkeep/compaction.ts'
import { readTraceDetail } from '../../../../lib/store/answers/traces.ts'
import { readLeftovers } from '../../../../lib/store/compaction/rebuild.ts'
import { ingestBody, traceId } from '../../../fixtures/bodies/bodies.ts'
import { deleteWhere, fillBloat } from '../../../fixtures/database/bloat.ts'
import { isOnCluster, type TestDatabase, testDatabase } from '../../../fixtures/database/database.ts'
import { recordTrace, runOf, storedTexts } from '../../../fixtures/database/repacking.ts'
import { seedProject } from '../../../fixtures/database/seed.ts'
import { bytes, testWritePath, writer } from '../../../fixtures/database/write-path.ts'
import { configurationFor, jsonHere, start } from '../../../fixtures/service/spoor.ts'
import { until } from '../../../fixtures/until.ts'

/** Sets up a database in which most of many traces were deleted. */
async function bloated(t: Test) {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    await seedProject(sql)
    await fillBloat(sql, path, 150)
    await deleteWhere(sql, 't.seq % 10 <> 1')
  })
  return { database, path }
}

async function apply(t: Test, database: TestDatabase, sql: Sql, over: Partial<CompactionOptions> = {}, tables = true) {
  const plan = await planCompaction(sql, { rebuildsTables: tables })
  const worker = database.connect({ applicationName: 'compaction' })
  t.teardown(() => worker.end({ timeout: 1 }))
  const result = await applyCompaction(sql, plan, {
    worker,
    signal: new AbortController().signal,
    onProgress: () => {},
    calmMs: 600_000,
    readFree: async () => undefined,
    ...over
  })
  await worker.end({ timeout: 1 })
  return { plan, result }
}

const sizeOf = async (sql: Sql): Promise<number> =>
  (
    await sql<[{ bytes: number }]>`select sum(pg_total_relation_size(oid))::int8 as bytes from pg_class
    where relkind = 'r' and relnamespace = current_schema()::regnamespace`
  )[0].bytes

t.test('the invalid index of an interrupted rebuild is dropped, and the rebuild is repeated', async t => {
  const { database } = await bloated(t)
  await database.pool.run(async sql => {
    const reader = database.connect()
    t.teardown(() => reader.end({ timeout: 1 }))
    await reader.unsafe('begin isolation level repeatable read; select from traces limit 1')
    await sql.unsafe('set statement_timeout = 500')
    await t.rejects(sql.unsafe('reindex index concurrently traces_newest'), { code: '57014' })
    await sql.unsafe('set statement_timeout = 0')
    t.same(await readLeftovers(sql), [{ name: 'traces_newest_ccnew' }])
    await reader.unsafe('rollback')
    t.match((await apply(t, database, sql, {}, false)).result.dropped, ['traces_newest_ccnew'])
    t.same(await readLeftovers(sql), [])
  })
})

if (isOnCluster()) {
  t.test('the tables of a cluster are repacked and vacuumed, and none is rebuilt', async t => {
    const { database, path } = await bloated(t)
    await database.pool.run(async sql => {
      const id = traceId()
      await recordTrace(path, writer(), 'live', runOf(0, id))
      const detail = await readTraceDetail(sql, 1, id)
      const { plan, result } = await apply(t, database, sql)
      t.ok(plan.elsewhere.includes('traces') && plan.elsewhere.includes('spans'))
      t.same([plan.steps, result.done, result.skipped], [[], [], []])
      t.match([plan.repacking.traces, result.repacked], [1, { traces: 1, failed: 0 }])
      t.equal((await storedTexts(sql, 1, id)).groups, 1)
      t.equal(await readTraceDetail(sql, 1, id), detail)
    })
  })
} else {
  t.test('the report changes nothing, and the promised space is freed', async t => {
    const { database, path } = await bloated(t)
    await database.pool.run(async sql => {
      const id = traceId()
      await recordTrace(path, writer(), 'live', runOf(0, id))
      const before = await sizeOf(sql)
      const { groups } = await storedTexts(sql, 1, id)
      const detail = await readTraceDetail(sql, 1, id)
      const plan = await planCompaction(sql, { rebuildsTables: true })
      t.same(await sizeOf(sql), before)
      t.equal((await storedTexts(sql, 1, id)).groups, groups)
      t.equal(plan.repacking.traces, 1)
      const promised = plan.steps.reduce((sum, step) => sum + step.bytes - step.afterBytes, 0)
      t.ok(promised > before / 2, `${promised} of ${before}`)

      const { result } = await apply(t, database, sql)
      const given = before - (await sizeOf(sql))
      t.ok(Math.abs(given - promised) <= 0.2 * promised, `${given} bytes were freed, and ${promised} were promised`)
      t.match(result, { skipped: [], dropped: [], repacked: { traces: 1, failed: 0 } })
      t.equal((await storedTexts(sql, 1, id)).groups, 1)
      t.equal(await readTraceDetail(sql, 1, id), detail)
      const again = await apply(t, database, sql)
      t.same([again.plan.steps, again.result.done, again.result.repacked?.traces], [[], [], 0], 'nothing is left')
    })
  })

  t.test('indexes are rebuilt while traces are recorded, and nothing is lost', async t => {
    const { database, path } = await bloated(t)
    await database.pool.run(async sql => {
      const ids: string[] = []
      let isDone = false
      const writing = (async () => {
        while (!isDone) {
          const body = ingestBody()
          await path.record(writer(), bytes(body))
          ids.push(body.trace.id)
        }
      })()
      writing.catch(() => {})
      const { result } = await apply(t, database, sql, {}, false).finally(() => {
        isDone = true
      })
      await writing
      t.ok(result.done.length > 0)
      t.ok(result.done.every(({ kind }) => kind === 'index'))
      const [row] =
        await sql`select count(*)::int as found from traces where project_id = 1 and id = any (${ids}::uuid[])`
      t.equal(row!.found, ids.length)
    })
  })

  t.test('a compaction that is killed while it rebuilds an index is completed by the next', async t => {
    const { database } = await bloated(t)
    const env = configurationFor(database)
    await database.pool.run(async sql => {
      const reader = database.connect()
      t.teardown(() => reader.end({ timeout: 1 }))
      // The rebuild of an index waits for this snapshot.
      await reader.unsafe('begin isolation level repeatable read; select from projects limit 1')
      const server = database.connect({ applicationName: 'writer' })
      t.teardown(() => server.end({ timeout: 1 }))
      await server`select 1`
      const child = start(['compact', '--apply'], env)
      await until(async () => (await readLeftovers(sql)).length > 0)
      child.kill('SIGKILL')
      const isAway = async () => {
        const found = await sql`
          select from pg_stat_activity where datname = current_database() and application_name ~ 'compaction$'`
        return found.length === 0
      }
      await until(isAway)
      t.equal((await readLeftovers(sql)).length, 1)
      await reader.unsafe('rollback')
      t.match(await jsonHere(['compact', '--apply'], env), { dropped: [/_ccnew$/], skipped: [] })
      t.same(await readLeftovers(sql), [])
      t.match(await jsonHere(['compact'], env), { steps: [], leftovers: [] })
    })
  })
}
