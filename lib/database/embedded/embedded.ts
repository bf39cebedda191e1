/**
 * The embedded PostgreSQL of a data folder, opened by a server or a command. It listens on a Unix socket only.
 *
 * Whoever comes first starts it, everybody else connects to it, and the last one to leave stops it (presence.ts). Only
 * one server at a time holds a data folder (holder.ts). A server that finds PostgreSQL running without anybody, because
 * the server before it was killed, starts it anew, so that its messages come into a log again. A PostgreSQL that ends by
 * itself is started again by whoever uses it.
 */
import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { ConfigError } from '../../config.ts'
import type { Logger } from '../../log.ts'
import { connectTo, type SocketTarget } from '../connection.ts'
import { classifyFailure, SQLSTATE } from '../failure.ts'
import { findBinaries } from './binaries.ts'
import { claimAlone, enter, leave } from './cluster-lock.ts'
import { chooseSettings } from './cluster-settings.ts'
import { holdFolder, readHolder } from './data-dir-lock.ts'
import { type Home, prepareDataFolder, prepareHome, prepareSocketFolder } from './folders.ts'
import { type Release, tryLock } from './lock-file.ts'
import {
  initializeCluster,
  inspectPostmaster,
  isPostmaster,
  MAIN_DATABASE,
  PostmasterError,
  type RunningPostmaster,
  removeStaleFile,
  SOCKET_PORT,
  SUPERUSER,
  startPostmaster,
  stopPostmaster
} from './postmaster.ts'
import { readOrCreateSecret } from './secrets.ts'

export type Role = 'serve' | 'command'

export interface EmbeddedCluster {
  readonly target: SocketTarget
  readonly digestSecret: string
  /** Leaves, and stops PostgreSQL where nobody else uses it. */
  close(): Promise<void>
}

/** Names whoever is starting PostgreSQL, which only one may at a time. */
const STARTER_FILE = 'starting.pid'

const POLL_MS = 20
/** How often a start is tried that fails because of what an earlier PostgreSQL has left and is about to clear away. */
const START_ATTEMPTS = 50
const START_RETRY_MS = 200
const SLOW_NOTICE_MS = 10_000
const SLOW_NOTICE = 'PostgreSQL is still starting or stopping; after a crash it recovers first'
const REOPEN_DELAY_MS = 1000
const LEFTOVER = /lock file|shared memory block/

/** Opens the cluster of `dataDir`; at first, makes it. What the user can mend is a ConfigError. */
export async function openEmbedded(dataDir: string, role: Role, log: Logger): Promise<EmbeddedCluster> {
  let release: Release = async () => {}
  try {
    await prepareDataFolder(dataDir)
    if (role === 'serve') release = await holdFolder(dataDir)
    const cluster = new Cluster(dataDir, role, log, {
      home: await prepareHome(dataDir, log),
      password: await readOrCreateSecret(join(dataDir, 'database-password'), log)
    })
    const digestSecret = await readOrCreateSecret(join(dataDir, 'key-digest-secret'), log)
    const target = await cluster.open().catch(error => cluster.abandon(error))
    return { target, digestSecret, close: () => cluster.close().finally(release) }
  } catch (error) {
    await release()
    throw explain(dataDir, error)
  }
}

/** Errors of the file system (EACCES, ENOSPC, …), and a lost password, concern the data folder. */
function explain(dataDir: string, error: unknown): unknown {
  const { code, syscall, message } = error as NodeJS.ErrnoException
  if (code === SQLSTATE.invalidPassword) {
    return new ConfigError(`DATA_DIR ${dataDir} holds a database-password that is not the database's: restore the file`)
  }
  if (code === undefined || syscall === undefined) return error
  return new ConfigError(`DATA_DIR ${dataDir} cannot be used: ${message}`)
}

class Cluster {
  readonly #dataDir: string
  readonly #role: Role
  readonly #log: Logger
  readonly #home: Home
  readonly #password: string
  /** PostgreSQL's own data folder. */
  readonly #pgData: string
  /** The PostgreSQL that was started here, if one was. */
  #child: ChildProcess | undefined
  /** The connection that says that we are here. */
  #presence: Sql | undefined
  #closing = false
  #reopened: Promise<void> = Promise.resolve()

  constructor(dataDir: string, role: Role, log: Logger, { home, password }: { home: Home; password: string }) {
    this.#dataDir = dataDir
    this.#role = role
    this.#log = log
    this.#home = home
    this.#password = password
    this.#pgData = join(home.folder, 'data')
  }

