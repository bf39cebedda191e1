import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { replaceKeySecret, revokeKey } from '../../lib/admin/keys.ts'
import { readConfig } from '../../lib/config.ts'
import { createLog } from '../../lib/log.ts'
import { type Service, startService } from '../../lib/service.ts'
import { ConfigError } from '../../lib/variables.ts'
import { databaseAt, readTestServer, runOn, testDatabase } from '../fixtures/database/database.ts'
import { testRelay } from '../fixtures/database/relay.ts'
import { withDatabaseAt } from '../fixtures/database/target.ts'
import { publicRoute } from '../fixtures/service/public-route.ts'
import { parseRaw, sendRaw } from '../fixtures/service/raw.ts'
import { testService } from '../fixtures/service/service.ts'
import { until } from '../fixtures/until.ts'

const TIME = '2026-01-02T03:04:05Z'
const TRACE = { schemaVersion: 1, trace: { id: 'a'.repeat(32), name: 'run', startedAt: TIME, endedAt: TIME } }

t.test(
  'without a digest secret, the service starts, reports it once, and rejects requests that need a key',
  async t => {
    const lines: string[] = []
    const log = createLog('warn', { write: line => lines.push(line) })
    const { call } = await testService(t, { log, view: { digestSecret: undefined } })
    await assertUnconfigured(t, call)
    await delay(1500)
    t.equal(lines.length, 1)
    t.match(lines[0], /not configured: KEY_DIGEST_SECRET is not set/)
  }
)

t.test(
  "with a digest secret other than the keys', the service starts, reports it once, and rejects requests",
  async t => {
    const { database, call, key } = await testService(t)
    const lines: string[] = []
    const log = createLog('warn', { write: line => lines.push(line) })
    const config = readConfig({ PORT: '0', WORKERS: '1' })
    const other = await startService(config, log, { ...database, digestSecret: 'the secret of somebody else' })
    t.teardown(() => other.close())
    await assertUnconfigured(t, (method, path) => get(other, path, method))
    t.equal(lines.length, 1)
    t.match(
      lines[0],
      /not configured: KEY_DIGEST_SECRET differs from the secret that this database's keys were created with/
    )
    t.equal((await call('GET', '/api/v1/key', { key })).status, 200)

    const making = { keyPrefix: 'spoor', digestSecret: 'the secret of somebody else' }
    await database.pool.run(sql => replaceKeySecret(sql, making, true))
    await until(async () => (await get(other, '/readyz')).status === 200)
    await until(async () => (await call('GET', '/api/v1/key', { key })).status === 500)
    await assertUnconfigured(t, call)
  }
)

t.test('without a schema, the service waits for one, unless it may create it', async t => {
  const target = await emptyDatabase(t)
  const config = { ...readConfig({ PORT: '0', WORKERS: '1' }), autoMigrate: false }
  const waiting = await startService(config, createLog('silent'), databaseAt(target))
  t.teardown(() => waiting.close())
  await assertUnconfigured(t, (method, path) => get(waiting, path, method))
  const making = await startService({ ...config, autoMigrate: true }, createLog('silent'), databaseAt(target))
  t.teardown(() => making.close())
  t.equal((await get(making, '/readyz')).status, 200)
  await until(async () => (await get(waiting, '/readyz')).status === 200)
  t.equal((await get(waiting, '/api/v1/key')).status, 401)
})

t.test('a database that starts late, or is briefly unreachable, requires no restart', async t => {
  const database = await testDatabase(t)
  const relay = await testRelay(t, database.target)
  relay.cut()
  const { call, key, makeKey } = await testService(t, { database, view: { connect: relay.connect } })
  t.equal((await call('GET', '/healthz')).status, 200)
  t.match(await call('GET', '/readyz'), {
    status: 503,
    body: { ready: false, reasons: ['the database cannot be reached'] }
  })
  t.equal((await call('GET', '/api/v1/key')).status, 503)
  t.equal((await call('POST', '/api/v1/traces', { body: TRACE })).status, 429)
  relay.mend()
  await until(async () => (await call('GET', '/readyz')).status === 200)
  t.equal((await call('GET', '/api/v1/key', { key })).status, 200)
  relay.cut()
  t.equal((await call('GET', '/readyz')).status, 503)
  relay.mend()
  await until(async () => (await call('GET', '/readyz')).status === 200)
  // Notifications arrive again too, and make the server reject a revoked key sooner than it would reread the key.
  await until(async () => {
    const { key, keyId } = await makeKey()
    await call('GET', '/api/v1/key', { key })
    await database.pool.run(sql => revokeKey(sql, keyId))
    await delay(300)
    return (await call('GET', '/api/v1/key', { key })).status === 401
  }, 30_000)
  t.pass('notifications arrive again')
})

