import { spawnSync } from 'node:child_process'
import t from 'tap'
import { testDatabase } from '../fixtures/database/database.ts'
import { testRelay } from '../fixtures/database/relay.ts'
import { testService } from '../fixtures/service/service.ts'
import { until } from '../fixtures/until.ts'

t.test('names follow the conventions: counters, and only counters, end with _total', async t => {
  const { call } = await testService(t)
  const { text } = await call('GET', '/metrics')
  for (const [, name = '', kind] of text.matchAll(/^# TYPE (\w+) (\w+)$/gm)) {
    t.equal(name.endsWith('_total'), kind === 'counter', `${name} is a ${kind}`)
  }
  // If promtool is installed (Debian package `prometheus`), it checks more rules for names and help texts.
  const { error, status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text })
  if (error === undefined) t.equal(status, 0, `${stdout}${stderr}`)
})

t.test('the size of an unreachable database is not reported as 0', async t => {
  const database = await testDatabase(t)
  const relay = await testRelay(t, database.target)
  relay.cut()
  const { call } = await testService(t, { database, view: { connect: relay.connect } })
  const read = async () => (await call('GET', '/metrics')).text
  const away = await read()
  t.notMatch(away, /^spoor_(database_bytes|schema_version) /m)
  t.match(away, /^spoor_ready 0$/m)
  relay.mend()
  await until(async () => /^spoor_database_bytes [1-9]\d+$/m.test(await read()))
  await until(async () => /^spoor_schema_version [1-9]/m.test(await read()))
  t.match(await read(), /^spoor_schema_expected_version [1-9]/m)
})
