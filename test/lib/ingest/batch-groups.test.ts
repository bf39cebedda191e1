import t from 'tap'
import { BatchGroups } from '../../../lib/ingest/batch-groups.ts'
import { isOnCluster, testDatabase } from '../../fixtures/database/database.ts'
import { until } from '../../fixtures/until.ts'

t.test(
  'on one PostgreSQL all operations may share a batch, which is asked for once; on a cluster those of a project',
  async t => {
    const { pool } = await testDatabase(t)
    let times = 0
    let answered = 0
    const groups = new BatchGroups(async work => {
      times++
      const result = await pool.run(work)
      answered++
      return result
    })
    t.equal(groups.groupOf?.({ projectId: 7 }), 7, 'nobody knows yet')
    groups.learn()
    groups.learn()
    t.equal(times, 1)
    await until(() => answered === 1)
    t.equal(groups.groupOf?.({ projectId: 7 }), isOnCluster() ? 7 : undefined)
    groups.learn()
    t.equal(times, 1)
  }
)

t.test('where the database cannot be asked, it is asked again', async t => {
  let times = 0
  const groups = new BatchGroups(() => {
    times++
    return Promise.reject(new Error('away'))
  })
  await until(() => {
    groups.learn()
    return times >= 2
  })
  t.equal(groups.groupOf?.({ projectId: 7 }), 7)
})
