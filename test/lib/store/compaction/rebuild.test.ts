import t from 'tap'
import { readPid, rebuildTable } from '../../../../lib/store/compaction/rebuild.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'

t.test('a table in use is left alone, and the connection that uses it is named', async t => {
  const database = await testDatabase(t)
  await database.pool.run(async sql => {
    const holder = database.connect({ applicationName: 'holder' })
    t.teardown(() => holder.end({ timeout: 1 }))
    // Also on a cluster, the coordinator has this table, and no other server has it.
    await holder.unsafe('begin; lock table projects in exclusive mode')
    const patience = { timeoutMs: 100, pauseMs: 10, attempts: 2 }
    const worker = database.connect({ applicationName: 'compaction' })
    t.teardown(() => worker.end({ timeout: 1 }))
    const { signal } = new AbortController()
    const pid = await readPid(worker)
    const run = () => rebuildTable({ sql: worker, watcher: sql, pid, signal, onStep: () => {} }, 'projects', patience)
    t.match(await run(), /^spoor\[\d+.*\(PostgreSQL process \d+\)$/)
    await holder.unsafe('rollback')
    t.equal(await run(), undefined)
  })
})
