/** Tests a server that may open fewer connections to PostgreSQL than it would use. */
import { isDeepStrictEqual } from 'node:util'
import t, { type Test } from 'tap'
import { revokeKey } from '../../lib/admin/keys.ts'
import type { SocketTarget } from '../../lib/database/connection.ts'
import { classifyFailure } from '../../lib/database/failure.ts'
import { Pool } from '../../lib/database/pool.ts'
import { ConnectionLimit } from '../../lib/database/pooled/connection-limit.ts'
import { STUCK } from '../../lib/health/obstacles.ts'
import { createLog } from '../../lib/log.ts'
import { databaseAt, testClusterDatabase } from '../fixtures/database/database.ts'
import { type Answer, type TestService, testService } from '../fixtures/service/service.ts'
import { configurationFor, runHere } from '../fixtures/service/spoor.ts'
import { until } from '../fixtures/until.ts'

const database = await testClusterDatabase(t)
const { pool: administrator, cluster } = database
const TIME = '2026-01-02T03:04:05Z'

/** Returns the same database with the credentials of a role that may open at most `most` connections. */
async function limitedTo(most: number): Promise<SocketTarget> {
  const [user, password] = [`limited_to_${most}_${Math.random().toString(36).slice(2)}`, 'a password']
  await administrator.run(sql =>
    sql.unsafe(
      `create role ${user} login password '${password}' connection limit ${most}; grant ${cluster.target.user} to ${user}`
    )
  )
  return { ...cluster.target, user, password }
}

async function countConnections(user: string): Promise<number> {
  const [row] = await administrator.run(
    sql =>
      sql`select count(*) as count from pg_stat_activity where usename = ${user} and backend_type = 'client backend'`
  )
  return row?.count
}

/** Each round has several requests at once, so that there are more requests than connections. */
const ROUNDS = 8

const idOf = (n: number) => n.toString(16).padStart(32, '0')

/**
 * Sends many writes, reads, scores, patches, wrong keys and requests to /readyz at once. Returns the number of each
 * outcome.
 */
async function useAll({ call }: TestService, first: number, rounds: number): Promise<Record<string, number>> {
  const seen: Record<string, number> = {}
  const note = (name: string, { status }: { status: number }) => {
    const key = `${name} ${status}`
    seen[key] = (seen[key] ?? 0) + 1
  }
  const round = async (n: number) => {
    const id = idOf(first + n)
    const trace = { id, name: 'run', startedAt: TIME, endedAt: TIME }
    const path = `/api/v1/traces/${id}`
    note('record', await call('POST', '/api/v1/traces', { body: { schemaVersion: 1, trace } }))
    note('get', await call('GET', path))
    const others = [
      call('GET', '/api/v1/traces').then(answer => note('list', answer)),
      call('GET', '/api/v1/project').then(answer => note('project', answer)),
      call('PATCH', path, { body: { metadata: { n } } }).then(answer => note('patch', answer)),
      call('POST', `${path}/scores`, { body: { name: 'good', dataType: 'boolean', value: true } }).then(answer =>
        note('score', answer)
      ),
      call('GET', '/api/v1/key', { key: `spoor_live_${'a'.repeat(16)}_${'b'.repeat(43)}` }).then(answer =>
        note('wrong key', answer)
      ),
      // On a busy machine, the check may exceed its time limit, whatever the number of connections.
      call('GET', '/readyz').then(({ status, body }) =>
        note('ready', { status: isDeepStrictEqual(body.reasons, [STUCK]) ? 200 : status })
      )
    ]
    await Promise.all(others)
    note('delete', await call('DELETE', path))
  }
  await Promise.all(Array.from({ length: rounds }, (_, n) => round(n)))
  return seen
}

const allWell = (rounds: number) => ({
  'record 201': rounds,
  'get 200': rounds,
  'list 200': rounds,
  'project 200': rounds,
  'patch 200': rounds,
  'score 201': rounds,
  'wrong key 401': rounds,
  'ready 200': rounds,
  'delete 200': rounds
})

