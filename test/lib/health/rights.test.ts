import t from 'tap'
import { readConfig } from '../../../lib/config.ts'
import { describeDenial } from '../../../lib/health/obstacles.ts'
import { createLog } from '../../../lib/log.ts'
import { startService } from '../../../lib/service.ts'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'
import { databaseAt, EMPTY, isOnCluster, runOn, testDatabase } from '../../fixtures/database/database.ts'
import { READ_ONLY, testRole } from '../../fixtures/database/roles.ts'
import { testService } from '../../fixtures/service/service.ts'
import { configurationFor, runHere } from '../../fixtures/service/spoor.ts'
import { until } from '../../fixtures/until.ts'

const skip = isOnCluster() && 'roles of a cluster must be made on every node'

function capture() {
  const lines: Record<string, unknown>[] = []
  return { lines, log: createLog('info', { write: line => lines.push(JSON.parse(line)) }) }
}

t.test('every report names the privilege that a read-only role lacks', { skip }, async t => {
  const database = await testDatabase(t)
  const owner = await testService(t, { database })
  const { name, target } = await testRole(t, database, ...READ_ONLY)
  const { lines, log } = capture()
  const { connect, limit, node } = databaseAt(target)
  const { call } = await testService(t, { database, log, view: { connect, limit, node } })
  const key = owner.key

  const refused = await call('POST', '/api/v1/traces', { key, body: ingestBody() })
  t.match(refused, { status: 429, body: { error: { code: 'quota_exhausted' } } }, 'nothing was stored')
  t.equal((await call('GET', '/api/v1/traces', { key })).status, 200, 'reads are served')
  const denied =
    /^permission denied for table \w+: grant select, insert, update and delete on spoor's tables to the role/
  t.match(await call('GET', '/readyz'), { status: 503, body: { reasons: [denied] } })
  await until(() => lines.some(({ msg }) => /^not ready: permission denied for table/.test(String(msg))))
  t.match(
    lines.filter(({ status }) => status === 429),
    [{ code: 'quota_exhausted', route: 'recordTrace' }]
  )

  const env = { ...configurationFor(database), ...configurationFor({ ...database, target }), PORT: '2' }
  const seen = await runHere(['status', '--json'], env)
  const status = JSON.parse(seen.out)
  t.match(status, { schema: { state: 'current' }, projects: [{ slug: 'default' }] }, 'status reports what it can')
  const asked = await runHere(['project', 'create', 'More'], env)
  t.match(asked, { code: 1, out: '', err: /^spoor: permission denied for table \w+: grant [^\n]*\n$/ })

  await runOn(database.target, `revoke select on rollup_news, projects from ${name}`)
  const less = JSON.parse((await runHere(['status', '--json'], env)).out)
  t.match(less, { schema: { state: 'current' }, projects: [], database: { serverVersion: /^\d/ } })
  t.match(less.problems.join('\n'), /^Permission denied for table projects: grant .*\n.* table rollup_news: grant /)

  await runOn(database.target, `grant select, insert, update, delete on all tables in schema public to ${name}`)
  await runOn(database.target, `grant usage on all sequences in schema public to ${name}`)
  await until(async () => (await call('GET', '/readyz')).status === 200)
  t.equal((await call('POST', '/api/v1/traces', { key, body: ingestBody() })).status, 201)
})

t.test('the server and migrate both say what to grant to a role that may not create tables', { skip }, async t => {
  const database = await testDatabase(t, EMPTY)
  const { name, target } = await testRole(t, database)
  const remedy =
    'permission denied for schema public: grant usage and create on schema public to the role in DATABASE_URL'
  const env = configurationFor({ ...database, target })
  t.match(await runHere(['migrate'], env), { code: 1, out: '', err: `spoor: ${remedy}\n` })
  const { lines, log } = capture()
  const service = await startService(readConfig({ PORT: '0', WORKERS: '1' }), log, databaseAt(target))
  t.teardown(() => service.close())
  const ready = async () => (await fetch(`${service.url}/readyz`)).status
  t.equal(await ready(), 503)
  t.match(
    lines.filter(({ level }) => level === 'error'),
    [{ msg: `not configured: ${remedy}` }]
  )
  await runOn(database.target, `grant create on schema public to ${name}`)
  await until(async () => (await ready()) === 200)
  t.ok(lines.some(({ msg, ms }) => msg === 'ready: the database is reachable and configured' && Number(ms) > 0))
})

t.test('each missing privilege has its remedy', async t => {
  const denial = (message: string) => describeDenial(Object.assign(new Error(message), { code: '42501' }), 'app')
  t.match(denial('permission denied for schema obs'), /: grant usage and create on schema obs to app$/)
  t.match(denial('permission denied for table spans'), /: grant select, insert, update and delete on .* to app$/)
  t.match(denial('permission denied for sequence trace_numbers'), /: grant usage on .*sequences to app$/)
  t.match(denial('must be owner of table traces'), /: run `spoor migrate` as the owner/)
  t.match(denial('permission denied to create extension'), /^permission denied to create extension: app lacks/)
})
