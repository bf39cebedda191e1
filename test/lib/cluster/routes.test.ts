/**
 * Tests which operations may share a batch, and the table to which a batch is written. test/cluster tests the writing
 * itself.
 */
import t from 'tap'
import { Routes } from '../../../lib/cluster/routes.ts'
import { createLog } from '../../../lib/log.ts'
import { BY_ADDRESS } from '../../../lib/store/write/route.ts'
import { isOnCluster, testDatabase } from '../../fixtures/database/database.ts'
import { until } from '../../fixtures/until.ts'

const log = createLog('silent')

t.test(
  'on one PostgreSQL, all operations may share a batch after a single look-up; on a cluster, those of one node may',
  async t => {
    const { pool, node } = await testDatabase(t)
    let times = 0
    let answered = 0
    const routes = new Routes(
      async work => {
        times++
        const result = await pool.run(work)
        answered++
        return result
      },
      node,
      log
    )
    t.teardown(() => routes.close())
    const batch = [{ projectId: 7 }]
    t.equal(routes.groupOf?.({ projectId: 7 }), -8, 'not known yet')
    t.strictSame(routes.routeOf(batch), BY_ADDRESS)
    routes.learn(batch)
    routes.learn(batch)
    t.equal(times, 1)
    await until(() => answered === 1)
    if (isOnCluster()) {
      await until(() => (routes.groupOf?.({ projectId: 7 }) ?? -1) >= 0)
      t.match(routes.routeOf(batch), { host: { port: Number }, homes: { of: Function } })
      for (const operation of [{ restored: {} }, { copied: {} }])
        t.equal(routes.groupOf?.({ projectId: 7, operation }), -8, `${Object.keys(operation)}: by the coordinator`)
      routes.forget()
      t.equal(routes.groupOf?.({ projectId: 7 }), -8, 'after it has moved')
    } else {
      t.equal(routes.groupOf, undefined)
      t.strictSame(routes.routeOf(batch), BY_ADDRESS)
    }
    routes.learn([])
    t.equal(times, 1)
  }
)

t.test('if the database cannot be queried, the look-up is retried', async t => {
  let times = 0
  const routes = new Routes(
    () => {
      times++
      return Promise.reject(new Error('away'))
    },
    () => t.fail('no node is known') as never,
    log
  )
  await until(() => {
    routes.learn([])
    return times >= 2
  })
  t.equal(routes.groupOf?.({ projectId: 7 }), -8)
})