async function hearsOfKeys(t: Test, { call, makeKey }: TestService): Promise<void> {
  await until(async () => {
    const { key, keyId } = await makeKey()
    t.equal((await call('GET', '/api/v1/key', { key })).status, 200)
    await administrator.run(sql => revokeKey(sql, keyId))
    await new Promise(resolve => setTimeout(resolve, 300))
    return (await call('GET', '/api/v1/key', { key })).status === 401
  })
}

for (const most of [5, 10]) {
  t.test(
    `with a role limited to ${most} connections, everything works, and the server reports the shortage`,
    async t => {
      const target = await limitedTo(most)
      const { connect } = databaseAt(target)
      const told: object[] = []
      const limit = new ConnectionLimit(16, shortage => told.push(shortage))
      const service = await testService(t, { database, view: { connect, limit } })
      t.same(await useAll(service, most * 1000, ROUNDS), allWell(ROUNDS))
      t.same(await useAll(service, most * 2000, ROUNDS), allWell(ROUNDS))
      await hearsOfKeys(t, service)
      t.match(told[0], { wanted: 16 })
      let ready: Answer | undefined
      await until(async () => {
        ready = await service.call('GET', '/readyz')
        return ready.status === 200
      })
      t.match(ready?.body, { ready: true, lacks: [/the database allows this process \d+ of 16/] })
      await service.close()
      await until(async () => (await countConnections(target.user)) === 0)
      const env = { ...configurationFor({ ...database, target }), PORT: '2' }
      t.match(
        (await runHere(['status', '--json'], env)).out,
        new RegExp(`The role in DATABASE_URL allows ${most} connections, .*DATABASE_CONNECTIONS`)
      )
    }
  )
}

t.test('a process opens no more than DATABASE_CONNECTIONS connections', async t => {
  const target = await limitedTo(100)
  const { connect } = databaseAt(target)
  const limit = new ConnectionLimit(5)
  const service = await testService(t, {
    database,
    view: { connect, limit },
    config: { databaseConnections: 5 }
  })
  let most = 0
  let isOver = false
  const watching = (async () => {
    while (!isOver) most = Math.max(most, await countConnections(target.user))
  })()
  t.same(await useAll(service, 90_000, ROUNDS), allWell(ROUNDS))
  await hearsOfKeys(t, service)
  isOver = true
  await watching
  // PostgreSQL still counts a backend for a moment after its client has disconnected.
  t.ok(most >= 4 && most <= 7, `${most} connections`)
  const { lacks = [] } = (await service.call('GET', '/readyz')).body
  t.notMatch(lacks.join(), 'connections', 'no connections are reported missing, because the limit is configured')
})

t.test('a pool that has a connection waits for it if it cannot open another', async t => {
  const { connect } = databaseAt(await limitedTo(1))
  const pool = new Pool(onClose => connect({ onClose }), { size: 4 })
  t.teardown(() => pool.end())
  const answers = await Promise.all(
    [1, 2, 3, 4, 5].map(n => pool.run(sql => sql`select ${n}::int as n, pg_sleep(0.05)`))
  )
  t.same(
    answers.map(([row]) => row?.n),
    [1, 2, 3, 4, 5]
  )
})

t.test('a pool that has none retries for a while, and then gives the reason', async t => {
  const { connect } = databaseAt(await limitedTo(1))
  const other = connect()
  t.teardown(() => other.end({ timeout: 1 }))
  await other`select`
  const pool = new Pool(onClose => connect({ onClose }), { size: 2 })
  t.teardown(() => pool.end())
  const error = await pool.run(sql => sql`select 1`).catch(error => error)
  t.equal(error.code, '53300')
  t.equal(classifyFailure(error), 'refused')
  const later = pool.run(sql => sql`select 1 as one`)
  await other.end({ timeout: 1 })
  t.match(await later, [{ one: 1 }])
})

t.test('a role that may have three connections is enough to start', async t => {
  const target = await limitedTo(3)
  const { connect } = databaseAt(target)
  const limit = new ConnectionLimit(16)
  const service = await testService(t, { database, log: createLog('silent'), view: { connect, limit } })
  t.equal((await service.call('GET', '/readyz')).status, 200)
})
