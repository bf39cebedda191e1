/**
 * Starts, finds and stops the main process of an embedded PostgreSQL, its postmaster, and makes its data folder. A
 * postmaster writes into the file postmaster.pid of that folder where it listens and whether it is ready. The file
 * stays behind if the postmaster is killed.
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
import { createFile } from './own-file.ts'
import { isAlive, readCommandLine } from './process-identity.ts'
import { isListening } from './socket-probe.ts'

/** The number in the name of the socket; there is no TCP port. */
export const SOCKET_PORT = 5432
export const SOCKET_NAME = `.s.PGSQL.${SOCKET_PORT}`
export const SUPERUSER = 'spoor'
export const MAIN_DATABASE = 'postgres'

const POLL_MS = 10
const FAST_STOP_MS = 60_000
const LAST_LINES = 20

/** The programs, and the user that they run as. */
export interface Runner {
  readonly binaries: Binaries
  readonly user: ClusterUser | undefined
}

export interface RunningPostmaster {
  readonly pid: number
  readonly socketDir: string
}

/**
 * - `running`: the postmaster answers on its socket.
 * - `busy`: it is starting or stopping. Ask again.
 * - `stopped`: there is no postmaster. A postmaster.pid may be left over.
 */
export type PostmasterState =
  | ({ readonly state: 'running' } & RunningPostmaster)
  | { readonly state: 'busy' }
  | { readonly state: 'stopped' }

/** Thrown if postgres ended before it was ready, or could not be started. `lines` are the last lines that it wrote. */
export class PostmasterError extends Error {
  override readonly name = 'PostmasterError'
  readonly lines: readonly string[]
  constructor(message: string, lines: readonly string[]) {
    super([message, ...lines].join(': '))
    this.lines = lines
  }
}

/**
 * The size of the files of PostgreSQL's log. PostgreSQL fills each new file with zeros, and all commits wait
 * meanwhile. So the files are smaller than PostgreSQL's own choice of 16 MiB (test/bench/RESULTS.md, "The embedded
 * PostgreSQL and its connections"). Files that are used again (min_wal_size) are not filled.
 */
const WAL_SEGMENT_MIB = 4

/** Text is sorted in the same way whatever libraries the machine has, now and after an upgrade. */
const LOCALE = ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C']

/**
 * Makes a new cluster in `dataDir`. The folder appears only when it is complete. Its parent belongs to the cluster's
 * user, who could put a link there at any time. So everything in it is made and removed as that user, and the
 * password's file is beside it.
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

/** Removes what earlier attempts left behind when they were killed. */
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

/** Removes files as the cluster's user. If root removed them, that user could lead it out of the folder by a link. */
export async function removeAs(user: ClusterUser | undefined, paths: readonly string[]): Promise<void> {
  const child = spawn('rm', ['-rf', '--', ...paths], { ...spawnOptions(user, '/'), stdio: 'ignore' })
  await exitOf(child)
}

/** Makes a private folder as the cluster's user. */
export async function makeFolderAs(user: ClusterUser | undefined, path: string): Promise<void> {
  const child = spawn('mkdir', ['-m', '700', '--', path], { ...spawnOptions(user, '/'), stdio: 'ignore' })
  if ((await exitOf(child)) !== 0) throw new Error(`cannot make the folder ${path}`)
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

/** Starts postgres. Resolves when it takes connections, which after a crash is when it has recovered. */
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
    // Detached, because Ctrl-C in the terminal shall reach only us: the service must finish before PostgreSQL stops.
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

/** Finds out whether a postmaster runs on `dataDir`, whoever started it. */
export async function inspectPostmaster(dataDir: string): Promise<PostmasterState> {
  const file = await readPostmasterFile(dataDir)
  if (file === undefined) return { state: 'stopped' }
  const { pid, socketDir } = file
  if (!(await isSameFolder(file.folder, dataDir))) return { state: 'stopped' }
  if (socketDir !== '' && (await isListening(join(socketDir, SOCKET_NAME)))) return { state: 'running', pid, socketDir }
  return isPostmaster(pid, dataDir) ? { state: 'busy' } : { state: 'stopped' }
}

/** Whether both names are of one folder. Where they are not, the file was copied together with its folder. */
async function isSameFolder(named: string, dataDir: string): Promise<boolean> {
  // While the file is being written, the name may be missing.
  if (named === '' || named === dataDir) return true
  const [one, other] = await Promise.all([named, dataDir].map(path => stat(path).catch(() => undefined)))
  return one !== undefined && one.dev === other?.dev && one.ino === other.ino
}

/** Removes a left-over postmaster.pid. postgres replaces such a file itself, but refuses to start if it is empty. */
export async function removeStaleFile(dataDir: string, user: ClusterUser | undefined): Promise<void> {
  const path = join(dataDir, 'postmaster.pid')
  if (existsSync(path)) await removeAs(user, [path])
}

/**
 * Removes the socket's lock file if it was copied together with its folder: postgres would believe the process that it
 * names.
 */
export async function removeCopiedLock(
  socketDir: string,
  dataDir: string,
  user: ClusterUser | undefined
): Promise<void> {
  const path = join(socketDir, `${SOCKET_NAME}.lock`)
  const [, folder = ''] = (await readUnlinked(path))?.split('\n') ?? []
  if (!(await isSameFolder(folder.trim(), dataDir))) await removeAs(user, [path])
}

/** Whether the process `pid` is a postmaster of `dataDir`. */
export function isPostmaster(pid: number, dataDir: string): boolean {
  // If the system does not tell what the process is, it counts as the postmaster, so that it is not disregarded.
  return isAlive(pid) && (readCommandLine(pid)?.includes(`-D ${dataDir} `) ?? true)
}

/** Stops a postmaster: its sessions are ended and everything is written to disk. Resolves when the process is gone. */
export async function stopPostmaster(pid: number, dataDir: string): Promise<void> {
  const deadline = Date.now() + FAST_STOP_MS
  let signal: NodeJS.Signals | undefined = 'SIGINT'
  while (isPostmaster(pid, dataDir)) {
    if (signal !== undefined) process.kill(pid, signal)
    await delay(POLL_MS)
    // SIGQUIT stops it without the last checkpoint. The next start recovers from the log.
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
 * Reads postmaster.pid: pid, data folder, start, port, socket folder, address, shared memory, status. Undefined: no
 * file.
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

/** The text of a file that the cluster's user writes. Follows no link, and waits for no pipe. */
async function readUnlinked(path: string): Promise<string | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(error => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  try {
    return await file?.readFile('utf8')
  } finally {
    await file?.close()
  }
}

/**
 * Options that keep our environment (PGPORT, LC_*) from the program, and give it a working folder that it can enter.
 */
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
