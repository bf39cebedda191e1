import t, { type Test } from 'tap'
import { type TestDatabase, testDatabase } from '../../fixtures/database/database.ts'
import { grpcClient, METRICS } from '../../fixtures/service/grpc.ts'
import { configurationFor, runSpoor, serve, takenPort, tryKey } from '../../fixtures/service/spoor.ts'
import { until } from '../../fixtures/until.ts'

const KEY_READS = 'spoor_http_requests_total{route="getKey",status="200"}'

t.test('several processes share the port, a dead process is replaced, and all stop together', async t => {
  const database = await testDatabase(t)
  const env = {
    ...configurationFor(database),
    PROCESSES: '2',
    OTLP_GRPC_PORT: '0',
    LOG_LEVEL: 'info',
    SHUTDOWN_GRACE: '3s'
  }
  const { serving, address, key } = await serve(t, env)
  t.equal(await tryKey(address, key!), 200)
  const portsOf = () => [...serving.err.matchAll(/"port":(\d+),"tls":false/g)].map(([, port]) => Number(port))
  await until(() => portsOf().length === 2)
  const [port = 0, other] = portsOf()
  t.equal(port, other, 'including the gRPC port')
  // Each call uses its own connection, so that both processes get some of the calls.
  const overGrpc = () => grpcClient(t, port)(METRICS, new Uint8Array(), `Bearer ${key}`)
  for (let i = 0; i < 4; i++) t.match(await overGrpc(), { status: 'OK' })
  const before = await processesOn(database)
  t.equal(before.length, 2)
  t.notOk(before.includes(serving.pid))
  await countsOfAll(t, address, KEY_READS, 1)
  process.kill(before[0]!, 'SIGKILL')
  let after = before
  await until(async () => {
    after = await processesOn(database)
    return after.length === 2 && !after.includes(before[0]!)
  })
  t.match(serving.err, /a server process exited; starting another/)
  for (let i = 0; i < 4; i++) t.equal(await tryKey(address, key!), 200)
  await countsOfAll(t, address, KEY_READS, 5)
  serving.kill('SIGTERM')
  // Each request uses its own connection, because each response closes its connection.
  const isReady = async () => (await fetch(`${address}/readyz`)).status === 200
  await until(async () => !(await Promise.all([1, 2, 3, 4].map(isReady))).includes(true))
  t.match(await serving.finished, { code: 0 })
  t.notOk([...before, ...after].some(isAlive), 'no process is left')
})

t.test('several processes that cannot listen fail with one line', async t => {
  const env = { ...configurationFor(await testDatabase(t)), PROCESSES: '2', LOG_LEVEL: 'silent' }
  const result = await runSpoor(['serve'], { ...env, PORT: await takenPort(t) })
  t.match(result, { code: 1, out: '', err: /^spoor: [^\n]+\n$/ })
})

/**
 * Waits until each scrape contains the counts of all processes, whichever process responds. The counts never decrease.
 */
async function countsOfAll(t: Test, address: string, name: string, least: number): Promise<void> {
  let last = least
  for (let i = 0; i < 6; i++) {
    const text = await (await fetch(`${address}/metrics`, { headers: { connection: 'close' } })).text()
    const value = (name: string) =>
      Number(
        text
          .split('\n')
          .find(line => line.startsWith(`${name} `))
          ?.split(' ')[1]
      )
    t.ok(value(name) >= last, `${value(name)} after ${last}`)
    t.equal(value('spoor_schema_version'), value('spoor_schema_expected_version'), 'no sum')
    t.equal(value('spoor_ready'), 1)
    last = value(name)
  }
}

/**
 * Returns the numbers of the server processes that are connected to the database, read from their application names.
 */
async function processesOn({ pool }: TestDatabase): Promise<number[]> {
  const rows = await pool.run(
    sql => sql<{ pid: number }[]>`
      select distinct substring(application_name from '^spoor\\[([0-9]+)/1\\]')::int as pid from pg_stat_activity
      where datname = current_database() and application_name like 'spoor[%] key notices' order by pid`
  )
  return rows.map(row => row.pid).filter(isAlive)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