  /** Finds or starts PostgreSQL, and enters. */
  async open(): Promise<SocketTarget> {
    const notice = setInterval(() => this.#log.info(SLOW_NOTICE), SLOW_NOTICE_MS)
    try {
      for (let failures = 0; !this.#closing; ) {
        try {
          const found = await this.#findOrStart()
          if (await this.#enter(found)) return this.#targetIn(found.socketDir)
        } catch (error) {
          const transient = error instanceof PostmasterError && error.lines.some(line => LEFTOVER.test(line))
          if (!transient || ++failures === START_ATTEMPTS) throw error
          await delay(START_RETRY_MS)
        }
      }
      throw new Error('The database was closed while it was being opened')
    } finally {
      clearInterval(notice)
    }
  }

  /** After an attempt to open it that failed: what was started is stopped. */
  async abandon(error: unknown): Promise<never> {
    if (this.#child !== undefined) await stopPostmaster(this.#child.pid!, this.#pgData)
    throw error
  }

  async close(): Promise<void> {
    this.#closing = true
    await this.#reopened
    const found = await inspectPostmaster(this.#pgData)
    if (found.state === 'running' && (await this.#isLast(found))) await stopPostmaster(found.pid, this.#pgData)
    await this.#presence?.end({ timeout: 1 })
    // Where others still use it, it goes on without us.
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

  /** Undefined: another process starts it, or just did. */
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
    const runner = { user, binaries: await findBinaries(user, this.#log) }
    if (!existsSync(this.#pgData)) {
      this.#log.info({ folder: this.#pgData }, 'making a new database')
      await initializeCluster(runner, this.#pgData, this.#password)
    }
    await removeStaleFile(this.#pgData, user)
    const socketDir = await prepareSocketFolder(this.#home)
    const onLine = (line: string) => logLine(this.#log, line)
    this.#child = await startPostmaster(runner, {
      dataDir: this.#pgData,
      socketDir,
      settings: chooseSettings(),
      onLine
    })
    return { pid: this.#child.pid!, socketDir }
  }

  /** Enters a running PostgreSQL; false where it went away meanwhile, or must be started anew. */
  async #enter(found: RunningPostmaster): Promise<boolean> {
    const sql = connectTo(this.#targetIn(found.socketDir), {
      applicationName: 'presence',
      onClose: () => {
        if (this.#presence === sql && !this.#closing) this.#reopened = this.#reopen()
      }
    })
    try {
      if (!(await this.#isLeftBehind(found, sql))) {
        await enter(sql)
        this.#presence = sql
        return true
      }
      this.#log.info('PostgreSQL was still running without a server; starting it anew')
      await stopPostmaster(found.pid, this.#pgData)
    } catch (error) {
      if (!isGoingAway(error)) throw error
      await delay(POLL_MS)
    }
    sql.end({ timeout: 0 }).catch(() => {})
    return false
  }

  /** Whether a server that was killed has left it, nobody uses it, and it can be stopped from here. */
  async #isLeftBehind({ pid }: RunningPostmaster, sql: Sql): Promise<boolean> {
    if (this.#role !== 'serve' || pid === this.#child?.pid || !isPostmaster(pid, this.#pgData)) return false
    return claimAlone(sql)
  }

  /** Looks after a PostgreSQL that went away, for as long as we are here. */
  async #reopen(): Promise<void> {
    this.#presence?.end({ timeout: 0 }).catch(() => {})
    this.#presence = undefined
    this.#log.error('the connection to PostgreSQL was lost; looking for it, or starting it again')
    while (!this.#closing) {
      try {
        await this.open()
        return this.#log.info('PostgreSQL is back')
      } catch (error) {
        if (!this.#closing) this.#log.error(error, 'PostgreSQL could not be started')
      }
      await delay(REOPEN_DELAY_MS)
    }
  }

  /** Whether nobody else uses PostgreSQL, or is going to. */
  async #isLast({ socketDir }: RunningPostmaster): Promise<boolean> {
    if (this.#role === 'command' && (await readHolder(this.#dataDir)) !== undefined) return false
    this.#presence ??= connectTo(this.#targetIn(socketDir))
    try {
      await leave(this.#presence)
      return await claimAlone(this.#presence)
    } catch (error) {
      this.#log.warn(error, 'the connection to PostgreSQL was lost while it was being left')
      return true
    }
  }

  #targetIn(socketDir: string): SocketTarget {
    return { socketDir, port: SOCKET_PORT, user: SUPERUSER, password: this.#password, database: MAIN_DATABASE }
  }
}

/** Whether an attempt to enter came too late, and is worth another. A wrong password is not. */
function isGoingAway(error: unknown): boolean {
  const { code, name } = error as { code?: unknown; name?: unknown }
  const failure = classifyFailure(error)
  return failure === 'lost' || code === SQLSTATE.cannotConnectNow || (failure === 'refused' && name !== 'PostgresError')
}

/** PostgreSQL's own messages. What is FATAL to one session is told to its client as well; a PANIC stops them all. */
function logLine(log: Logger, line: string): void {
  log[line.startsWith('PANIC') ? 'error' : 'debug']({ postgres: line }, 'PostgreSQL says')
}
