import t from 'tap'
import { Folding } from '../../../lib/background/folding.ts'
import { createLog } from '../../../lib/log.ts'
import { Metrics } from '../../../lib/metrics.ts'
import { countDeltas } from '../../../lib/store/analytics/rollups/deltas.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { rejectInserts } from '../../fixtures/database/locks.ts'
import { countWrongSums } from '../../fixtures/database/rollups.ts'
import { seedProject, seedTraces } from '../../fixtures/database/seed.ts'
import { until } from '../../fixtures/until.ts'

t.test("folds deltas, counts each project's history until both are done, and computes fortnights", async t => {
  const database = await testDatabase(t)
  const { pool, sqlAccess: sql } = database
  const projects = [await pool.run(seedProject), await pool.run(seedProject)]
  for (const project of projects) {
    const days = ['2025-01-01', '2026-03-04', '2026-03-05'].map(day => ({ startedAt: `${day}T10:00:00.000Z` }))
    await pool.run(sql => seedTraces(sql, project, days))
    await pool.run(sql => sql`delete from rollup_news where project_id = ${project} and started_at < '2026-03-05'`)
    await pool.run(sql => sql`insert into rollup_history (project_id, uncounted) values (${project}, 'infinity')`)
  }
  const metrics = new Metrics()
  const folding = new Folding({ sql, database, log: createLog('silent'), metrics, pauseMs: 10 })
  t.teardown(() => folding.close())
  await until(async () => {
    const [{ left }] = await pool.run(sql => sql<[{ left: number }]>`select count(*) as left from rollup_history`)
    return left === 0 && (await pool.run(countDeltas)) === 0
  })
  for (const project of projects) t.equal(await pool.run(sql => countWrongSums(sql, project)), 0)
  const countRows = async () => {
    const [row] = await pool.run(
      sql => sql<[{ steps: number; fortnights: number }]>`
        select count(*) filter (where level not in ('1', '2', '3', '4')) as steps,
          count(*) filter (where level in ('1', '2', '3', '4')) as fortnights from rollups`
    )
    return row
  }
  t.equal((await countRows()).steps, 2 * 3 * 8, 'three traces in each project, in rows of each level of hours and days')
  await until(async () => (await countRows()).fortnights === 2 * 2 * 4)
  await until(async () => /^spoor_rollup_news 0$/m.test((await metrics.render()).text))
})

t.test('deltas that cannot be folded are one line with the cause, and their age grows until they can', async t => {
  const database = await testDatabase(t)
  const { pool, sqlAccess: sql } = database
  const project = await pool.run(seedProject)
  await pool.run(sql => seedTraces(sql, project, [{ startedAt: '2026-03-05T10:00:00.000Z' }]))
  const accept = await rejectInserts(database, 'rollups', { code: 'P0001', message: 'no more sums' })
  const lines: Record<string, unknown>[] = []
  const log = createLog('info', { write: line => lines.push(JSON.parse(line)) })
  const metrics = new Metrics()
  const folding = new Folding({ sql, database, log, metrics, pauseMs: 10 })
  t.teardown(() => folding.close())
  const age = async () => Number(/^spoor_rollup_news_age_seconds (\S+)$/m.exec((await metrics.render()).text)?.[1])
  await until(async () => lines.length > 0 && (await age()) > 0.3)
  t.match(lines, [{ level: 'warn', msg: /^folding usage totals failed/, cause: 'no more sums', code: 'P0001' }])
  t.equal(lines.length, 1)
  await accept()
  await until(() => lines.length > 1)
  t.match(lines, [{}, { level: 'info', msg: 'folding usage totals works again', failures: Number }])
  await until(async () => (await age()) === 0)
})
