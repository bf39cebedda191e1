/**
 * The lanes of the write path: writers that take batches from one queue. Operations that arrive while a lane is writing
 * form its next batch, so that many share a commit. Another lane takes them if they are many or if the first lane takes
 * long. While every lane is idle, an operation is written at once: it never waits for others to arrive.
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
import type { Pending } from './pending.ts'
import { Queue } from './queue.ts'
import { StateCache } from './state-cache.ts'
import { Writer } from './writer.ts'

export interface LaneOptions {
  readonly count: number
  readonly floors: KnownFloors
  readonly log: Logger
  /** Is told of each batch when its writer is done with it. `isTried`: a connection was to be had. */
  readonly onBatch: (batch: readonly Pending[], ms: number, isTried: boolean) => void
}

/**
 * Bounds of one batch; the bytes are those of the bodies. Larger batches gain nothing (test/bench/RESULTS.md, "Size of
 * batches").
 */
const BATCH = { operations: 64, bytes: 2 * 1024 * 1024 }
/**
 * Operations that arrive while a lane writes wait for it and form its next batch, which saves commits. Another lane
 * starts when so many operations wait, or when the first lane has been writing for so long (test/bench/RESULTS.md,
 * "Size of batches").
 */
const GATHER = { operations: 16, ms: 4 }
const UNBOUNDED = { operations: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }
/** PostgreSQL undoes a write that takes longer, and the request is refused. */
const STATEMENT_TIMEOUT_MS = 30_000
/**
 * Settings of the lanes' connections. The few statements of the write path are planned once for each connection, not
 * at every execution: their rows come from arrays, and a plan made for certain values would be no better. A plan made
 * while a table is small is kept when the table is large, so no plan may scan a whole table
 * (lib/store/write/statistics.ts); one that must, of a catalog, looks so dear then that PostgreSQL would compile it,
 * for two seconds. work_mem holds the rows of a batch.
 */
const SETTINGS = { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off', jit: 'off', work_mem: '32MB' }
/**
 * How long a batch waits for tables that are being moved (lib/ingest/writer.ts). Other locks are held for no longer
 * than a commit takes; what waits for those in vain is tried again too.
 */
const HOME_SETTINGS = { ...SETTINGS, lock_timeout: '200ms' }
/**
 * How many slots (rows) of project_totals lanes count in; slot 0 is not among them. Each lane has a slot of its own,
 * so that no lane waits for the row that another one has locked.
 */
const SLOTS = 62
/** While the database refuses every batch, each cause is logged no more often than this. */
const REMIND_MS = 60_000

export class Lanes {
  /** Reads the states of traces; as many connections as there are lanes. */
  readonly pool: Pool
  readonly #queue = new Queue<Pending>()
  readonly routes: Routes
  readonly #writers: readonly Writer[]
  readonly #idle: Writer[]
  readonly #onBatch: LaneOptions['onBatch']
  #scheduled = false
  /** When each lane that is at work began its batch, in ms of performance.now(). */
  readonly #began = new Map<Writer, number>()
  #gathering: NodeJS.Timeout | undefined
  #onEmpty: (() => void) | undefined

  constructor(database: Database, { count, floors, log, onBatch }: LaneOptions) {
    const connection = { applicationName: 'writer', statementTimeoutMs: STATEMENT_TIMEOUT_MS, settings: SETTINGS }
    const connect = (onClose: () => void) => database.connect({ ...connection, onClose })
    const { limit } = database
    this.pool = new Pool(connect, { size: count, statementTimeoutMs: STATEMENT_TIMEOUT_MS, limit })
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
    const failures = new FailureLog(log, { failed: 'the database did not take a batch', remindMs: REMIND_MS })
    this.#writers = Array.from({ length: count }, (_, lane) => {
      const slot = 1 + ((first + lane) % SLOTS)
      return new Writer(this.pool, serverOf, { slot, routes, running, floors, searched, again, failures, log })
    })
    this.#idle = [...this.#writers]
    this.#onBatch = onBatch
  }

  /** Whether projects may be on several servers, so that each is asked for by itself. */
  get isApart(): boolean {
    return this.routes.groupOf !== undefined
  }

  add(pending: Pending): void {
    this.#queue.add(pending)
    this.#schedule()
  }

  /**
   * Runs a statement without result over the connection of an idle lane, or else over one that is opened as theirs
   * are.
   */
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

  /** Resolves when every operation in the queue has been answered. */
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

  /** Starts idle lanes once the requests that arrived together have all been queued. */
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
   * Whether the runnable operations had better wait for a lane that is at work. If so, a timer asks again when the
   * lane has been writing for GATHER.ms.
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

  /**
   * Fails whatever waits behind a batch for which there was no connection: every further attempt to connect would take
   * seconds.
   */
  async #failQueued(writer: Writer, error: unknown): Promise<void> {
    while (this.#queue.runnable > 0) await writer.fail(this.#queue.take(UNBOUNDED), error)
  }

  /** Puts an operation back into the queue. It keeps its trace locked, so that no other operation on it overtakes. */
  #tryAgain(pending: Pending, pauseMs: number): void {
    if (pauseMs === 0) {
      this.#queue.retry(pending)
      this.#schedule()
    } else {
      setTimeout(() => this.#tryAgain(pending, 0), pauseMs)
    }
  }

  /** Is called when an operation is answered: its trace is free for the next one. */
  release(pending: Pending): void {
    pending.settled = true
    this.#queue.release(pending)
    if (this.#queue.runnable > 0) this.#schedule()
    if (this.#queue.isEmpty) this.#onEmpty?.()
  }
}
