/** The service to measure: `spoor serve` as a separate process, with an embedded PostgreSQL in a temporary folder. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, open, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Sql } from 'postgres'
import { connectTo, type DatabaseTarget } from '../../../lib/database/connection.ts'
import { openEmbedded } from '../../../lib/database/embedded/embedded.ts'
import { createLog } from '../../../lib/log.ts'
import { withDatabaseAt } from '../../fixtures/database/target.ts'
import type { Undo } from './undo.ts'

export interface Service {
  readonly pid: number
  /** Undefined if PostgreSQL runs elsewhere or does not reveal its process id. */
  readonly postmasterPid: number | undefined
  readonly port: number
  readonly key: string
  readonly projectId: number
  /** The database, for COPY and for inspection. */
  readonly target: DatabaseTarget
  readonly sql: Sql
  /** The folder that contains everything, including `dataDir`, the server's own folder. */
  readonly folder: string
  readonly dataDir: string
}

/** The line that `spoor serve --json` prints once it is ready. */
interface Greeting {
  readonly address: string
  readonly key: string | null
  readonly obstacle: string | null
}

export const PROGRAM = fileURLToPath(new URL('../../../bin/spoor.js', import.meta.url))
const { scripts } = JSON.parse(readFileSync(new URL(import.meta.resolve('#package.json')), 'utf8'))
/** The flags of `npm start`. */
const NODE_FLAGS: readonly string[] = scripts.start.split(' ').filter((word: string) => word.startsWith('--'))
const POLL_MS = 20
const STOP_TIMEOUT_MS = 30_000

/** The folders for the service's files. */
export interface Place {
  /** The folder in which a new temporary folder is created. */
  readonly folder: string
  /** A folder to use instead of a temporary folder. The folder is created if missing, and kept. */
  readonly kept?: string | undefined
  /** The folder for the server's CPU profiles; undefined if no profiles are written. */
  readonly profile: string | undefined
}

/** Starts the service. `undo` stops it and removes the temporary files, even if this function rejects. */
export async function startService({ folder: parent, kept, profile }: Place, undo: Undo): Promise<Service> {
  const folder = kept === undefined ? await mkdtemp(join(parent, 'spoor-bench-')) : resolve(kept)
  if (kept === undefined) undo.add(() => rm(folder, { recursive: true, force: true }))
  else await mkdir(folder, { recursive: true })
  // If the current user is root, PostgreSQL runs as another user, who must be able to enter the folder.
  await chmod(folder, 0o755)
  const dataDir = join(folder, 'data')
  // The cluster is opened before the server and closed after it, so that PostgreSQL stops however the server ends.
  const cluster = await openEmbedded(dataDir, 'command', createLog('error'))
  // The database is in another folder if PostgreSQL's user cannot reach this folder.
  const home = await realpath(join(dataDir, 'postgres'))
  if (kept === undefined) undo.add(() => rm(home, { recursive: true, force: true }))
  undo.add(() => cluster.close())
  const sql = connectTo(cluster.target, { applicationName: 'bench' })
  undo.add(() => sql.end({ timeout: 1 }))
  const server = await startServer(folder, { DATA_DIR: dataDir }, profile, undo)
  const key = await keepKey(join(folder, 'key'), server.key)
  return { ...server, key, ...(await readIdentity(sql)), target: cluster.target, sql, folder, dataDir }
}

let databases = 0

/** Starts a server that uses another PostgreSQL server, in a new database that `undo` drops. */
export async function startServiceAt(url: string, place: Place, undo: Undo): Promise<Service> {
  const name = `spoor_bench_${process.pid}_${++databases}`
  const main = connectTo(url, { applicationName: 'bench' })
  undo.add(() => main.end({ timeout: 1 }))
  await main.unsafe(`create database ${name} template template0 encoding 'UTF8' locale 'C'`)
  undo.add(() => main.unsafe(`drop database ${name} with (force)`))
  return startServiceOn(String(withDatabaseAt(url, name)), randomBytes(32).toString('hex'), place, undo)
}

/** Starts the first server that uses this database. */
export async function startServiceOn(
  target: string,
  digestSecret: string,
  { folder: parent, profile }: Place,
  undo: Undo
): Promise<Service> {
  const folder = await mkdtemp(join(parent, 'spoor-bench-'))
  undo.add(() => rm(folder, { recursive: true, force: true }))
  const sql = connectTo(target, { applicationName: 'bench' })
  undo.add(() => sql.end({ timeout: 1 }))
  const variables = { DATABASE_URL: target, KEY_DIGEST_SECRET: digestSecret }
  const server = await startServer(folder, variables, profile, undo)
  return { ...server, key: server.key!, ...(await readIdentity(sql)), target, sql, folder, dataDir: folder }
}

async function readIdentity(sql: Sql): Promise<Pick<Service, 'postmasterPid' | 'projectId'>> {
  const [row] = await sql<{ projectId: number }[]>`select min(id) as "projectId" from projects`
  return { projectId: row!.projectId, postmasterPid: await findPostmaster(sql) }
}

/**
 * Returns the postmaster's process id; undefined if PostgreSQL runs elsewhere, or does not reveal the id to this user.
 */
export async function findPostmaster(sql: Sql): Promise<number | undefined> {
  const question = sql<{ pid: number }[]>`select split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int as pid`
  const [row] = await question.catch(() => [])
  if (row === undefined) return undefined
  const name = await readFile(`/proc/${row.pid}/comm`, 'utf8').catch(() => '')
  return name.trim() === 'postgres' ? row.pid : undefined
}

async function startServer(
  folder: string,
  variables: NodeJS.ProcessEnv,
  profile: string | undefined,
  undo: Undo
): Promise<{ pid: number; port: number; key: string | null }> {
  const { DATABASE_URL, KEY_DIGEST_SECRET, BASE_URL, KEY_PREFIX, ...env } = process.env
  const logFile = join(folder, 'server.log')
  const log = await open(logFile, 'w')
  const child = spawn(process.execPath, [...NODE_FLAGS, ...profileFlags(profile), PROGRAM, 'serve', '--json'], {
    env: { ...env, ...variables, HOST: '127.0.0.1', PORT: '0' },
    // The server is detached, so that Ctrl-C reaches only this process, which stops the server after the load.
    detached: true,
    stdio: ['ignore', 'pipe', log.fd]
  })
  await log.close()
  undo.add(() => stopServer(child))
  const greeting = await readGreeting(child)
  if (greeting !== undefined && greeting.obstacle === null) {
    return { pid: child.pid!, port: Number(new URL(greeting.address).port), key: greeting.key }
  }
  throw new Error(`the server did not start: ${greeting?.obstacle ?? ''}\n${await readFile(logFile, 'utf8')}`)
}

/** A key is shown once, when it is created, so it is kept in a file. */
export async function keepKey(file: string, told: string | null): Promise<string> {
  if (told === null) return readFile(file, 'utf8')
  await writeFile(file, told, { mode: 0o600 })
  return told
}

const profileFlags = (folder: string | undefined) =>
  folder === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', folder]

/** Returns undefined if the process ended without printing a line. */
async function readGreeting(child: ChildProcess): Promise<Greeting | undefined> {
  let text = ''
  child.stdout!.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  while (child.exitCode === null && child.signalCode === null) {
    try {
      return JSON.parse(text)
    } catch {
      await delay(POLL_MS)
    }
  }
  return undefined
}

async function stopServer(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
  child.kill('SIGTERM')
  await exited
  clearTimeout(timer)
}
