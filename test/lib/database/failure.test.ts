import { createServer } from 'node:net'
import t from 'tap'
import { connectTo } from '../../../lib/database/connection.ts'
import { classifyFailure, endsConnection } from '../../../lib/database/failure.ts'
import { isOnCluster, readTestServer, testDatabase } from '../../fixtures/database/database.ts'

const database = await testDatabase(t)

t.test("classifies the server's messages", async t => {
  const sql = database.connect()
  t.teardown(() => sql.end({ timeout: 1 }))
  const cases: [state: string, failure: string][] = [
    ['40001', 'retry'],
    ['40P01', 'retry'],
    ['CIINF', 'retry'],
    ['53100', 'refused'],
    ['53200', 'refused'],
    ['53300', 'refused'],
    ['57P03', 'refused'],
    // If this error does not end the session, it comes from a cluster's worker, and the coordinator has passed it on.
    ['57P01', 'lost'],
    ['57P02', 'lost'],
    ['25006', 'refused'],
    ['57014', 'refused'],
    ['55P03', 'refused'],
    ['58030', 'refused'],
    ['28P01', 'refused'],
    ['3D000', 'refused'],
    ['08006', 'lost'],
    ['08P01', 'lost'],
    ['23505', 'bug'],
    ['42P01', 'bug'],
    ['22021', 'bug'],
    ['XX000', 'bug']
  ]
  for (const [state, failure] of cases) {
    const error = await sql.unsafe(`do $$ begin raise sqlstate '${state}'; end $$`).catch(error => error)
    t.equal(error.code, state)
    t.equal(classifyFailure(error), failure, state)
  }
})

t.test('classifies the end of a session by what may have been committed', t => {
  for (const code of ['57P01', '57P02', '57P04', '57P05', '25P03', '25P04', 'XX000']) {
    const error = Object.assign(new Error(code), { name: 'PostgresError', code, severity: 'FATAL' })
    t.equal(classifyFailure(error), 'lost', code)
    t.ok(endsConnection(error))
  }
  t.end()
})

t.test("recognises a coordinator's messages about its workers by their words if the code is not specific", t => {
  const say = (message: string) =>
    Object.assign(new Error(message), { name: 'PostgresError', code: 'XX000', severity: 'ERROR' })
  t.equal(classifyFailure(say('could not find valid entry for shard 102016')), 'retry')
  const away = say('failure on connection marked as essential: 10.0.0.7:5432')
  t.equal(classifyFailure(away), 'lost')
  for (const words of [
    'server closed the connection unexpectedly\n\tThis probably means the server terminated abnormally',
    'connection establishment for node 10.0.0.7:5432 failed',
    'could not establish any connections to the node 10.0.0.7:5432 after 30000 ms',
    'could not commit transaction for shard 102020 on at least one active node',
    "failed to prepare transaction 'citus_0_1_2_3' on host 10.0.0.7:5432",
    'failed to read result "1_2" from node 10.0.0.7:5432',
    'cannot connect to 10.0.0.7:5432 to fetch intermediate results',
    'could not receive data from server: Connection reset by peer',
    'could not send data to server: Broken pipe',
    'SSL connection has been closed unexpectedly',
    'no connection to the server',
    'connection not open'
  ])
    t.equal(classifyFailure(say(words)), 'lost', words)
  t.notOk(endsConnection(away), 'the coordinator is reachable')
  t.equal(classifyFailure(say('connection to the remote node spoor@10.0.0.7:5432 failed')), 'lost')
  t.equal(classifyFailure(say('cache lookup failed')), 'bug')
  t.end()
})

t.test('classifies driver and network errors', t => {
  const cases: [properties: object, failure: string][] = [
    [{ code: 'CONNECTION_CLOSED' }, 'lost'],
    [{ code: 'CONNECTION_ENDED' }, 'lost'],
    [{ code: 'CONNECTION_DESTROYED' }, 'lost'],
    [{ code: 'CONNECTION_LOST' }, 'lost'],
    [{ code: 'ECONNRESET', syscall: 'read' }, 'lost'],
    [{ code: 'EPIPE', syscall: 'write' }, 'lost'],
    [{ code: 'ETIMEDOUT', syscall: 'read' }, 'lost'],
    [{ code: 'ETIMEDOUT', syscall: 'connect' }, 'refused'],
    [{ code: 'ECONNREFUSED', syscall: 'connect' }, 'refused'],
    [{ code: 'ENOENT', syscall: 'connect' }, 'refused'],
    [{ code: 'EAI_AGAIN', syscall: 'getaddrinfo' }, 'refused'],
    [{ code: 'CONNECT_TIMEOUT' }, 'refused'],
    [{ code: 'POOL_FULL' }, 'refused'],
    [{ code: 'POOL_CLOSED' }, 'refused'],
    [{ code: 'ENOENT', syscall: 'open' }, 'bug'],
    [{ code: 'UNDEFINED_VALUE' }, 'bug'],
    [{ code: 'not_found' }, 'bug'],
    [{}, 'bug']
  ]
  for (const [properties, failure] of cases) {
    t.equal(classifyFailure(Object.assign(new Error(), properties)), failure, JSON.stringify(properties))
  }
  for (const value of [undefined, null, 'text', 1]) t.equal(classifyFailure(value), 'bug')
  t.end()
})

t.test('treats an unreachable server as a refusal', async t => {
  const silent = createServer(socket => socket.destroy())
  await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as { port: number }
  await new Promise(resolve => silent.close(resolve))
  const { target } = readTestServer()
  const user = typeof target === 'string' ? new URL(target).username : target.user
  const unreachable = [
    `postgres://${user}@127.0.0.1:${port}/postgres`,
    `postgres://${user}@localhost:${port}/postgres`,
    { socketDir: '/nonexistent', port: 5432, user, password: 'x', database: 'postgres' },
    ...(typeof target === 'string'
      ? []
      : [
          // The nodes of a cluster require no password.
          ...(isOnCluster() ? [] : [{ ...target, password: 'wrong' }]),
          { ...target, database: 'nonexistent' }
        ])
  ]
  for (const place of unreachable) {
    const sql = connectTo(place)
    const error = await sql`select 1`.catch(error => error)
    t.equal(classifyFailure(error), 'refused', `${error.code} ${error.message}`)
    t.ok(endsConnection(error))
    await sql.end({ timeout: 0 })
  }
})
