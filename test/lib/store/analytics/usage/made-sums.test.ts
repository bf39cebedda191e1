import t from 'tap'
import { foldDeltas } from '../../../../../lib/store/analytics/rollups/fold.ts'
import { readMadeUsage } from '../../../../../lib/store/analytics/usage/made-sums.ts'
import { ingestBody, span } from '../../../../fixtures/bodies/bodies.ts'
import { testDatabase } from '../../../../fixtures/database/database.ts'
import { seedProject } from '../../../../fixtures/database/seed.ts'
import { makeSomeUsage } from '../../../../fixtures/database/usage-sums.ts'
import { bytes, testWritePath, writer } from '../../../../fixtures/database/write-path.ts'

t.test('few traces with many steps are not read one by one: sums are computed for them', async t => {
  const database = await testDatabase(t)
  const path = testWritePath(t, database)
  await database.pool.run(async sql => {
    const projectId = await seedProject(sql)
    const times = { startedAt: '2026-11-21T10:00:00Z', endedAt: '2026-11-21T10:00:01Z' }
    for (let i = 0; i < 2; i++) {
      const body = ingestBody({ ...times, spans: [span({ kind: 'tool', name: 'search', ...times })] })
      await path.record(writer({ projectId }), bytes(body))
    }
    t.ok((await foldDeltas(sql, projectId, 100)) > 0)
    const period = { from: Date.UTC(2026, 10, 21), to: Date.UTC(2026, 10, 22), step: 'hour' as const, offset: 0 }
    const read = () => readMadeUsage(sql, projectId, { period, interval: 'none', field: 'step', limit: 5 })
    t.match(await read(), { from: period.from, to: period.to, rows: [{ key: 'search', steps: 2 }] })
    t.equal(await makeSomeUsage(sql, projectId), false, 'there are few')

    await sql`update project_totals set spans = 300000 where project_id = ${projectId} and traces > 0`
    t.match(await read(), { to: Date.UTC(2026, 10, 21, 10), rows: [] }, 'the covered time ends before their hour')
    t.equal(await makeSomeUsage(sql, projectId), true)
    t.match(await read(), { from: period.from, to: period.to, rows: [{ key: 'search', steps: 2 }] })
  })
})
