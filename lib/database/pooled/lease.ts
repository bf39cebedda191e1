/** A Pool connection, leased to one piece of work at a time. */
import type { Sql } from 'postgres'
import { PoolError } from '../failure.ts'
import { type Connect, HungCheck, pidOf } from './hung-connection.ts'

export interface Lease {
  readonly sql: Sql
  /**
   * The driver instance given to work. Throws instead of reconnecting, because work and transactions would then be
   * split between two connections.
   */
  readonly guarded: Sql
  readonly hungCheck: HungCheck
  dead: boolean
  /** Unfinished queries of the current work, including parts of statements; newest last. */
  readonly asked: Set<Query>
  /** Time at which the latest work ended, in ms of performance.now(). */
  idleSince: number
}

/** Private fields of a driver query. */
export interface Query {
  /** Whether the connection is waiting for this query's response. */
  readonly active: boolean
  /** Whether the query is awaited. False for part of a statement. */
  readonly executed: boolean
  /** The driver's state of a sent query; null if the query has not been sent. */
  readonly state: object | null
  /** The function behind the driver's cancel(), which leaves a rejection unhandled if the server is unreachable. */
  canceller(query: Query): Promise<void>
  /** Called with the query's rows. */
  resolve(rows: unknown): void
  reject(error: Error): void
}

/** Creates a lease. Calls `onLost` when the connection has closed. */
export function makeLease(connect: Connect, statementTimeoutMs: number | undefined, onLost: (lease: Lease) => void) {
  const sql = connect(() => {
    lose(lease)
    onLost(lease)
  })
  const lease: Lease = {
    sql,
    guarded: guard(sql, () => lease),
    hungCheck: new HungCheck(connect, statementTimeoutMs),
    dead: false,
    asked: new Set(),
    idleSince: 0
  }
  return lease
}

/** Wraps a driver instance so that queries are recorded in the lease, and fail if the connection is lost. */
function guard(sql: Sql, lease: () => Lease): Sql {
  const keep = <T>(query: T): T => {
    keepUntilRead(lease(), query as Query)
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

/**
 * Keeps a query in the lease only until the query's rows arrive. A query keeps its rows in memory, and long work such
 * as a backup would accumulate the rows of all its queries. Calling the query's `then` is not an option, because that
 * call would send a part of a statement as a statement of its own.
 */
function keepUntilRead({ asked }: Lease, query: Query): void {
  const { resolve } = query
  asked.add(query)
  query.resolve = rows => {
    asked.delete(query)
    resolve(rows)
  }
}

/** Cancels a lease's query and marks the lease dead, because a late cancellation could hit a later query. */
export function abandon(lease: Lease): void {
  lease.dead = true
  const asked = [...lease.asked]
  // A part of a statement must not be cancelled. Its rejection would be unhandled, because nothing awaits the part.
  const query = asked.find(({ active }) => active) ?? asked.findLast(({ executed }) => executed)
  query?.canceller(query).catch(() => {
    // Failures are ignored, because the lease is dead even if the cancellation fails.
  })
}

/**
 * Closes the connection if it hangs, so that the driver rejects the connection's queries. Must be called at each tick.
 */
export async function giveUpIfHung(lease: Lease): Promise<void> {
  const asked = [...lease.asked]
  const active = asked.find(query => query.active)
  // If no query is active, all queries have finished; otherwise, all queries before the active query have finished.
  // What remains of finished queries, such as parts of statements, is dropped, because it would accumulate.
  const at = active === undefined ? asked.length : asked.indexOf(active)
  for (const query of asked.slice(0, at)) if (active === undefined || query.state !== null) lease.asked.delete(query)
  const hangs = await lease.hungCheck.hangs(active, pidOf(active))
  if (!hangs || !active?.active) return
  lease.dead = true
  lease.sql.end({ timeout: 0 }).catch(() => {})
}

/**
 * After a query fails part-way, the driver (postgres 3.4.9) keeps the query's row count and prepends that many empty
 * rows to the connection's next result. Absorbs the rows with a query whose result is ignored.
 */
export async function forgetRows(lease: Lease): Promise<void> {
  if (lease.dead) return
  await lease.guarded`select`.catch(() => {
    lease.dead = true
  })
}

/**
 * Handles a closed connection. The driver (postgres 3.4.9) rejects only queries that it sent before the socket failed.
 * Later queries would never settle, so they are rejected here.
 */
function lose(lease: Lease): void {
  lease.dead = true
  for (const query of lease.asked) if (query.state !== null) query.reject(connectionLost())
}

export function failIfLost(lease: Lease): void {
  if (lease.dead) throw connectionLost()
}

function connectionLost(): PoolError {
  return new PoolError('CONNECTION_LOST', 'The connection was lost while it was in use')
}
