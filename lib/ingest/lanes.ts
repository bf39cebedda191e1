/**
 * Runs the write path's lanes: writers that take batches from a shared queue. Operations that arrive while a lane is
 * writing form its next batch, so that many operations share a commit. Another lane takes those operations if many are
 * waiting or the first lane takes too long. While every lane is idle, an operation is written immediately.
 */

import { Routes } from '../cluster/routes.ts'
import { CopyConnection } from '../database/copy-connection.ts'
import type { Database } from '../database/database.ts'
import { Pool } from '../database/pool.ts'
import type { Host } from '../database/sockets/address.ts'
import { FailureLog } from '../failure-log.ts'
import type { Logger } from '../log.ts'
import type { KnownFloors } from '../store/rankings/known-floors.ts'
import { SearchedProjects } from '../store/search/searched-projects.ts'
import { WRITE_LIMIT_MS } from '../store/transactions.ts'
import type { Pending } from './pending.ts'
import { Queue } from './queue.ts'
import { StateCache } from './state-cache.ts'
import { Writer } from './writer.ts'

export interface LaneOptions {
  readonly count: number
  readonly floors: KnownFloors
  readonly log: Logger
  /** Whether operations are answered before their commit is on disk. */
  readonly asyncCommit?: boolean | undefined
  /** Called when a writer finishes a batch. `isTried` is false if no connection was available. */
  readonly onBatch: (batch: readonly Pending[], ms: number, isTried: boolean) => void
}

/**
 * Maximum numbers of operations and of body bytes in a batch. Larger batches gain nothing (test/bench/RESULTS.md, "Size
 * of batches").
 */
const BATCH = { operations: 64, bytes: 2 * 1024 * 1024 }
/**
 * Operations that arrive while a lane is writing wait for that lane's next batch, because fewer batches mean fewer
 * commits. Another lane starts when this many operations are waiting, or when the first lane has been writing for this
 * long (test/bench/RESULTS.md, "Size of batches").
 */
const GATHER = { operations: 16, ms: 4 }
const UNBOUNDED = { operations: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }
/**
 * Settings for the lanes' connections. The write path's few statements are planned once per connection, because rows
 * arrive in arrays and a plan for specific values would be no better. A plan made while a table is small is kept after
 * the table grows, so no plan may scan a whole table (lib/store/write/statistics.ts). With sequential scans off, a plan
 * that must scan a catalog looks so expensive that PostgreSQL would spend two seconds on JIT compilation, so JIT is off
 * as well. work_mem holds one batch's rows.
 */
const SETTINGS = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off', jit: 'off', work_mem: '32MB' }
/**
 * Maximum wait for tables that are being moved (lib/ingest/writer.ts). Other locks are held no longer than a commit
 * takes. A batch that times out waiting for any lock is retried.
 */
const HOME_SETTINGS = { ...SETTINGS, lock_timeout: '200ms' }
/**
 * Number of project_totals rows (slots) for lanes, excluding slot 0. Each lane updates its own slot, so no lane waits
 * for another lane's row lock.
 */
const SLOTS = 62
/** Minimum interval between log lines for the same cause while the database rejects every batch. */
const REMIND_MS = 60_000

export class Lanes {
  /** Reads trace states, with one connection per lane. */
  readonly pool: Pool
  readonly #queue = new Queue<Pending>()
  readonly routes: Routes
  readonly #writers: readonly Writer[]
  readonly #idle: Writer[]
  readonly #onBatch: LaneOptions['onBatch']
  #scheduled = false
  /** Time at which each busy lane began its batch, in ms of performance.now(). */
  readonly #began = new Map<Writer, number>()
  #gathering: NodeJS.Timeout | undefined
  #onEmpty: (() => void) | undefined

