/**
 * A few connections, each leased to one piece of work at a time. The driver's own pool is not used: after a backend has
 * died it hands out stale errors, and its transactions can end the process (see connection.ts). Here a connection that
 * ever closed, or gave an error that ends connections, is thrown away and a new one takes its place.
 *
 * A lease is free (waiting for work), busy (leased) or dead (thrown away when it comes back). When all are busy, work
 * waits in line; when the line is full, or no connection is to be had, it is refused. A connection that hangs (silence.ts)
 * is given up, and what was asked on it is lost.
 */
import type { Sql } from 'postgres'
import { type Client, watchDeparture } from './cancellation.ts'
import { classifyFailure, endsConnection } from './failure.ts'
import { type Connect, HungCheck, pidOf, TICK_MS } from './hung-connection.ts'

export interface PoolOptions {
  readonly size: number
  /** That of the connections, in milliseconds, where they have one. */
  readonly statementTimeoutMs?: number | undefined
  /** How much work may wait for a connection before more of it is refused. */
  readonly maxWaiting?: number
}

/** An error of the pool itself, or of its transactions. */
export class PoolError extends Error {
  override readonly name = 'PoolError'
  readonly code: 'POOL_FULL' | 'POOL_CLOSED' | 'NOT_CONNECTED' | 'CONNECTION_LOST' | 'TX_ABORTED' | 'CLIENT_GONE'
  constructor(code: PoolError['code'], message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}

const MAX_WAITING = 1000
/** How long `end` waits for work under way, and then for connections to close. */
const GRACE_MS = 2000

interface Lease {
  readonly sql: Sql
  /** What work is given: throws instead of connecting anew, which would tear work, and transactions, apart. */
  readonly guarded: Sql
  readonly silence: HungCheck
  dead: boolean
  /** Something was sent on it, so that what fails now may have been done. */
  used: boolean
  /** It was given up because a client went away, and not because anything is wrong with it. */
  abandoned: boolean
  /** What was asked by the work under way, parts of statements included; the newest is the last. */
  asked: Query[]
}
/** Of the driver's. */
interface Query {
  /** It is the one that the connection waits for. */
  readonly active: boolean
  /** Null: it was not sent yet. */
  readonly state: object | null
  /** What its cancel() calls, and drops the promise of: where the server cannot be told, nobody would take the rejection. */
  canceller(query: Query): Promise<void>
  reject(error: Error): void
}
interface Waiter {
  resolve(lease: Lease): void
  reject(error: Error): void
}

export class Pool {
  readonly #connect: Connect
  readonly #size: number
  readonly #maxWaiting: number
  readonly #statementTimeoutMs: number | undefined
  readonly #clock: NodeJS.Timeout
  readonly #leases = new Set<Lease>()
  readonly #free: Lease[] = []
  readonly #waiting: Waiter[] = []
  #busy = 0
  #closed = false
  #onQuiet = () => {}

  constructor(connect: Connect, { size, maxWaiting = MAX_WAITING, statementTimeoutMs }: PoolOptions) {
    this.#connect = connect
    this.#size = size
    this.#maxWaiting = maxWaiting
    this.#statementTimeoutMs = statementTimeoutMs
    this.#clock = setInterval(() => {
      for (const lease of this.#leases) void giveUpIfSilent(lease)
    }, TICK_MS).unref()
  }

  /** How much work is waiting for a connection. */
  get waiting(): number {
    return this.#waiting.length
  }

  /**
   * Runs `work` on a connection of its own. Queries in it may be sent without awaiting each, but must all be awaited. Once
   * the connection is lost, every further query of the same work is too: none moves to another connection. Where the
   * client goes away meanwhile, its place in line is given up, or the query under way is cancelled.
   */
  async run<T>(work: (sql: Sql) => Promise<T>, client?: Client): Promise<T> {
    const lease = await this.#lease(client)
    const endWatch = client && watchDeparture(client, () => abandon(lease))
    try {
      return await work(lease.guarded)
    } catch (error) {
      if (endsConnection(error)) lease.dead = true
      else await forgetRows(lease)
      throw this.#explain(lease, error)
    } finally {
      endWatch?.()
      this.#release(lease)
    }
  }

  /**
   * Runs `work` between begin and commit; a throw in it rolls back. For maintenance only: on the path of requests, a
   * single statement does it. Queries in it must be awaited one after another. `mode` follows `begin`
   * (`isolation level repeatable read read only`). Where the connection goes while the commit is under way, the
   * rejection is classified as `lost`: the outcome is unknown.
   */
  async transaction<T>(work: (sql: Sql) => Promise<T>, mode = ''): Promise<T> {
    const lease = await this.#lease()
    try {
      await lease.guarded.unsafe(`begin ${mode}`)
      const result = await this.#workOrRollBack(lease, work)
      const { command } = await lease.guarded.unsafe('commit')
      // The answer to the commit of a transaction in which a query failed, although `work` did not mind.
      if (command === 'ROLLBACK') throw new PoolError('TX_ABORTED', 'A query failed inside the transaction')
      return result
    } catch (error) {
      if (endsConnection(error)) lease.dead = true
      throw this.#explain(lease, error)
    } finally {
      this.#release(lease)
    }
  }

