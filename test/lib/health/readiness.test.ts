import type { Sql } from 'postgres'
import t from 'tap'
import { startService } from '../../../lib/service.ts'
import { testClusterDatabase } from '../../fixtures/database/database.ts'
import { endRecovery, prolongRecovery } from '../../fixtures/recovery.ts'
import { testService } from '../../fixtures/service/service.ts'
import { until } from '../../fixtures/until.ts'

const RECOVERING = { ready: false, reasons: ['the database is starting, recovering or stopping'] }

t.test('a database that recovers is not ready, and is said to recover', async t => {
  const database = await testClusterDatabase(t)
  const { cluster } = database
  const { call } = await testService(t, { database })
  t.equal((await call('GET', '/readyz')).status, 200)
  await cluster.pause()
  await prolongRecovery(cluster.dataDir)
  const resumed = cluster.resume()
  await until(async () => (await call('GET', '/readyz')).body.reasons[0] === RECOVERING.reasons[0])
  t.match(await call('GET', '/readyz'), { status: 503, body: RECOVERING })
  await endRecovery(cluster.dataDir)
  await resumed
  await until(async () => (await call('GET', '/readyz')).status === 200)
})

t.test('a service that starts while the database recovers says so, and is ready when it has', async t => {
  const database = await testClusterDatabase(t)
  const { cluster } = database
  const first = await testService(t, { database })
  await first.close()
  await cluster.pause()
  await prolongRecovery(cluster.dataDir)
  const resumed = cluster.resume()
  await until(async () => (await refusal(database.connect())) === '57P03')
  const service = await startService(first.config, first.app.log, database)
  t.teardown(() => service.close())
  const ready = async () => {
    const response = await fetch(`${service.url}/readyz`)
    return { status: response.status, body: await response.json() }
  }
  t.match(await ready(), { status: 503, body: RECOVERING })
  await endRecovery(cluster.dataDir)
  await resumed
  await until(async () => (await ready()).status === 200)
})

/** The SQLSTATE with which a connection is refused. */
async function refusal(sql: Sql): Promise<unknown> {
  try {
    await sql`select`
    return undefined
  } catch (error) {
    return (error as { code?: unknown }).code
  } finally {
    await sql.end({ timeout: 0 }).catch(() => {})
  }
}
