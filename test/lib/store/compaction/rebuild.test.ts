import t from 'tap'
import { readPid, rebuildTable } from '../../../../lib/store/compaction/rebuild.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { lockTable } from '../../../fixtures/database/locks.ts'

t.test('a table in use is left alone, and the connection that uses it is named', async t => {
  const database = await testDatabase(t)
  await database.pool.run(async sql => {
    const release = await lockTable(t, database, 'spans', 'exclusive')
    const patience = { timeoutMs: 100, pauseMs: 10, attempts: 2 }
    const worker = database.connect({ applicationName: 'compaction' })
    t.teardown(() => worker.end({ timeout: 1 }))
    const { signal } = new AbortController()
    const pid = await readPid(worker)
    const run = () => rebuildTable({ sql: worker, watcher: sql, pid, signal, onStep: () => {} }, 'spans', patience)
    t.match(await run(), /^spoor\[\d+.*\(PostgreSQL process \d+\)$/)
    await release()
    t.equal(await run(), undefined)
  })
})
