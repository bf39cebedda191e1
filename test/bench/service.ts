/** What is measured: `spoor serve` as a process of its own, and an embedded PostgreSQL in a temporary folder. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, open, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Sql } from 'postgres'
import { connectTo, type Target } from '../../lib/database/connection.ts'
import { openEmbedded } from '../../lib/database/embedded/embedded.ts'
import { createLog } from '../../lib/log.ts'
import type { Undo } from './undo.ts'

export interface Service {
  readonly pid: number
  readonly postmasterPid: number
  readonly port: number
  readonly key: string
  readonly projectId: number
  /** The database, for COPY and for looking at it. */
  readonly target: Target
  readonly sql: Sql
  /** Where everything is, and in it the server's own. */
  readonly folder: string
  readonly dataDir: string
}

/** What `spoor serve --json` says when it is ready. */
interface Greeting {
  readonly address: string
  readonly key: string | null
  readonly obstacle: string | null
}

export const PROGRAM = fileURLToPath(new URL('../../bin/spoor.js', import.meta.url))
const { scripts } = JSON.parse(readFileSync(new URL(import.meta.resolve('#package.json')), 'utf8'))
/** Those of `npm start`. */
const NODE_FLAGS: readonly string[] = scripts.start.split(' ').filter((word: string) => word.startsWith('--'))
const POLL_MS = 20
const STOP_TIMEOUT_MS = 30_000

/** Where everything is put. */
export interface Place {
  /** What a new folder is made in, for the time. */
  readonly folder: string
  /** A folder that is made if need be, and kept; instead of the new one. */
  readonly kept?: string | undefined
  /** Where the server leaves CPU profiles; undefined: none are made. */
  readonly profile: string | undefined
}

/** Starts everything in its place; `undo` ends it and removes what is not kept, also where this rejects. */
export async function startService({ folder: parent, kept, profile }: Place, undo: Undo): Promise<Service> {
  const folder = kept === undefined ? await mkdtemp(join(parent, 'spoor-bench-')) : resolve(kept)
  if (kept === undefined) undo.add(() => rm(folder, { recursive: true, force: true }))
  else await mkdir(folder, { recursive: true })
  // For a root process PostgreSQL runs as another user, who must be able to pass.
  await chmod(folder, 0o755)
  const dataDir = join(folder, 'data')
  // Opened before the server and closed after it, so that PostgreSQL ends however the server ended.
  const cluster = await openEmbedded(dataDir, 'command', createLog('error'))
  // The database is elsewhere where its user cannot reach the folder.
  const home = await realpath(join(dataDir, 'postgres'))
  if (kept === undefined) undo.add(() => rm(home, { recursive: true, force: true }))
  undo.add(() => cluster.close())
  const sql = connectTo(cluster.target, { applicationName: 'bench' })
  undo.add(() => sql.end({ timeout: 1 }))
  const { pid, greeting } = await startServer(folder, { DATA_DIR: dataDir }, profile, undo)
  const key = await keepKey(join(folder, 'key'), greeting.key)
  const [row] = await sql<{ postmasterPid: number; projectId: number }[]>`
    select split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int as "postmasterPid",
      (select min(id) from projects) as "projectId"`
  return {
    ...row!,
    pid,
    port: Number(new URL(greeting.address).port),
    key,
    target: cluster.target,
    sql,
    folder,
    dataDir
  }
}

/** Starts a server of an empty database that runs already; `undo` ends the server. */
export async function startServiceAt(url: string, postmasterPid: number, folder: string, undo: Undo): Promise<Service> {
  await mkdir(folder)
  const sql = connectTo(url, { applicationName: 'bench' })
  undo.add(() => sql.end({ timeout: 1 }))
  const env = { DATABASE_URL: url, KEY_DIGEST_SECRET: 'a secret of the benchmark', DATA_DIR: folder }
  const { pid, greeting } = await startServer(folder, env, undefined, undo)
  const port = Number(new URL(greeting.address).port)
  const key = await keepKey(join(folder, 'key'), greeting.key)
  return { pid, postmasterPid, port, key, projectId: 1, target: url, sql, folder, dataDir: folder }
}

async function startServer(
  folder: string,
  own: NodeJS.ProcessEnv,
  profile: string | undefined,
  undo: Undo
): Promise<{ pid: number; greeting: Greeting }> {
  const { DATABASE_URL, KEY_DIGEST_SECRET, BASE_URL, KEY_PREFIX, ...env } = process.env
  const logFile = join(folder, 'server.log')
  const log = await open(logFile, 'w')
  const child = spawn(process.execPath, [...NODE_FLAGS, ...profileFlags(profile), PROGRAM, 'serve', '--json'], {
    env: { ...env, ...own, HOST: '127.0.0.1', PORT: '0' },
    // Detached: the terminal's Ctrl-C is for us, who stop the server when the load has stopped.
    detached: true,
    stdio: ['ignore', 'pipe', log.fd]
  })
  await log.close()
  undo.add(() => stopServer(child))
  const greeting = await readGreeting(child)
  if (greeting !== undefined && greeting.obstacle === null) return { pid: child.pid!, greeting }
  throw new Error(`the server did not start: ${greeting?.obstacle ?? ''}\n${await readFile(logFile, 'utf8')}`)
}

/** A key is told once, where it is made. */
export async function keepKey(file: string, told: string | null): Promise<string> {
  if (told === null) return readFile(file, 'utf8')
  await writeFile(file, told, { mode: 0o600 })
  return told
}

const profileFlags = (folder: string | undefined) =>
  folder === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', folder]

/** Undefined: it ended without a word. */
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
