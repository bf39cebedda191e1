/**
 * A pool of a few connections, each leased to one piece of work at a time. The driver's own pool is not used because
 * that pool returns stale errors after a backend dies, and its transactions can terminate the process (connection.ts).
 * This pool replaces a connection that has closed or raised a fatal error.
 *
 * A lease is opening, free (waiting for work), busy (leased) or dead (discarded on return). Work waits while all
 * connections are busy or a connection is being opened, and is rejected if the queue is full or no connection can be
 * opened. A free connection is closed if another holder needs the connection's slot more (pooled/connection-limit.ts).
 * A hung connection (pooled/hung-connection.ts) is closed, and its queries fail as `lost`.
 */
import type { Sql } from 'postgres'
import { within } from '../within.ts'
import { classifyFailure, endsConnection, PoolError } from './failure.ts'
import { type Client, watchDeparture } from './pooled/cancellation.ts'
import { ConnectionLimit, type Holder } from './pooled/connection-limit.ts'
import { type Connect, pidOf, TICK_MS } from './pooled/hung-connection.ts'
import { abandon, failIfLost, forgetRows, giveUpIfHung, type Lease, makeLease } from './pooled/lease.ts'
import { openSession } from './session/open-session.ts'

export interface PoolOptions {
  readonly size: number
  /** Statement time-out of the connections in milliseconds; undefined disables the time-out. */
  readonly statementTimeoutMs?: number | undefined
  /** Maximum number of jobs that may wait for a connection; further jobs are rejected. */
  readonly maxWaiting?: number
  /** Shared with all other code that opens connections. */
  readonly limit?: ConnectionLimit
}

const MAX_WAITING = 1000
/** How long `end` waits for work in flight, and then for the connections to close. */
const GRACE_MS = 2000

interface Waiter {
  resolve(lease: Lease): void
  reject(error: Error): void
}

export class Pool implements Holder {
  readonly #connect: Connect
  readonly #size: number
  readonly #maxWaiting: number
  readonly #statementTimeoutMs: number | undefined
  readonly #limit: ConnectionLimit
  readonly #clock: NodeJS.Timeout
  readonly #leases = new Set<Lease>()
  /** Free leases, most recently used last. */
  readonly #free: Lease[] = []
  readonly #waiting: Waiter[] = []
  #opening = 0
  #busy = 0
  #closed = false
  #onQuiet = () => {}

