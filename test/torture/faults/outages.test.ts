/** Tests reports to the operator about a database or a server that fails. */
import { type AddressInfo, createServer } from 'node:net'
import { createLog } from '../../../lib/log.ts'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'
import { readTestServer, runOn, testDatabase } from '../../fixtures/database/database.ts'
import { byRelay, testRelay } from '../../fixtures/database/relay.ts'
import { testService } from '../../fixtures/service/service.ts'
import { configurationFor, runHere } from '../../fixtures/service/spoor.ts'
import { until } from '../../fixtures/until.ts'
import { figure, longTest } from '../orders.ts'

const READY = 'ready again: writes are accepted'

longTest('each cause of an outage is one line, and so is its end', async t => {
  const database = await testDatabase(t)
  const relay = await testRelay(t, database.target)
  const lines: Record<string, unknown>[] = []
  const log = createLog('info', { write: line => lines.push(JSON.parse(line)) })
  const { call } = await testService(t, { database, log, view: byRelay(relay, database) })
  const { target: main } = readTestServer()
  const name = (await database.pool.run(sql => sql`select current_database() as name`))[0]!.name
  const end = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and pid <> pg_backend_pid()`
  const causes: [string, RegExp, () => unknown, () => unknown][] = [
    ['cut off', /the database cannot be reached/, relay.cut, relay.mend],
    ['hanging', /a write to the database did not finish in time|cannot be reached/, relay.hang, relay.mend],
    [
      'read-only',
      /the database does not accept writes/,
      async () => {
        await runOn(main, `alter database ${name} set default_transaction_read_only = on`)
        await runOn(main, end)
      },
      async () => {
        await runOn(main, `alter database ${name} reset default_transaction_read_only`)
        await runOn(main, end)
      }
    ]
  ]
  for (const [what, reason, begin, mend] of causes) {
    const before = lines.length
    const news = () => lines.slice(before).filter(({ msg }) => msg !== 'request')
    await begin()
    await until(async () => {
      await call('POST', '/api/v1/traces', { body: ingestBody() }).catch(() => {})
      return news().some(({ msg }) => String(msg).startsWith('not ready'))
    })
    t.match(news().find(({ msg }) => String(msg).startsWith('not ready'))?.msg, reason, what)
    await mend()
    await until(() => news().some(({ msg }) => msg === READY))
    t.equal(news().filter(({ msg }) => msg === READY).length, 1, what)
    t.ok(news().length < 10, `${what}: no flood`)
    figure(`lines about a database that is ${what}, and about its end`, news().length)
  }
})

longTest(
  'a server that accepts connections but does not respond is a problem, whether one should run or not',
  async t => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    t.teardown(() => silent.close())
    await until(() => silent.listening)
    const PORT = String((silent.address() as AddressInfo).port)
    const env = { ...configurationFor(await testDatabase(t)), PORT }
    const { out } = await runHere(['status', '--no-server', '--json'], env)
    t.match(JSON.parse(out).problems.join('\n'), `The server at http://127.0.0.1:${PORT} does not respond`)
  }
)
