/** Tests spoor with a standby, a failover to the standby, and PgBouncer. */
import t, { type Test } from 'tap'
import { request } from 'undici'
import { prepareFirstStart } from '../../../lib/admin/first-start.ts'
import { revokeKey } from '../../../lib/admin/keys.ts'
import { readConfig } from '../../../lib/config.ts'
import type { SocketTarget } from '../../../lib/database/connection.ts'
import { createLog } from '../../../lib/log.ts'
import { type Service, startService } from '../../../lib/service.ts'
import { ingestBody } from '../../fixtures/bodies/bodies.ts'
import { startStandby } from '../../fixtures/database/cluster.ts'
import { databaseAt, runOn, testClusterDatabase, testDatabase } from '../../fixtures/database/database.ts'
import { lacksPgBouncer, startPgBouncer } from '../../fixtures/database/pgbouncer.ts'
import { tcpWay } from '../../fixtures/database/relay.ts'
import { type TestService, testService } from '../../fixtures/service/service.ts'
import { configurationFor, runHere } from '../../fixtures/service/spoor.ts'
import { until } from '../../fixtures/until.ts'
import { figure, isLong } from '../orders.ts'

const silent = createLog('silent')
const CONFIG = readConfig({ PORT: '0', WORKERS: '1' })

/** Sends a request to a service in a separate process. */
async function ask({ url }: Service, method: string, path: string, key?: string, body?: object) {
  const response = await request(url + path, {
    method: method as 'GET',
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    body: body === undefined ? null : JSON.stringify(body)
  })
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary members of responses.
  return { status: response.statusCode, body: (await response.body.json()) as any }
}

t.test('a server that starts on a standby serves reads, rejects writes, and accepts them after promotion', async t => {
  const primary = await testClusterDatabase(t)
  const first = await testService(t, { database: primary })
  const body = ingestBody()
  const path = `/api/v1/traces/${body.trace.id}`
  t.equal((await first.call('POST', '/api/v1/traces', { body })).status, 201)
  await first.close()
  const standby = await startStandby(primary.cluster)
  t.teardown(() => standby.stop())
  const there = databaseAt(standby.target)
  const service = await startService(CONFIG, silent, there)
  t.teardown(() => service.close())
  const { key } = first
  const reasons = ['the database does not accept writes']
  t.match(await ask(service, 'GET', '/readyz'), { status: 503, body: { reasons } })
  t.equal((await ask(service, 'GET', path, key)).status, 200)
  t.equal((await ask(service, 'GET', '/api/v1/traces', key)).status, 200)
  t.equal((await ask(service, 'GET', '/api/v1/key', key)).status, 200)
  for (const [method, place, sent] of [
    ['POST', '/api/v1/traces', ingestBody()],
    ['PATCH', path, { metadata: { a: 1 } }],
    ['POST', `${path}/scores`, { name: 'good', dataType: 'boolean', value: true }],
    ['DELETE', path, undefined]
  ] as const) {
    t.match(await ask(service, method, place, key, sent), { status: 429 }, `${method} ${place}`)
  }
  t.same(await prepareFirstStart(there, 'spoor'), { key: undefined, obstacle: undefined }, 'a project already exists')
  await runOn(standby.target, 'select pg_promote()')
  const promoted = performance.now()
  await until(async () => (await ask(service, 'GET', '/readyz')).status === 200)
  figure('time until a promoted standby accepts writes, ms', Math.round(performance.now() - promoted))
  t.equal((await ask(service, 'POST', '/api/v1/traces', key, ingestBody())).status, 201)
  t.equal((await ask(service, 'DELETE', path, key)).status, 200)
})