  /** Refuses new work, waits a moment for what is under way, and closes every connection. */
  async end(graceMs = GRACE_MS): Promise<void> {
    this.#closed = true
    clearInterval(this.#clock)
    for (const waiter of this.#waiting.splice(0)) waiter.reject(poolClosed())
    if (this.#busy > 0) {
      await within(
        graceMs,
        new Promise<void>(resolve => {
          this.#onQuiet = resolve
        })
      )
    }
    const living = [...this.#leases].filter(lease => !lease.dead)
    // Ending an instance whose server went away may never come back, hence the limit.
    await within(graceMs, Promise.allSettled(living.map(lease => lease.sql.end({ timeout: graceMs / 1000 }))))
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
        // Takes the rows of what failed, too (forgetRows).
        await lease.guarded.unsafe('rollback').catch(() => {
          lease.dead = true
        })
      }
      throw error
    }
  }

  async #lease(client?: Client): Promise<Lease> {
    if (this.#closed) throw poolClosed()
    const lease = this.#takeFree() ?? (this.#leases.size < this.#size ? this.#open() : undefined)
    if (lease !== undefined) {
      this.#busy++
      return lease
    }
    if (this.#waiting.length >= this.#maxWaiting) {
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

  #open(): Lease {
    const sql = this.#connect(() => lose(lease))
    const lease: Lease = {
      sql,
      guarded: guard(sql, () => lease),
      silence: new HungCheck(this.#connect, this.#statementTimeoutMs),
      dead: false,
      used: false,
      abandoned: false,
      asked: []
    }
    this.#leases.add(lease)
    return lease
  }

  #drop(lease: Lease): void {
    this.#leases.delete(lease)
    // Not awaited: ending an instance that lost its server may never come back.
    lease.sql.end({ timeout: 0 }).catch(() => {})
  }

  /** Where a connection could not be had, nothing was sent; then those in line need not try in their turn. */
  #explain(lease: Lease, error: unknown): unknown {
    noteUse(lease)
    if (lease.used || lease.abandoned || lease.asked.length === 0 || !lease.dead) return error
    const refused =
      classifyFailure(error) === 'lost' ? new PoolError('NOT_CONNECTED', 'No connection could be had', error) : error
    const hasOther = [...this.#leases].some(other => other.used && !other.dead)
    if (!hasOther) for (const waiter of this.#waiting.splice(0)) waiter.reject(refused as Error)
    return refused
  }

  /** Passes a connection on to whoever waits longest: the lease stays busy then. */
  #release(lease: Lease): void {
    noteUse(lease)
    lease.asked = []
    if (lease.dead) this.#drop(lease)
    const waiter = this.#waiting.shift()
    if (waiter !== undefined) {
      waiter.resolve(lease.dead ? this.#open() : lease)
      return
    }
    this.#busy--
    if (!lease.dead) this.#free.push(lease)
    if (this.#busy === 0) this.#onQuiet()
  }
}

/** An instance of the driver that fails where the connection is lost, and keeps the queries in its lease. */
function guard(sql: Sql, lease: () => Lease): Sql {
  const keep = <T>(query: T): T => {
    lease().asked.push(query as Query)
    return query
  }
  const unsafe = (...parameters: Parameters<Sql['unsafe']>) => keep(sql.unsafe(...parameters))
  return new Proxy(sql, {
    apply(target, self, parameters) {
      failIfLost(lease())
      return keep(Reflect.apply(target, self, parameters))
    },
    get(target, property) {
      failIfLost(lease())
      return property === 'unsafe' ? unsafe : Reflect.get(target, property)
    }
  })
}

/** Cancels what a lease is doing. A cancellation that comes late would hit the next query, so there is none. */
function abandon(lease: Lease): void {
  lease.dead = true
  lease.abandoned = true
  const query = lease.asked.find(query => query.active) ?? lease.asked.at(-1)
  query?.canceller(query).catch(() => {
    // The connection is given up in any case.
  })
}

function noteUse(lease: Lease): void {
  lease.used ||= lease.asked.some(query => query.state !== null)
}

/** At each tick: ends a connection that hangs, with which the driver rejects what was asked on it. */
async function giveUpIfSilent(lease: Lease): Promise<void> {
  noteUse(lease)
  const active = lease.asked.find(query => query.active)
  // Where nothing is active all that was sent has been answered.
  if (active === undefined && lease.used) lease.asked = []
  const awaited = lease.used ? active : lease.asked[0]
  const hangs = await lease.silence.hangs(awaited, pidOf(active))
  if (!hangs || (lease.used && !active?.active)) return
  lease.dead = true
  lease.sql.end({ timeout: 0 }).catch(() => {})
}

/**
 * The driver (postgres 3.4.9) keeps count of the rows of a query that fails half-way, and the next query on the connection
 * gets as many empty rows in front of its own: one whose rows nobody reads takes them.
 */
async function forgetRows(lease: Lease): Promise<void> {
  if (lease.dead) return
  await lease.guarded`select`.catch(() => {
    lease.dead = true
  })
}

/**
 * A connection has closed. When its socket failed, a moment before, the driver (postgres 3.4.9) rejected what it waited
 * for; what was sent since then, it would never answer.
 */
function lose(lease: Lease): void {
  lease.dead = true
  for (const query of lease.asked) if (query.state !== null) query.reject(connectionLost())
}

function failIfLost(lease: Lease): void {
  if (lease.dead) throw connectionLost()
}

function connectionLost(): PoolError {
  return new PoolError('CONNECTION_LOST', 'The connection was lost while it was in use')
}

function poolClosed(): PoolError {
  return new PoolError('POOL_CLOSED', 'The pool has been closed')
}

/** Waits for `promise`, but no longer than `ms`. */
async function within(ms: number, promise: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  await Promise.race([
    promise,
    new Promise(resolve => {
      timer = setTimeout(resolve, ms)
    })
  ])
  clearTimeout(timer)
}
