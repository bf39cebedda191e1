import t from 'tap'
import { ChangeLog } from '../../../lib/background/change-log.ts'
import { createLog } from '../../../lib/log.ts'
import { readUnfolded } from '../../../lib/store/changes/fold.ts'
import { testDatabase } from '../../fixtures/database/database.ts'
import { seedProject } from '../../fixtures/database/seed.ts'
import { until } from '../../fixtures/until.ts'

t.test('writes get their positions without a reader, and old positions are dropped', async t => {
  const { pool, sqlAccess: sql } = await testDatabase(t)
  const projects = [await pool.run(seedProject), await pool.run(seedProject)]
  const note = (project: number, seq: number) =>
    pool.run(sql => sql`insert into change_news (project_id, seqs) values (${project}, ${[seq]}::bigint[])`)
  const logged = () => pool.run(sql => sql`select project_id as project, seqs from change_log order by 1`)
  const begin = async () => {
    const changeLog = new ChangeLog({ sql, log: createLog('silent'), pauseMs: 10 })
    t.teardown(() => changeLog.close())
    await until(async () => (await pool.run(readUnfolded)).length === 0)
    return changeLog
  }
  for (const project of projects) for (const seq of [3, 1, 3]) await note(project, seq)
  const first = await begin()
  t.same(
    await logged(),
    projects.map(project => ({ project, seqs: [1, 3] }))
  )
  await note(projects[0]!, 5)
  await until(async () => (await pool.run(readUnfolded)).length === 0)
  first.close()
  await pool.run(sql => sql`update change_log set noted_at = now() - interval '40 days' where seqs = '{1,3}'`)
  await begin()
  await until(async () => (await logged()).length === 1)
  t.same(await logged(), [{ project: projects[0], seqs: [5] }])
})