if (isLong) {
  t.test('a standby without a schema is not configured, until it is promoted', async t => {
    const primary = await testClusterDatabase(t)
    await primary.pool.run(sql => sql.unsafe('drop schema public cascade; create schema public'))
    const standby = await startStandby(primary.cluster)
    t.teardown(() => standby.stop())
    const lines: string[] = []
    const log = createLog('warn', { write: line => lines.push(line) })
    const service = await startService(CONFIG, log, databaseAt(standby.target))
    t.teardown(() => service.close())
    t.match(await ask(service, 'GET', '/readyz'), { status: 503, body: { reasons: ['not configured'] } })
    t.match(await ask(service, 'GET', '/api/v1/key'), { status: 500, body: { error: { code: 'not_configured' } } })
    t.match(lines.join(''), /no schema yet, but the database does not accept writes/)
    await runOn(standby.target, 'select pg_promote()')
    await until(async () => (await ask(service, 'GET', '/readyz')).status === 200)
    t.equal((await ask(service, 'GET', '/api/v1/key')).status, 401)
  })

  t.test('a failover to a promoted standby loses no acknowledged write, and needs no restart', async t => {
    const primary = await testClusterDatabase(t, { synchronous_commit: 'remote_apply' })
    const first = await testService(t, { database: primary })
    await first.close()
    const standby = await startStandby(primary.cluster)
    t.teardown(() => standby.stop())
    // Every commit waits for the standby, so an acknowledged write exists there too.
    await runOn(primary.target, "alter system set synchronous_standby_names = '*'")
    await runOn(primary.target, 'select pg_reload_conf()')
    const [one, other] = [await tcpWay(t, primary.target), await tcpWay(t, standby.target)]
    const { user, password, database } = primary.cluster.target
    const url = `postgres://${user}:${password}@127.0.0.1:${one},127.0.0.1:${other}/${database}`
    const service = await startService(
      CONFIG,
      silent,
      databaseAt(`${url}?target_session_attrs=read-write&sslmode=disable`)
    )
    t.teardown(() => service.close())
    const { key } = first
    const stored: string[] = []
    const statuses = new Set<number>()
    let isOver = false
    const clients = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        const body = ingestBody()
        const { status } = await ask(service, 'POST', '/api/v1/traces', key, body)
        statuses.add(status)
        if (status === 201) stored.push(body.trace.id)
        if (status !== 201) await new Promise(resolve => setTimeout(resolve, 20))
      }
    })
    await until(() => stored.length > 200)
    await primary.cluster.pause()
    const ended = performance.now()
    await until(async () => (await ask(service, 'GET', '/readyz')).status === 503)
    await runOn(standby.target, 'select pg_promote()')
    const before = stored.length
    await until(() => stored.length > before + 200)
    figure('time until 200 more are stored after a failover, ms', Math.round(performance.now() - ended))
    isOver = true
    await Promise.all(clients)
    t.strictSame(
      [...statuses].filter(status => ![201, 429].includes(status)),
      [],
      'there were no other responses'
    )
    await until(async () => (await ask(service, 'GET', '/readyz')).status === 200)
    for (const id of stored) {
      const { status } = await ask(service, 'GET', `/api/v1/traces/${id}`, key)
      if (status !== 200) t.fail(`${id} was answered 201 and is ${status}`)
    }
    t.ok(stored.length > 400)
    await primary.cluster.resume()
  })

  t.test('PgBouncer in session mode', { skip: lacksPgBouncer }, async t => {
    const database = await testDatabase(t)
    const url = await startPgBouncer(t, database.target as SocketTarget, 'session')
    const { connect } = databaseAt(`${url}?sslmode=disable`)
    const service = await testService(t, { database, view: { connect } })
    t.equal((await service.call('GET', '/readyz')).status, 200)
    await useAll(t, service)
    const { key, keyId } = await service.makeKey()
    t.equal((await service.call('GET', '/api/v1/key', { key })).status, 200)
    await database.pool.run(sql => revokeKey(sql, keyId))
    await until(async () => (await service.call('GET', '/api/v1/key', { key })).status === 401)
  })

  for (const mode of ['transaction', 'statement']) {
    for (const robin of ['0', '1']) {
      t.test(
        `PgBouncer in ${mode} mode is rejected (server_round_robin ${robin})`,
        { skip: lacksPgBouncer },
        async t => {
          const database = await testDatabase(t)
          const more = { server_round_robin: robin }
          const url = await startPgBouncer(t, database.target as SocketTarget, mode, more)
          const lines: string[] = []
          const log = createLog('warn', { write: line => lines.push(line) })
          const service = await startService(CONFIG, log, databaseAt(`${url}?sslmode=disable`))
          t.teardown(() => service.close())
          t.match(await ask(service, 'GET', '/readyz'), { status: 503, body: { reasons: ['not configured'] } })
          t.match(await ask(service, 'GET', '/api/v1/key'), {
            status: 500,
            body: { error: { code: 'not_configured' } }
          })
          t.match(lines.join(''), /not configured: DATABASE_URL points to a pooler .*pool_mode = session/)
          const env = {
            ...configurationFor({ ...database, target: `${url}?sslmode=disable` }),
            PORT: String(service.port)
          }
          const status = await runHere(['status', '--json'], env)
          t.equal(status.code, 1)
          t.match(JSON.parse(status.out).problems, [
            /^DATABASE_URL points to a pooler .*pool_mode = session/,
            `The server at ${service.url} is not ready: not configured. See its log for what is missing.`
          ])
        }
      )
    }
  }
}

async function useAll(t: Test, { call }: TestService): Promise<void> {
  const bodies = Array.from({ length: 200 }, () => ingestBody())
  const answers = await Promise.all(bodies.map(body => call('POST', '/api/v1/traces', { body })))
  t.ok(answers.every(({ status }) => status === 201))
  const [{ trace }] = bodies as [ReturnType<typeof ingestBody>]
  const path = `/api/v1/traces/${trace.id}`
  const reads = await Promise.all(bodies.map(() => call('GET', '/api/v1/traces')))
  t.ok(reads.every(({ status }) => status === 200))
  t.equal((await call('PATCH', path, { body: { metadata: { a: 1 } } })).status, 200)
  t.equal((await call('POST', `${path}/scores`, { body: { name: 'a', dataType: 'boolean', value: true } })).status, 201)
  t.equal((await call('DELETE', path)).status, 200)
}