t.test('a read-only database is not ready', async t => {
  const { call, database } = await testService(t)
  const name = await database.pool.run(async sql => (await sql`select current_database() as name`)[0]?.name)
  await runOn(database.target, `alter database ${name} set default_transaction_read_only = on`)
  await database.pool.run(
    sql => sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name like '%writer'`
  )
  await until(async () => (await call('GET', '/readyz')).body.reasons[0] === 'the database does not accept writes')
  t.equal((await call('GET', '/readyz')).status, 503)
})

t.test('a server that cannot write traces is not ready, whatever else works', async t => {
  const database = await testDatabase(t)
  const relay = await testRelay(t, database.target)
  // Small writes and reads use another connection.
  const connect: typeof database.connect = (options, onSocket) =>
    (options?.applicationName === 'writer' ? relay : database).connect(options, onSocket)
  const { call } = await testService(t, { database, view: { connect } })
  const record = () =>
    call('POST', '/api/v1/traces', { body: { ...TRACE, trace: { ...TRACE.trace, id: 'b'.repeat(32) } } })
  t.equal((await call('GET', '/readyz')).status, 200)
  relay.cut()
  t.match(await call('GET', '/readyz'), { status: 503, body: { reasons: ['the database cannot be reached'] } })
  t.equal((await record()).status, 429)
  t.equal((await call('GET', '/api/v1/traces')).status, 200)
  relay.mend()
  await until(async () => (await call('GET', '/readyz')).status === 200)
  t.equal((await record()).status, 201)
})

t.test('the log says why the database is unreachable', async t => {
  const database = await testDatabase(t)
  const lines: string[] = []
  const log = createLog('warn', { write: line => lines.push(line) })
  const config = readConfig({ PORT: '0', WORKERS: '1' })
  const { connect } = databaseAt('postgres://127.0.0.1:1/none')
  const service = await startService(config, log, { ...database, connect })
  t.teardown(() => service.close())
  t.match(lines.join(''), /"cause":"connect ECONNREFUSED 127.0.0.1:1".*the database cannot be reached/)
})

t.test('closing answers requests in flight and accepts no new ones', async t => {
  const started = signal()
  const finish = signal()
  const slow = publicRoute('/slow', async () => {
    started.give()
    await finish.given
    return { body: { done: true } }
  })
  const service = await testService(t, { plugins: [slow] })
  const idle = connect(service.port, '127.0.0.1')
  await once(idle, 'connect')
  const underWay = sendRaw(service.port, 'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n')
  await started.given
  const closing = service.close()
  t.equal(service.close(), closing, 'closing twice has the same effect as closing once')
  // Connections that were opened before the close are still accepted.
  const refusal = () =>
    request(service.url).then(
      () => undefined,
      error => error.code
    )
  await until(async () => (await refusal()) === 'ECONNREFUSED')
  finish.give()
  const answer = parseRaw(await underWay)
  t.same([answer.status, answer.body, answer.headers.connection], [200, '{"done":true}', 'close'])
  await closing
  idle.destroy()
})

t.test('closing writes queued operations', async t => {
  const service = await testService(t)
  const writes = Array.from({ length: 40 }, (_, index) => {
    const id = index.toString(16).padStart(32, '0')
    return service.call('POST', '/api/v1/traces', { body: { ...TRACE, trace: { ...TRACE.trace, id } } })
  })
  await Promise.race(writes)
  await service.close()
  const answers = await Promise.allSettled(writes)
  const stored = answers.filter(answer => answer.status === 'fulfilled' && answer.value.status === 201).length
  const [row] = await service.database.pool.run(sql => sql`select count(*) as count from traces`)
  t.equal(row?.count, stored, 'exactly the acknowledged traces are stored')
})

t.test('an unavailable address is rejected in one line', async t => {
  const { port, database, config } = await testService(t)
  const start = (more: object) => startService({ ...config, ...more }, createLog('silent'), database)
  await t.rejects(start({ port }), new ConfigError(`PORT ${port} on 127.0.0.1 is in use by another process`))
  await t.rejects(start({ host: '192.0.2.1' }), { name: 'ConfigError', message: /^HOST must be an address/ })
})

type Call = (method: string, path: string) => Promise<{ status: number; body: { error?: { code: string } } }>

async function assertUnconfigured(t: Test, call: Call): Promise<void> {
  for (const path of ['/api/v1', '/healthz']) t.equal((await call('GET', path)).status, 200, path)
  t.match(await call('GET', '/readyz'), { status: 503, body: { reasons: ['not configured'] } })
  const unconfigured = { status: 500, body: { error: { code: 'not_configured' } } }
  t.match(await call('GET', '/api/v1/key'), unconfigured)
  t.match(await call('POST', '/api/v1/traces'), unconfigured)
  t.equal((await call('GET', '/nothing')).status, 404)
  t.equal((await call('PUT', '/api/v1/key')).status, 405)
}

async function get({ url }: Service, path: string, method = 'GET') {
  const response = await request(url + path, { method: method as 'GET' })
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary members of responses.
  return { status: response.statusCode, body: (await response.body.json()) as any }
}

async function emptyDatabase(t: Test) {
  const { target } = readTestServer()
  const name = `spoor_test_empty_${process.pid}`
  await runOn(target, `create database ${name}`)
  t.teardown(() => runOn(target, `drop database ${name} with (force)`))
  return withDatabaseAt(target, name)
}

function signal() {
  let give = () => {}
  const given = new Promise<void>(resolve => {
    give = resolve
  })
  return { given, give }
}
