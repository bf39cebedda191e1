import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { connectTo } from '../../../../lib/database/connection.ts'
import { findBinaries } from '../../../../lib/database/embedded/binaries.ts'
import { findClusterUser, giveTo } from '../../../../lib/database/embedded/cluster-user.ts'
import {
  initializeCluster,
  inspectPostmaster,
  isPostmaster,
  MAIN_DATABASE,
  removeStaleFile,
  SOCKET_PORT,
  SUPERUSER,
  startPostmaster,
  stopPostmaster
} from '../../../../lib/database/embedded/postmaster.ts'
import { createLog } from '../../../../lib/log.ts'
import { testFolder } from '../../../fixtures/folder.ts'
import { until } from '../../../fixtures/until.ts'

const user = findClusterUser()
const runner = { user, binaries: await findBinaries(user, createLog('warn')) }
const PASSWORD = 'a password for tests only'
const folder = await testFolder(t)
await giveTo(user, folder)
const dataDir = join(folder, 'data')
const options = { dataDir, socketDir: folder, settings: { fsync: 'off' } }

t.test('a cluster appears once it is complete, and the remains of an earlier attempt are removed', async t => {
  await mkdir(`${dataDir}-Abc123`)
  await writeFile(`${dataDir}-Abc123.password`, 'old')
  await initializeCluster(runner, dataDir, PASSWORD, { durable: false })
  t.strictSame(readdirSync(folder), ['data'])
  t.strictSame(await inspectPostmaster(dataDir), { state: 'stopped' })
})

t.test('a cluster that cannot be created leaves nothing that looks like one, and the reason is reported', async t => {
  const other = join(folder, 'other')
  const binaries = { ...runner.binaries, initdb: runner.binaries.postgres }
  const error = await initializeCluster({ ...runner, binaries }, other, PASSWORD, { durable: false }).catch(
    error => error
  )
  t.match(error, { name: 'PostmasterError', message: /^initdb failed: / })
  t.ok(error.lines.length > 0)
  t.notOk(existsSync(other))
})

t.test('accepts connections once it is started, identifies itself, and is gone once it is stopped', async t => {
  const lines: string[] = []
  const child = await startPostmaster(runner, { ...options, onLine: line => lines.push(line) })
  const pid = child.pid!
  const exited = once(child, 'exit')
  t.teardown(() => stopPostmaster(pid, dataDir))
  t.strictSame(await inspectPostmaster(dataDir), { state: 'running', pid, socketDir: folder })
  t.ok(isPostmaster(pid, dataDir))
  t.notOk(isPostmaster(pid, join(folder, 'elsewhere')))
  t.notOk(isPostmaster(process.pid, dataDir))
  const target = { socketDir: folder, port: SOCKET_PORT, user: SUPERUSER, password: PASSWORD, database: MAIN_DATABASE }
  const sql = connectTo(target)
  const [shown] = await sql`select current_setting('fsync') as fsync, current_setting('listen_addresses') as addresses`
  t.strictSame({ ...shown }, { fsync: 'off', addresses: '' })
  await sql`do $$ begin raise log 'a line of the log'; end $$`
  await until(() => lines.some(line => line.includes('a line of the log')))
  const second = startPostmaster(runner, { ...options, onLine: () => {} })
  await t.rejects(
    second,
    { name: 'PostmasterError', message: /postmaster\.pid.* already exists/ },
    'no second one starts'
  )
  const ended = sql`select pg_sleep(60)`.then(
    () => 'answered',
    () => 'ended'
  )
  await stopPostmaster(pid, dataDir)
  t.equal(await ended, 'ended', 'its sessions with it')
  await exited
  t.strictSame(await inspectPostmaster(dataDir), { state: 'stopped' })
  await sql.end({ timeout: 0 })
})

t.test('a failed start reports the last lines of output', async t => {
  const settings = { fsync: 'off', shared_buffers: 'nonsense' }
  const error = await startPostmaster(runner, { ...options, settings, onLine: () => {} }).catch(error => error)
  t.match(error, { name: 'PostmasterError', message: /^PostgreSQL did not start: .*shared_buffers/ })
})

t.test('a stale file is not a postmaster', async t => {
  const dead = spawn(process.execPath, ['--version'], { stdio: 'ignore' })
  await once(dead, 'exit')
  const file = join(dataDir, 'postmaster.pid')
  const text = (pid: number | undefined) => [pid, dataDir, 1, SOCKET_PORT, folder, '', '', 'ready', ''].join('\n')
  for (const content of ['', 'nonsense', text(dead.pid), text(process.pid)]) {
    await writeFile(file, content)
    t.strictSame(await inspectPostmaster(dataDir), { state: 'stopped' }, content)
  }
  await removeStaleFile(dataDir, user)
  t.notOk(existsSync(file))
  await removeStaleFile(dataDir, user)
  t.strictSame(await inspectPostmaster(join(folder, 'nowhere')), { state: 'stopped' })
  await rm(dataDir, { recursive: true })
})
