/**
 * Opens the embedded PostgreSQL of a data folder for a server or a command. PostgreSQL listens only on a Unix socket.
 *
 * The first process starts PostgreSQL, later processes connect to it, and the last process to leave stops it
 * (cluster-lock.ts). Only one server at a time holds a data folder (lock-file.ts). If a server was killed, the next
 * server may find PostgreSQL running without any users. That server then restarts PostgreSQL, so that PostgreSQL's
 * messages reach a log again. If PostgreSQL exits unexpectedly, one of the processes that were using PostgreSQL
 * restarts it.
 */
import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import type { Logger } from '../../log.ts'
import { ConfigError } from '../../variables.ts'
import { connectTo, type SocketTarget } from '../connection.ts'
import { classifyFailure, SQLSTATE } from '../failure.ts'
import { findBinaries } from './binaries.ts'
import { requireMajor } from './cluster-folders.ts'
import { claimAlone, enter, leave } from './cluster-lock.ts'
import { chooseSettings } from './cluster-settings.ts'
import { enterFolder } from './folder-users.ts'
import { type DataHome, LIBRARIES, prepareDataFolder, prepareHome, prepareSocketFolder } from './folders.ts'
import { readDisk } from './free-disk.ts'
import { holdFolder, type Release, readHolder, tryLock } from './lock-file.ts'
import { readOrCreateSecret } from './own-file.ts'
import {
  initializeCluster,
  inspectPostmaster,
  isPostmaster,
  MAIN_DATABASE,
  PostmasterError,
  type RunningPostmaster,
  removeCopiedLock,
  removeStaleFile,
  SOCKET_PORT,
  SUPERUSER,
  startPostmaster,
  stopPostmaster
} from './postmaster.ts'

export type EmbeddedRole = 'serve' | 'command'

export interface EmbeddedCluster {
  /** The cluster's current address. */
  readonly target: SocketTarget
  readonly digestSecret: string
  /** Settles when recovery finishes or fails; undefined if PostgreSQL already accepts connections. */
  readonly recovery: Promise<void> | undefined
  /** Leaves the cluster, and stops PostgreSQL if no other process uses it. */
  close(): Promise<void>
}

/** Lock file of the process that starts PostgreSQL. Only one process at a time may start PostgreSQL. */
const STARTER_FILE = 'starting.pid'

const POLL_MS = 20
/** Maximum number of start attempts while an earlier PostgreSQL server still holds its files and shared memory. */
const START_ATTEMPTS = 50
const START_RETRY_MS = 200
const SLOW_NOTICE_MS = 10_000
const SLOW_NOTICE = 'PostgreSQL is still starting or stopping; after a crash it recovers first'
const REOPEN_DELAY_MS = 1000
const LEFTOVER = /lock file|shared memory block/

/**
 * Opens the cluster of `dataDir`, creating it on first use. If recovery is still in progress `patienceMs` milliseconds
 * after PostgreSQL was started or found, returns without waiting for its end. Throws a ConfigError for faults that the
 * user can correct.
 */
export async function openEmbedded(
  dataDir: string,
  role: EmbeddedRole,
  log: Logger,
  patienceMs?: number
): Promise<EmbeddedCluster> {
  const releases: Release[] = []
  const release = async () => {
    for (const each of releases.splice(0).reverse()) await each()
  }
  try {
    await prepareDataFolder(dataDir)
    releases.push(await enterFolder(dataDir, log))
    if (role === 'serve') releases.push(await holdFolder(dataDir))
    const cluster = new Cluster(dataDir, role, log, {
      home: await prepareHome(dataDir, log),
      password: await readOrCreateSecret(join(dataDir, 'database-password'), log)
    })
    const digestSecret = await readOrCreateSecret(join(dataDir, 'key-digest-secret'), log)
    const opened = cluster.openFirst().catch(error => Promise.reject(explain(dataDir, error)))
    const isOpen = await Promise.race([opened.then(() => true), cluster.endOfPatience(patienceMs).then(() => false)])
    return {
      get target() {
        return cluster.target
      },
      digestSecret,
      recovery: isOpen ? undefined : opened,
      close: () => cluster.close().finally(release)
    }
  } catch (error) {
    await release()
    throw explain(dataDir, error)
  }
}

