/**
 * Creates the data folder of an embedded PostgreSQL, and starts, finds and stops its main process, the postmaster. A
 * postmaster records its socket folder and readiness in postmaster.pid. The file remains if the postmaster is killed.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import type { Binaries } from './binaries.ts'
import { type ClusterUser, identityOf } from './cluster-user.ts'
import { createFile, onCode } from './own-file.ts'
import { isAlive, isListening, readCommandLine } from './process-identity.ts'

/** The number in the socket's name. The embedded PostgreSQL has no TCP port. */
export const SOCKET_PORT = 5432
export const SOCKET_NAME = `.s.PGSQL.${SOCKET_PORT}`
export const SUPERUSER = 'spoor'
export const MAIN_DATABASE = 'postgres'

const POLL_MS = 10
const FAST_STOP_MS = 60_000
const LAST_LINES = 20

export interface Runner {
  readonly binaries: Binaries
  readonly user: ClusterUser | undefined
}

export interface RunningPostmaster {
  readonly pid: number
  readonly socketDir: string
}

/**
 * - `running`: the postmaster accepts connections on its socket.
 * - `busy`: the postmaster is starting or stopping; check again later.
 * - `stopped`: no postmaster runs. A stale postmaster.pid may exist.
 */
export type PostmasterState =
  | ({ readonly state: 'running' } & RunningPostmaster)
  | { readonly state: 'busy' }
  | { readonly state: 'stopped' }

/**
 * Thrown if postgres exits before it is ready, or cannot be started. `lines` holds the last lines that postgres wrote.
 */
export class PostmasterError extends Error {
  override readonly name = 'PostmasterError'
  readonly lines: readonly string[]
  constructor(message: string, lines: readonly string[]) {
    super([message, ...lines].join(': '))
    this.lines = lines
  }
}

/**
 * Size of PostgreSQL's write-ahead log files. PostgreSQL zero-fills each new file while all commits wait, so this size
 * is below the default of 16 MiB (test/bench/RESULTS.md, "The embedded PostgreSQL and its connections"). Recycled files
 * (min_wal_size) are not filled.
 */
const WAL_SEGMENT_MIB = 4

/**
 * Makes the sort order independent of the machine's libraries, because an upgrade of these libraries can change the
 * order.
 */
const LOCALE = ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C']

/**
 * Creates a cluster in `dataDir`. The folder appears only when complete. Its parent belongs to the cluster's user, who
 * could place a link there at any time. Files in the parent are therefore created and removed as that user, and the
 * password file is created next to the parent.
 */
