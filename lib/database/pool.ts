/**
 * A pool of a few connections, each leased to one piece of work at a time. The driver's own pool is not used: after a
 * backend has died it hands out old errors, and its transactions can end the process (connection.ts). Here a
 * connection that has closed, or that gave an error which ends connections, is thrown away and replaced by a new one.
 *
 * A lease is opening, free (waiting for work), busy (leased) or dead (thrown away when it comes back). When all are
 * busy, work waits in line, and so it does while a connection opens; when the line is full, or no connection is to be
 * had, it is refused. Where others of this process need the place of a connection more (pooled/connection-limit.ts), a
 * free one is closed. A connection that hangs (pooled/hung-connection.ts) is given up, and what was asked on it is
 * lost.
 */

import type { Sql } from 'postgres'
import { within } from '../within.ts'
import { classifyFailure, endsConnection } from './failure.ts'
import { type Client, watchDeparture } from './pooled/cancellation.ts'
import { ConnectionLimit, type Holder } from './pooled/connection-limit.ts'
import { type Connect, TICK_MS } from './pooled/hung-connection.ts'
import { abandon, failIfLost, forgetRows, giveUpIfHung, giveUpOpening, type Lease, makeLease } from './pooled/lease.ts'
import { PoolError } from './pooled/pool-error.ts'
import { openSession } from './session/open-session.ts'

export interface PoolOptions {
  readonly size: number
  /** The statement time-out of the connections in ms; undefined if they have none. */
  readonly statementTimeoutMs?: number | undefined
  /** How much work may wait for a connection before more of it is refused. */
  readonly maxWaiting?: number
  /** Shared with others that open connections. */
  readonly limit?: ConnectionLimit
}

const MAX_WAITING = 1000
/** How long `end` waits for the work under way, and then again for the connections to close. */
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
  /** The one that was used last is the last. */
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

  /** How much work is waiting for a connection, but for what one is being opened for. */
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
   * Runs `work` on a connection of its own. Its queries may be sent without awaiting each, but must all be awaited in
   * the end. After the connection is lost, every further query of the same work fails: none moves to another
   * connection. If the client goes away meanwhile, the work gives up its turn, or its query is cancelled.
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
   * Runs `work` between begin and commit; if it throws, the transaction is rolled back. This is for maintenance only:
   * requests use single statements. The queries of the work must be awaited one after another. `mode` is what follows
   * `begin`, such as `isolation level repeatable read read only`. If the connection breaks during the commit, the
   * rejection is classified as `lost`: the outcome is unknown.
   */
  async transaction<T>(work: (sql: Sql) => Promise<T>, mode = ''): Promise<T> {
    const lease = await this.#lease()
    try {
      await lease.guarded.unsafe(`begin ${mode}`)
      const result = await this.#workOrRollBack(lease, work)
      const { command } = await lease.guarded.unsafe('commit')
      // PostgreSQL answers the commit so if a query of the transaction failed and `work` caught the error.
      if (command === 'ROLLBACK') throw new PoolError('TX_ABORTED', 'A query failed inside the transaction')
      return result
    } catch (error) {
      if (endsConnection(error)) lease.dead = true
      throw error
    } finally {
      this.#release(lease)
    }
  }

  /** Refuses new work, waits a moment for the work under way, and closes all connections. */
  async end(graceMs = GRACE_MS): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearInterval(this.#clock)
    this.#limit.part(this)
    // Work for which a connection is being opened counts as under way.
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
    // The end of an instance whose server went away may never settle, hence the limit.
    await within(graceMs, Promise.allSettled(living.map(lease => this.#giveUp(lease, graceMs))))
  }

  async #workOrRollBack<T>(lease: Lease, work: (sql: Sql) => Promise<T>): Promise<T> {
    try {
      const result = await work(lease.guarded)
      failIfLost(lease)
      return result
    } catch (error) {
      if (endsConnection(error)) lease.dead = true
      // A rollback sent to a dying connection may never be answered.
      if (!lease.dead) {
        // The rollback also takes the stray rows of the failed query (forgetRows).
        await lease.guarded.unsafe('rollback').catch(() => {
          lease.dead = true
        })
      }
      throw error
    }
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
      throw new PoolError('POOL_FULL', `${this.#maxWaiting} others are waiting for a connection`)
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
        reject(new PoolError('CLIENT_GONE', 'The client went away while its work waited in line'))
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

  /** Opens another connection. The work that then waits longest gets it. */
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
    const clock = setInterval(() => void giveUpOpening(lease, opening), TICK_MS).unref()
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
    // It was opened for somebody, who has it first, however many others want its place.
    if (waiter === undefined) this.#release(lease)
    else waiter.resolve(lease)
  }

  /** Forgets a connection that has closed while nobody used it. */
  #forget(lease: Lease): void {
    const at = this.#free.indexOf(lease)
    if (at < 0) return
    this.#free.splice(at, 1)
    this.#drop(lease)
  }

  /** Opens a connection if work waits and no connection is left that it could get. */
  #growIfBare(): void {
    if (this.#waiting.length > 0 && this.#leases.size + this.#opening === 0) void this.#grow()
  }

  /**
   * Refuses waiting work after no connection could be had: it need not try in its turn. If there are other
   * connections, the work waits for those.
   */
  #failWaiting(error: unknown): void {
    if (this.#opening > 0 || [...this.#leases].some(lease => !lease.dead)) return
    const refused =
      classifyFailure(error) === 'lost' ? new PoolError('NOT_CONNECTED', 'No connection could be had', error) : error
    this.#refuseWaiting(refused as Error)
    this.#noteQuiet()
  }

  /** Refuses all waiting work except for the first `but`. */
  #refuseWaiting(error: Error, but = 0): void {
    for (const waiter of this.#waiting.splice(but)) waiter.reject(error)
  }

  /** Forgets a connection that is dead. */
  #drop(lease: Lease): void {
    if (!this.#leases.delete(lease)) return
    // Not awaited, because the end of an instance whose server went away may never settle.
    lease.sql.end({ timeout: 0 }).catch(() => {})
    this.#limit.leave()
  }

  /** Closes a free connection, so that somebody else can open one in its place. */
  #giveUp(lease: Lease, graceMs = GRACE_MS): Promise<void> {
    this.#leases.delete(lease)
    lease.dead = true
    return this.#limit.leaveAfter(within(graceMs, lease.sql.end({ timeout: graceMs / 1000 })))
  }

  /** Passes a connection on to the work that waits longest, in which case the lease stays busy; otherwise frees it. */
  #release(lease: Lease): void {
    lease.asked = []
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