  constructor(database: Database, { count, floors, log, asyncCommit = false, onBatch }: LaneOptions) {
    const settings = asyncCommit ? { ...SETTINGS, synchronous_commit: 'off' } : SETTINGS
    const connection = { applicationName: 'writer', statementTimeoutMs: WRITE_LIMIT_MS, settings }
    const connect = (onClose: () => void) => database.connect({ ...connection, onClose })
    const { limit } = database
    this.pool = new Pool(connect, { size: count, statementTimeoutMs: WRITE_LIMIT_MS, limit })
    const routes = new Routes(work => this.pool.run(work), database.node, log)
    this.routes = routes
    const serverOf = (host?: Host) => {
      const { connect, limit } = host === undefined ? database : database.node(host)
      const options = host === undefined ? connection : { ...connection, settings: HOME_SETTINGS, isLocal: true }
      return { open: () => CopyConnection.open(connect, options), limit }
    }
    const running = new StateCache()
    const searched = new SearchedProjects()
    const first = Math.floor(Math.random() * SLOTS)
    const again = (pending: Pending, pauseMs: number) => this.#tryAgain(pending, pauseMs)
    const failures = new FailureLog(log, { failed: 'the database rejected a batch', remindMs: REMIND_MS })
    this.#writers = Array.from({ length: count }, (_, lane) => {
      const slot = 1 + ((first + lane) % SLOTS)
      return new Writer(this.pool, serverOf, { slot, routes, running, floors, searched, again, failures, log })
    })
    this.#idle = [...this.#writers]
    this.#onBatch = onBatch
  }

  /** Whether projects may be on several servers. If so, each server must be queried separately. */
  get isApart(): boolean {
    return this.routes.groupOf !== undefined
  }

  add(pending: Pending): void {
    this.#queue.add(pending)
    this.#schedule()
  }

  /** Uses an idle lane's connection, or a pool connection if all are busy, for a statement that returns no rows. */
  async check(statement: string): Promise<void> {
    const writer = this.#idle.pop()
    if (writer === undefined) {
      await this.pool.run(sql => sql.unsafe(statement))
      return
    }
    try {
      await writer.check(statement)
    } finally {
      this.#idle.push(writer)
      this.#schedule()
    }
  }

  /** Resolves when every queued operation has been answered. */
  async finish(): Promise<void> {
    if (this.#queue.isEmpty) return
    await new Promise<void>(resolve => {
      this.#onEmpty = resolve
    })
  }

  async close(): Promise<void> {
    this.routes.close()
    for (const writer of this.#writers) writer.close()
    await this.pool.end()
  }

  /** Starts idle lanes once all requests that arrived together have been queued. */
  #schedule(): void {
    if (this.#scheduled || this.#idle.length === 0) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      while (this.#idle.length > 0 && this.#queue.runnable > 0 && !this.#waitForLane()) {
        void this.#run(this.#idle.pop() as Writer)
      }
    })
  }

  /**
   * Whether runnable operations should wait for a busy lane. If so, a timer checks again once that lane has been
   * writing for GATHER.ms.
   */
  #waitForLane(): boolean {
    if (this.#began.size === 0 || this.#queue.runnable >= GATHER.operations) return false
    const leftMs = Math.min(...this.#began.values()) + GATHER.ms - performance.now()
    if (leftMs <= 0) return false
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined
      this.#schedule()
    }, leftMs)
    return true
  }

  async #run(writer: Writer): Promise<void> {
    while (this.#queue.runnable > 0) {
      const batch = this.#queue.take(BATCH, this.routes.groupOf)
      const route = this.routes.routeOf(batch)
      const start = performance.now()
      this.#began.set(writer, start)
      const unreachable = await writer.process(batch, route)
      this.#onBatch(batch, performance.now() - start, unreachable === undefined)
      if (unreachable === undefined) this.routes.learn(batch)
      else await this.#failQueued(writer, unreachable)
    }
    this.#began.delete(writer)
    this.#idle.push(writer)
  }

  /** Fails all operations behind a batch that got no connection, because each further attempt would take seconds. */
  async #failQueued(writer: Writer, error: unknown): Promise<void> {
    while (this.#queue.runnable > 0) await writer.fail(this.#queue.take(UNBOUNDED), error)
  }

  /** Returns an operation to the queue. Its trace stays locked, so that no later operation can overtake it. */
  #tryAgain(pending: Pending, pauseMs: number): void {
    if (pauseMs === 0) {
      this.#queue.retry(pending)
      this.#schedule()
    } else {
      setTimeout(() => this.#tryAgain(pending, 0), pauseMs)
    }
  }

  /** Unlocks an answered operation's trace for the next operation. */
  release(pending: Pending): void {
    pending.settled = true
    this.#queue.release(pending)
    if (this.#queue.runnable > 0) this.#schedule()
    if (this.#queue.isEmpty) this.#onEmpty?.()
  }
}