export async function initializeCluster(
  { binaries, user }: Runner,
  dataDir: string,
  password: string,
  { durable = true, locale = LOCALE }: { readonly durable?: boolean; readonly locale?: readonly string[] } = {}
): Promise<void> {
  await removeAbandonedDrafts(dataDir, user)
  const draft = `${dataDir}-${randomUUID()}`
  const passwordFile = `${dirname(dataDir)}-${randomUUID()}`
  await writePassword(passwordFile, password, user)
  const child = spawn(
    binaries.initdb,
    [
      `--pgdata=${draft}`,
      `--username=${SUPERUSER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      ...locale,
      `--wal-segsize=${WAL_SEGMENT_MIB}`,
      '--no-instructions',
      ...(durable ? [] : ['--no-sync'])
    ],
    { ...spawnOptions(user, dirname(dataDir), binaries.libraries), stdio: ['ignore', 'ignore', 'pipe'] }
  )
  const lines = keepLastLines(child)
  const code = await exitOf(child)
  await rm(passwordFile)
  if (code !== 0) throw new PostmasterError('initdb failed', lines)
  await rename(draft, dataDir)
}

async function writePassword(path: string, password: string, user: ClusterUser | undefined): Promise<void> {
  const file = await createFile(path)
  await file.writeFile(password)
  if (user !== undefined) await file.chown(user.uid, user.gid)
  await file.close()
}

const RANDOM = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

/** Removes files left behind by initializations that were killed. */
async function removeAbandonedDrafts(dataDir: string, user: ClusterUser | undefined): Promise<void> {
  const home = dirname(dataDir)
  const drafts = (await readdir(home)).filter(name => name.startsWith(`${basename(dataDir)}-`))
  if (drafts.length > 0)
    await removeAs(
      user,
      drafts.map(name => join(home, name))
    )
  const passwords = (await readdir(dirname(home))).filter(
    name => name.startsWith(`${basename(home)}-`) && RANDOM.test(name.slice(basename(home).length + 1))
  )
  for (const name of passwords) await rm(join(dirname(home), name))
}

/** Removes files as the cluster's user, who could otherwise use a link to make root delete files outside the folder. */
export async function removeAs(user: ClusterUser | undefined, paths: readonly string[]): Promise<void> {
  const child = spawn('rm', ['-rf', '--', ...paths], { ...spawnOptions(user, '/'), stdio: 'ignore' })
  await exitOf(child)
}

/** Creates a private folder as the cluster's user. */
export async function makeFolderAs(user: ClusterUser | undefined, path: string): Promise<void> {
  const child = spawn('mkdir', ['-m', '700', '--', path], { ...spawnOptions(user, '/'), stdio: 'ignore' })
  if ((await exitOf(child)) !== 0) throw new Error(`cannot create the folder ${path}`)
}

export interface StartOptions {
  readonly dataDir: string
  readonly socketDir: string
  readonly settings: Readonly<Record<string, string>>
  /** Called with every line that postgres writes, for as long as it runs. */
  readonly onLine: (line: string) => void
  /** Called with the process while it is still starting. */
  readonly onSpawn?: (child: ChildProcess) => void
}

/** Starts postgres. Resolves when postgres accepts connections; after a crash, once recovery has finished. */
export async function startPostmaster(
  { binaries, user }: Runner,
  { dataDir, socketDir, settings, onLine, onSpawn }: StartOptions
): Promise<ChildProcess> {
  const child = spawn(
    binaries.postgres,
    [
      '-D',
      dataDir,
      '-p',
      String(SOCKET_PORT),
      ...asArguments({
        ...settings,
        listen_addresses: '',
        unix_socket_directories: `"${socketDir.replaceAll('"', '""')}"`,
        unix_socket_permissions: '0700'
      })
    ],
    // PostgreSQL runs detached, so that Ctrl-C reaches only this process, which must finish before PostgreSQL stops.
    { ...spawnOptions(user, dataDir, binaries.libraries), detached: true, stdio: ['ignore', 'ignore', 'pipe'] }
  )
  onSpawn?.(child)
  const lines = keepLastLines(child, onLine)
  const ended = exitOf(child)
  let exited = false
  const noteExit = () => {
    exited = true
  }
  ended.then(noteExit, noteExit)
  while (!exited) {
    const file = await readPostmasterFile(dataDir)
    if (file?.pid === child.pid && file?.status === 'ready') return child
    await delay(POLL_MS)
  }
  // Rejects if the program could not be started at all.
  await ended
  throw new PostmasterError('PostgreSQL did not start', lines)
}

/** Checks whether a postmaster runs on `dataDir`, regardless of which process started it. */
export async function inspectPostmaster(dataDir: string): Promise<PostmasterState> {
  const file = await readPostmasterFile(dataDir)
  if (file === undefined) return { state: 'stopped' }
  const { pid, socketDir } = file
  if (!(await isSameFolder(file.folder, dataDir))) return { state: 'stopped' }
  if (socketDir !== '' && (await isListening(join(socketDir, SOCKET_NAME)))) return { state: 'running', pid, socketDir }
  return isPostmaster(pid, dataDir) ? { state: 'busy' } : { state: 'stopped' }
}

/**
 * Returns whether both paths lead to the same folder. If they do not, postmaster.pid was copied along with its folder.
 */