/** Converts errors that concern the data folder (file system errors and a wrong password) to ConfigErrors. */
function explain(dataDir: string, error: unknown): unknown {
  const { code, syscall, message } = error as NodeJS.ErrnoException
  if (code === SQLSTATE.invalidPassword) {
    return new ConfigError(
      `DATA_DIR ${dataDir} contains a database-password file that does not match the database: restore the file`
    )
  }
  if (code === undefined || syscall === undefined) return error
  return new ConfigError(`DATA_DIR ${dataDir} cannot be used: ${message}`)
}

class Cluster {
  readonly #dataDir: string
  readonly #role: EmbeddedRole
  readonly #log: Logger
  readonly #home: DataHome
  readonly #password: string
  readonly #pgData: string
  /** The PostgreSQL process that this process started, if any. */
  #child: ChildProcess | undefined
  /** The latest known folder of PostgreSQL's socket. */
  #socketDir: string | undefined
  #noteTry = () => {}
  /** Resolves when PostgreSQL is first started or found. */
  readonly #tried = new Promise<void>(resolve => {
    this.#noteTry = resolve
  })
  /**
   * The connection that holds this process's lock. The lock tells other processes that this process uses the cluster.
   */
  #presence: Sql | undefined
  #closing = false
  /** Whether PostgreSQL is being located or started. */
  #isOpening = false
  /** The latest attempt to open PostgreSQL; settles when the attempt ends. */
  #opened: Promise<void> = Promise.resolve()

  constructor(
    dataDir: string,
    role: EmbeddedRole,
    log: Logger,
    { home, password }: { home: DataHome; password: string }
  ) {
    this.#dataDir = dataDir
    this.#role = role
    this.#log = log
    this.#home = home
    this.#password = password
    this.#pgData = home.pgData
  }

  get target(): SocketTarget {
    return this.#targetIn(this.#socketDir!)
  }

  /**
   * Resolves once `patienceMs` milliseconds have passed since PostgreSQL was first started or found. Never resolves if
   * `patienceMs` is undefined.
   */
  async endOfPatience(patienceMs?: number): Promise<void> {
    await this.#tried
    return patienceMs === undefined ? new Promise(() => {}) : delay(patienceMs, undefined, { ref: false })
  }

  /** Opens PostgreSQL for the first time. On failure, stops PostgreSQL if this process started it. */
  async openFirst(): Promise<void> {
    const opened = this.#open().catch(async error => {
      if (this.#child !== undefined) await stopPostmaster(this.#child.pid!, this.#pgData)
      throw error
    })
    this.#opened = opened.catch(() => {})
    return opened
  }

  /** Finds or starts PostgreSQL, and enters the cluster. */
  async #open(): Promise<void> {
    this.#isOpening = true
    const notice = setInterval(() => this.#log.info(SLOW_NOTICE), SLOW_NOTICE_MS)
    try {
      for (let failures = 0; !this.#closing; ) {
        try {
          const found = await this.#findOrStart()
          if (await this.#enter(found)) return
        } catch (error) {
          const transient = error instanceof PostmasterError && error.lines.some(line => LEFTOVER.test(line))
          if (!transient || ++failures === START_ATTEMPTS) throw error
          await delay(START_RETRY_MS)
        }
      }
      throw new Error('The database was closed while it was being opened')
    } finally {
      clearInterval(notice)
      this.#isOpening = false
    }
  }

  async close(): Promise<void> {
    this.#closing = true
    // Do not wait for a recovery, because the next start begins the recovery again.
    if (this.#isOpening && this.#child !== undefined) await stopPostmaster(this.#child.pid!, this.#pgData)
    await this.#opened
    const found = await inspectPostmaster(this.#pgData)
    if (found.state === 'running' && (await this.#isLast(found))) await stopPostmaster(found.pid, this.#pgData)
    await this.#presence?.end({ timeout: 1 })
    // If other processes still use PostgreSQL, let it outlive this process.
    this.#child?.unref()
    this.#child?.stderr?.destroy()
  }

  async #findOrStart(): Promise<RunningPostmaster> {
    for (;;) {
      const found = await inspectPostmaster(this.#pgData)
      if (found.state === 'running') return found
      const started = found.state === 'stopped' ? await this.#startAlone() : undefined
      if (started !== undefined) return started
      await delay(POLL_MS)
    }
  }

  /** Starts PostgreSQL. Returns undefined if another process is starting PostgreSQL or has just started it. */
  async #startAlone(): Promise<RunningPostmaster | undefined> {
    const release = await tryLock(join(this.#dataDir, STARTER_FILE))
    if (typeof release === 'number') return undefined
    try {
      const found = await inspectPostmaster(this.#pgData)
      return found.state === 'stopped' ? await this.#start() : undefined
    } finally {
      await release()
    }
  }

  async #start(): Promise<RunningPostmaster> {
    const { user } = this.#home
    const binaries = await findBinaries(user, this.#log, { links: join(this.#home.folder, LIBRARIES) })
    const runner = { user, binaries }
    requireMajor(this.#dataDir, this.#pgData, binaries.major)
    if (!existsSync(this.#pgData)) {
      this.#log.info({ folder: this.#pgData }, 'creating a new database')
      await initializeCluster(runner, this.#pgData, this.#password)
    }
    await removeStaleFile(this.#pgData, user)
    const socketDir = await prepareSocketFolder(this.#home)
    await removeCopiedLock(socketDir, this.#pgData, user)
    const { pid } = await startPostmaster(runner, {
      dataDir: this.#pgData,
      socketDir,
      settings: chooseSettings((await readDisk(this.#dataDir))?.totalBytes),
      onLine: line => logLine(this.#log, line),
      onSpawn: child => {
        this.#child = child
        this.#note(socketDir)
      }
    })
    return { pid: pid!, socketDir }
  }

  /**
   * Enters the cluster of a running PostgreSQL server. Returns false if PostgreSQL has exited in the meantime or must
   * be restarted.
   */
  async #enter(found: RunningPostmaster): Promise<boolean> {
    this.#note(found.socketDir)
    const sql = connectTo(this.#targetIn(found.socketDir), {
      applicationName: 'presence',
      onClose: () => {
        if (this.#presence === sql && !this.#closing) this.#opened = this.#reopen()
      }
    })
    try {
      if (!(await this.#isLeftBehind(found, sql))) {
        await enter(sql)
        this.#presence = sql
        return true
      }
      this.#log.info('PostgreSQL was still running without a server; restarting it')
      await stopPostmaster(found.pid, this.#pgData)
    } catch (error) {
      if (!isGoingAway(error)) throw error
      await delay(POLL_MS)
    }
    sql.end({ timeout: 0 }).catch(() => {})
    return false
  }

  /** Returns whether a killed server left PostgreSQL running, no process uses it, and this process can stop it. */
  async #isLeftBehind({ pid }: RunningPostmaster, sql: Sql): Promise<boolean> {
    if (this.#role !== 'serve' || pid === this.#child?.pid || !isPostmaster(pid, this.#pgData)) return false
    return claimAlone(sql)
  }

  /** Finds or starts PostgreSQL after the connection to PostgreSQL was lost, retrying until this cluster is closed. */
  async #reopen(): Promise<void> {
    this.#presence?.end({ timeout: 0 }).catch(() => {})
    this.#presence = undefined
    this.#log.error('the connection to PostgreSQL was lost; reconnecting, or restarting PostgreSQL')
    while (!this.#closing) {
      try {
        await this.#open()
        return this.#log.info('PostgreSQL is back')
      } catch (error) {
        if (!this.#closing) this.#log.error(error, 'PostgreSQL could not be started')
      }
      await delay(REOPEN_DELAY_MS)
    }
  }

  /** Returns whether no other process is using PostgreSQL or is about to use it. */
  async #isLast({ socketDir }: RunningPostmaster): Promise<boolean> {
    if (this.#role === 'command' && (await readHolder(this.#dataDir)) !== undefined) return false
    this.#presence ??= connectTo(this.#targetIn(socketDir))
    try {
      await leave(this.#presence)
      return await claimAlone(this.#presence)
    } catch (error) {
      this.#log.warn(error, 'the connection to PostgreSQL was lost while it was being closed')
      return true
    }
  }

  #note(socketDir: string): void {
    this.#socketDir = socketDir
    this.#noteTry()
  }

  #targetIn(socketDir: string): SocketTarget {
    return { socketDir, port: SOCKET_PORT, user: SUPERUSER, password: this.#password, database: MAIN_DATABASE }
  }
}

/** Returns whether an attempt to enter failed because PostgreSQL exited, so that a retry may succeed. */
function isGoingAway(error: unknown): boolean {
  const { code, name } = error as { code?: unknown; name?: unknown }
  const failure = classifyFailure(error)
  return failure === 'lost' || code === SQLSTATE.cannotConnectNow || (failure === 'refused' && name !== 'PostgresError')
}

/**
 * Logs a PostgreSQL message. A PANIC ends all sessions. A FATAL error ends one session, whose client reports the error.
 */
function logLine(log: Logger, line: string): void {
  log[line.startsWith('PANIC') ? 'error' : 'debug']({ postgres: line }, 'PostgreSQL says')
}
