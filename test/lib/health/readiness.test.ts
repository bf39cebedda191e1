import type { Sql } from 'postgres'
import t from 'tap'
import { createLog } from '../../../lib/log.ts'
import { startService } from '../../../lib/service.ts'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'
import { testClusterDatabase, testDatabase } from '../../fixtures/database/database.ts'
import { rejectInserts } from '../../fixtures/database/locks.ts'
import { byRelay, testRelay } from '../../fixtures/database/relay.ts'
import { endRecovery, prolongRecovery } from '../../fixtures/recovery.ts'
import { testService } from '../../fixtures/service/service.ts'
import { until } from '../../fixtures/until.ts'

const RECOVERING = { ready: false, reasons: ['the database is starting, recovering or stopping'] }

t.test('a recovering database is not ready, and is reported as recovering', async t => {
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

t.test('a service that starts while the database recovers reports this, and is ready afterwards', async t => {
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

/** Returns the SQLSTATE with which a connection is rejected. */
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

function capture() {
  const lines: Record<string, unknown>[] = []
  const log = createLog('info', { write: line => lines.push(JSON.parse(line)) })
  return {
    log,
    all: () => lines.filter(({ msg }) => msg !== 'request' && msg !== WRITES),
    requests: () => lines.filter(({ msg }) => msg === 'request')
  }
}
const WRITES = 'writing to the database with COPY'
const READY = { level: 'info', msg: 'ready again: writes are accepted', ms: Number }

t.test("a database's failure and return are one line each, even without requests", async t => {
  const database = await testDatabase(t)
  const relay = await testRelay(t, database.target)
  const { log, all, requests } = capture()
  const { call } = await testService(t, { database, log, view: byRelay(relay, database) })
  t.equal((await call('POST', '/api/v1/traces', { body: ingestBody() })).status, 201)
  relay.cut()
  await until(() => all().length > 0)
  t.same(requests().length, 1, 'no request arrived in between')
  for (let probe = 0; probe < 5; probe++) t.equal((await call('GET', '/readyz')).status, 503)
  const [one, other] = await Promise.all([
    call('GET', '/api/v1/traces'),
    call('POST', '/api/v1/traces', { body: ingestBody() })
  ])
  t.same([one.status, other.status], [503, 429])
  relay.mend()
  await until(() => all().at(-1)?.level === 'info')
  const lost = all().filter(({ msg }) => msg !== 'the database rejected a batch')
  t.match(lost, [{ level: 'warn', msg: 'not ready: the database cannot be reached', cause: String }, READY])
  t.equal(lost.length, 2)
  const codes = requests().filter(({ status }) => Number(status) >= 400 && status !== 503)
  t.match(codes, [{ status: 429, code: 'quota_exhausted' }])
  t.ok(requests().some(({ status, code }) => status === 503 && code === 'unavailable'))
  t.notOk(requests().some(({ status, code }) => Number(status) < 400 && code !== undefined))
})

t.test('a full disk is reported once for all batches that it rejects, without stack traces', async t => {
  const database = await testDatabase(t)
  const { log, all } = capture()
  const { call } = await testService(t, { database, log })
  await rejectInserts(database, 'traces', { code: '53100', message: 'could not extend file "base/7"' })
  for (let i = 0; i < 6; i++) {
    t.equal((await call('POST', '/api/v1/traces', { body: ingestBody() })).status, 429)
  }
  await until(() => all().length >= 2)
  const batches = all().filter(({ msg }) => msg === 'the database rejected a batch')
  t.match(batches, [{ level: 'warn', cause: /^could not extend file/, code: '53100', operations: 1 }])
  t.equal(batches.length, 1)
  t.notMatch(JSON.stringify(batches), /stack|\n {4}at /)
  const others = all().filter(({ msg }) => msg !== 'the database rejected a batch')
  t.match(others, [{ level: 'warn', msg: 'not ready: the database disk is full', cause: /^could not extend/ }])
  t.equal(others.length, 1)
})