async function isSameFolder(named: string, dataDir: string): Promise<boolean> {
  // The path may be missing while the file is being written.
  if (named === '' || named === dataDir) return true
  const [one, other] = await Promise.all([named, dataDir].map(path => stat(path).catch(() => undefined)))
  return one !== undefined && one.dev === other?.dev && one.ino === other.ino
}

/** Removes a stale postmaster.pid. postgres replaces a stale file itself, but refuses to start if the file is empty. */
export async function removeStaleFile(dataDir: string, user: ClusterUser | undefined): Promise<void> {
  const path = join(dataDir, 'postmaster.pid')
  if (existsSync(path)) await removeAs(user, [path])
}

/**
 * Removes the socket's lock file if it was copied with its folder, because postgres would trust the pid in a copied
 * lock file.
 */
export async function removeCopiedLock(socketDir: string, dataDir: string, user: ClusterUser | undefined) {
  const path = join(socketDir, `${SOCKET_NAME}.lock`)
  const [, folder = ''] = (await readUnlinked(path))?.split('\n') ?? []
  if (!(await isSameFolder(folder.trim(), dataDir))) await removeAs(user, [path])
}

export function isPostmaster(pid: number, dataDir: string): boolean {
  // If the command line is unknown, assume a postmaster, so that a running postmaster is never overlooked.
  return isAlive(pid) && (readCommandLine(pid)?.includes(`-D ${dataDir} `) ?? true)
}

/** Stops a postmaster: ends its sessions and flushes everything to disk. Resolves when the process has exited. */
export async function stopPostmaster(pid: number, dataDir: string): Promise<void> {
  const deadline = Date.now() + FAST_STOP_MS
  let signal: NodeJS.Signals | undefined = 'SIGINT'
  while (isPostmaster(pid, dataDir)) {
    if (signal !== undefined) process.kill(pid, signal)
    await delay(POLL_MS)
    // SIGQUIT skips the final checkpoint. The next start recovers from the log.
    signal = Date.now() > deadline ? 'SIGQUIT' : undefined
  }
}

interface PostmasterFile {
  readonly pid: number
  readonly folder: string
  readonly socketDir: string
  readonly status: string
}

/**
 * Reads postmaster.pid: pid, data folder, start time, port, socket folder, address, shared memory, status. Returns
 * undefined if the file does not exist.
 */
async function readPostmasterFile(dataDir: string): Promise<PostmasterFile | undefined> {
  const text = await readUnlinked(join(dataDir, 'postmaster.pid'))
  if (text === undefined) return undefined
  const lines = text.split('\n').map(line => line.trim())
  return {
    pid: Number(lines[0] || Number.NaN),
    folder: lines[1] ?? '',
    socketDir: lines[4] ?? '',
    status: lines[7] ?? ''
  }
}

/** Reads a file written by the cluster's user. Does not follow links or block on pipes. */
async function readUnlinked(path: string): Promise<string | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(onCode('ENOENT', undefined))
  try {
    return await file?.readFile('utf8')
  } finally {
    await file?.close()
  }
}

/** Returns options that hide this process's environment (PGPORT, LC_*) from the program and set an accessible cwd. */
function spawnOptions(user: ClusterUser | undefined, cwd: string, libraries?: string) {
  const env = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' }
  const name = process.platform === 'darwin' ? 'DYLD_LIBRARY_PATH' : 'LD_LIBRARY_PATH'
  return { ...identityOf(user), cwd, env: libraries === undefined ? env : { ...env, [name]: libraries } }
}

function asArguments(settings: Record<string, string>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', resolve)
  })
}

function keepLastLines(child: ChildProcess, onLine?: (line: string) => void): readonly string[] {
  const lines: string[] = []
  createInterface(child.stderr!).on('line', line => {
    if (lines.push(line) > LAST_LINES) lines.shift()
    onLine?.(line)
  })
  return lines
}
