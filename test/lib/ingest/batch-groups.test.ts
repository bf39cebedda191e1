import t from 'tap'
import { BatchGroups } from '../../../lib/ingest/batch-groups.ts'
import { isOnCluster, testDatabase } from '../../fixtures/database/database.ts'
import { until } from '../../fixtures/until.ts'

t.test('on one PostgreSQL all operations may share a batch, which is asked for once', async t => {
  const { pool } = await testDatabase(t)
  let times = 0
  const groups = new BatchGroups(work => {
    times++
    return pool.run(work)
  })
  t.equal(groups.groupOf, undefined)
  groups.learn()
  groups.learn()
  t.equal(times, 1)
  if (isOnCluster()) {
    await until(() => groups.groupOf !== undefined)
    const shardOf = (projectId: number) => groups.groupOf?.({ projectId }) ?? 0
    t.equal(shardOf(7), -7, 'a project that is not known yet stands alone')
    const projects = Array.from({ length: 20 }, (_, i) => i + 1)
    await until(() => {
      groups.learn()
      return projects.map(shardOf).every(shard => shard > 0)
    })
    t.equal(new Set(projects.map(shardOf)).size, 4)
    return
  }
  await until(() => {
    // It stops to ask when it has been told.
    const before = times
    groups.learn()
    return times === before && groups.state === 'one'
  })
  t.equal(groups.groupOf, undefined)
  t.equal(times, 1)
})

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
  t.equal(groups.groupOf, undefined)
})