  constructor(connect: Connect, { size, maxWaiting = MAX_WAITING, statementTimeoutMs, limit }: PoolOptions) {
    this.#connect = connect
    this.#size = size
    this.#maxWaiting = maxWaiting
    this.#statementTimeoutMs = statementTimeoutMs
    this.#limit = limit ?? new ConnectionLimit()
    this.#limit.join(this)
    this.#clock = setInterval(() => {
      for (const lease of this.#leases) void giveUpIfHung(lease)
    }, TICK_MS).unref()
  }

  /** Number of jobs waiting for a connection, not counting jobs for which a connection is being opened. */
  get waiting(): number {
    return Math.max(0, this.#waiting.length - this.#opening)
  }

  get idleSince(): number | undefined {
    return this.#free[0]?.idleSince
  }

  async closeIdle(): Promise<void> {
    const lease = this.#free.shift()
    if (lease !== undefined) await this.#giveUp(lease)
  }

  /**
   * Runs the `work` callback on its own connection. Queries may be sent without awaiting each query, but all queries
   * must be awaited before `work` ends. If the connection is lost, later queries of the same work fail instead of
   * moving to another connection. If the client disconnects, the work leaves the queue or its query is cancelled.
   */
  async run<T>(work: (sql: Sql) => Promise<T>, client?: Client): Promise<T> {
    const lease = await this.#lease(client)
    const endWatch = client && watchDeparture(client, () => abandon(lease))
    try {
      return await work(lease.guarded)
    } catch (error) {
      if (endsConnection(error)) lease.dead = true
      else await forgetRows(lease)
      throw error
    } finally {
      endWatch?.()
      this.#release(lease)
    }
  }

  /**
   * Runs the `work` callback in a transaction. If the callback throws, the transaction is rolled back. For maintenance
   * only; requests use single statements. Queries must be awaited one by one. `mode` is a transaction mode such as
   * `isolation level repeatable read read only`, appended to `begin`. If the connection breaks during the commit, the
   * outcome is unknown and the rejection counts as `lost`.
   */
  async transaction<T>(work: (sql: Sql) => Promise<T>, mode = ''): Promise<T> {
    return this.run(async sql => {
      await sql.unsafe(`begin ${mode}`)
      const rollBack = async () => sql.unsafe('rollback')
      const result = await work(sql).catch(async error => {
        // A rollback sent to a dying connection may never settle. If a rollback fails, so does the next query.
        if (!endsConnection(error)) await rollBack().catch(() => {})
        throw error
      })
      const { command } = await sql.unsafe('commit')
      // PostgreSQL responds with ROLLBACK if a query of the transaction failed and `work` caught the error.
      if (command === 'ROLLBACK') throw new PoolError('TX_ABORTED', 'A query failed inside the transaction')
      return result
    })
  }

  /** Rejects new work, waits briefly for work in flight, and closes all connections. */
  async end(graceMs = GRACE_MS): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearInterval(this.#clock)
    this.#limit.part(this)
    // Work for which a connection is being opened counts as in flight.
    this.#refuseWaiting(poolClosed(), this.#opening)
    if (this.#busy > 0 || this.#waiting.length > 0) {
      await within(
        graceMs,
        new Promise<void>(resolve => {
          this.#onQuiet = resolve
        })
      )
    }
    this.#refuseWaiting(poolClosed())
    const living = [...this.#leases].filter(lease => !lease.dead)
    // The promise that `end` returns may never settle if the server has disappeared, so the wait is limited.
    await within(graceMs, Promise.allSettled(living.map(lease => this.#giveUp(lease, graceMs))))
  }

  async #lease(client?: Client): Promise<Lease> {
    if (this.#closed) throw poolClosed()
    const lease = this.#takeFree()
    if (lease !== undefined) {
      this.#busy++
      return lease
    }
    if (this.#canGrow()) void this.#grow()
    else if (this.waiting >= this.#maxWaiting) {
      throw new PoolError(
        'POOL_FULL',
        `too many requests are already waiting for a database connection (${this.#maxWaiting})`
      )
    }
    return this.#wait(client)
  }

  async #wait(client?: Client): Promise<Lease> {
    let leave = () => {}
    const turn = new Promise<Lease>((resolve, reject) => {
      const waiter = { resolve, reject }
      this.#waiting.push(waiter)
      leave = () => {
        const place = this.#waiting.indexOf(waiter)
        if (place >= 0) this.#waiting.splice(place, 1)
        reject(new PoolError('CLIENT_GONE', 'The client disconnected while its work was queued'))
      }
    })
    const endWatch = client && watchDeparture(client, leave)
    return turn.finally(() => endWatch?.())
  }

  #takeFree(): Lease | undefined {
    for (let lease = this.#free.pop(); lease !== undefined; lease = this.#free.pop()) {
      if (!lease.dead) return lease
      this.#drop(lease)
    }
    return undefined
  }

  #canGrow(): boolean {
    return this.#leases.size + this.#opening < this.#size
  }

  /** Opens another connection for the work that has waited longest. */
  async #grow(): Promise<void> {
    this.#opening++
    try {
      const open = () => this.#open()
      const isFirst = this.#leases.size + this.#opening === 1
      const lease = isFirst ? await this.#limit.open(open) : await this.#limit.openIfFree(open)
      this.#opening--
      if (lease === undefined) this.#growIfBare()
      else this.#take(lease)
    } catch (error) {
      this.#opening--
      this.#failWaiting(error)
    }
  }

  async #open(): Promise<Lease> {
    const lease = makeLease(this.#connect, this.#statementTimeoutMs, lost => this.#forget(lost))
    const opening = openSession(lease.sql)
    // Closes the connection if it hangs. No statement time-out applies yet.
    const clock = setInterval(async () => {
      if (await lease.hungCheck.hangs(opening, pidOf(opening))) lease.sql.end({ timeout: 0 }).catch(() => {})
    }, TICK_MS).unref()
    try {
      await opening
      failIfLost(lease)
      return lease
    } catch (error) {
      lease.sql.end({ timeout: 0 }).catch(() => {})
      throw error
    } finally {
      clearInterval(clock)
    }
  }

  #take(lease: Lease): void {
    this.#leases.add(lease)
    const waiter = lease.dead ? undefined : this.#waiting.shift()
    if (waiter === undefined && this.#closed) {
      void this.#giveUp(lease)
      return
    }
    this.#busy++
    // The caller for which the connection was opened uses the connection first, even if other holders want the slot.
    if (waiter === undefined) this.#release(lease)
    else waiter.resolve(lease)
  }

  /** Removes a free connection that has closed. */
  #forget(lease: Lease): void {
    const at = this.#free.indexOf(lease)
    if (at < 0) return
    this.#free.splice(at, 1)
    this.#drop(lease)
  }

  /** Opens a connection if work is waiting and no connection is open or being opened. */
  #growIfBare(): void {
    if (this.#waiting.length > 0 && this.#leases.size + this.#opening === 0) void this.#grow()
  }

  /**
   * Rejects waiting work when no connection can be opened, so that the waiting jobs do not each repeat the failed
   * attempt. If other connections remain, the work keeps waiting for a free connection.
   */
  #failWaiting(error: unknown): void {
    if (this.#opening > 0 || [...this.#leases].some(lease => !lease.dead)) return
    const refused =
      classifyFailure(error) === 'lost' ? new PoolError('NOT_CONNECTED', 'No connection was available', error) : error
    this.#refuseWaiting(refused as Error)
    this.#noteQuiet()
  }

  /** Keeps the first `but` waiting jobs and rejects all others. */
  #refuseWaiting(error: Error, but = 0): void {
    for (const waiter of this.#waiting.splice(but)) waiter.reject(error)
  }

  #drop(lease: Lease): void {
    if (!this.#leases.delete(lease)) return
    // This call is not awaited, because the promise that `end` returns may never settle if the server has disappeared.
    lease.sql.end({ timeout: 0 }).catch(() => {})
    this.#limit.leave()
  }

  /** Closes a free connection, so that another caller can open a connection instead. */
  #giveUp(lease: Lease, graceMs = GRACE_MS): Promise<void> {
    this.#leases.delete(lease)
    lease.dead = true
    return this.#limit.leaveAfter(within(graceMs, lease.sql.end({ timeout: graceMs / 1000 })))
  }

  /**
   * Passes a connection to the work that has waited longest, so that the lease stays busy. If no work is waiting, frees
   * the connection.
   */
  #release(lease: Lease): void {
    lease.asked.clear()
    lease.idleSince = performance.now()
    if (lease.dead) this.#drop(lease)
    else if (this.#limit.isWanted && !this.#closed) void this.#giveUp(lease)
    const waiter = lease.dead ? undefined : this.#waiting.shift()
    if (waiter !== undefined) {
      waiter.resolve(lease)
      return
    }
    this.#busy--
    if (!lease.dead) this.#free.push(lease)
    else if (this.#waiting.length > 0 && this.#canGrow()) void this.#grow()
    this.#noteQuiet()
  }

  #noteQuiet(): void {
    if (this.#busy === 0 && this.#waiting.length === 0) this.#onQuiet()
  }
}

function poolClosed(): PoolError {
  return new PoolError('POOL_CLOSED', 'The pool has been closed')
}
