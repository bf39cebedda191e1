import t, { type Test } from 'tap'
import { ingestBody } from '../fixtures/bodies.ts'
import { readTestServer, runOn, type TestDatabase, testDatabase } from '../fixtures/database.ts'
import { testRelay } from '../fixtures/relay.ts'
import { type TestService, testService } from '../fixtures/service.ts'
import { figure } from '../fixtures/torture.ts'
import { until } from '../fixtures/until.ts'

/** The promise: so long after the store's return, everything is as before. */
const RECOVERY_MS = 5000

/** Lets the store refuse, looks at what is answered meanwhile, lets it return, and measures how long that takes. */
async function refuseAndReturn(
  t: Test,
  name: string,
  { call, database }: TestService,
  fault: { begin(): unknown; end(): unknown; readsGoOn?: boolean }
): Promise<void> {
  const write = () => call('POST', '/api/v1/traces', { body: ingestBody() })
  const ready = async () => (await call('GET', '/readyz', { key: null })).status
  t.equal((await write()).status, 201, `${name}: before`)
  t.equal(await ready(), 200)
  await fault.begin()
  const refused = await write()
  t.match(refused, { status: 429, headers: { 'retry-after': '1' }, body: { error: { code: 'quota_exhausted' } } }, name)
  const read = await call('GET', '/api/v1/traces')
  t.equal(read.status, fault.readsGoOn ? 200 : 503, `${name}: a read`)
  t.equal(await ready(), 503, `${name}: not ready`)
  await fault.end()
  const start = performance.now()
  await until(async () => (await write()).status === 201 && (await call('GET', '/api/v1/traces')).status === 200)
  await until(async () => (await ready()) === 200)
  const took = performance.now() - start
  figure(`${name}: whole again after, ms`, Math.round(took))
  t.ok(took < RECOVERY_MS, `${name}: whole again after ${took} ms`)
  const { traceCount } = (await call('GET', '/api/v1/project')).body
  const [row] = await database.store.read(sql => sql`select count(*) as n from traces`)
  t.equal(traceCount, row?.n, `${name}: the totals agree`)
}

/** Runs a statement about the test's database from another one, and ends the service's connections. */
async function administer({ target }: TestDatabase, statement: (name: string) => string): Promise<void> {
  const { target: main } = readTestServer()
  const name = typeof target === 'string' ? new URL(target).pathname.slice(1) : target.database
  await runOn(main, statement(name))
  await runOn(main, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`)
}

t.test('a store that refuses: connections cut, none to be had, read-only', async t => {
  const database = await testDatabase(t)
  const relay = await testRelay(t, database.target)
  const service = await testService(t, { database, view: { connect: relay.connect } })
  await refuseAndReturn(t, 'connections cut', service, { begin: relay.cut, end: relay.mend })
  await refuseAndReturn(t, 'no connection to be had', service, {
    begin: () => administer(database, name => `alter database ${name} allow_connections false`),
    end: () => administer(database, name => `alter database ${name} allow_connections true`)
  })
  await refuseAndReturn(t, 'read-only, as a standby is', service, {
    readsGoOn: true,
    begin: () => administer(database, name => `alter database ${name} set default_transaction_read_only = on`),
    end: () => administer(database, name => `alter database ${name} reset default_transaction_read_only`)
  })
})
