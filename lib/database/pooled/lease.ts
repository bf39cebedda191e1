/** A connection of a Pool, leased to one piece of work after another. */
import type { Sql } from 'postgres'
import { type Connect, HungCheck, pidOf } from './hung-connection.ts'
import { PoolError } from './pool-error.ts'

export interface Lease {
  readonly sql: Sql
  /**
   * The instance that work gets. It throws where the driver would connect again, which would tear work and transactions
   * apart.
   */
  readonly guarded: Sql
  readonly hungCheck: HungCheck
  dead: boolean
  /** The queries of the work under way, parts of statements included; the newest is the last. */
  asked: Query[]
  /** When its last work ended, as performance.now() has it. */
  idleSince: number
}

/** The driver's private fields of a query. */
export interface Query {
  /** Whether the connection waits for this query. */
  readonly active: boolean
  /** Null: it was not sent yet. */
  readonly state: object | null
  /**
   * The function behind the driver's cancel(), which drops the promise: if the server cannot be told, the rejection
   * would be unhandled.
   */
  canceller(query: Query): Promise<void>
  reject(error: Error): void
}

/** `onLost` is told when the connection has closed. */
export function makeLease(
  connect: Connect,
  statementTimeoutMs: number | undefined,
  onLost: (lease: Lease) => void
): Lease {
  const sql = connect(() => {
    lose(lease)
    onLost(lease)
  })
  const lease: Lease = {
    sql,
    guarded: guard(sql, () => lease),
    hungCheck: new HungCheck(connect, statementTimeoutMs),
    dead: false,
    asked: [],
    idleSince: 0
  }
  return lease
}

/** An instance of the driver that fails if the connection is lost, and keeps the queries in its lease. */
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

/**
 * Cancels the query of a lease and gives the lease up: a late cancellation would hit the next query, so there is none.
 */
export function abandon(lease: Lease): void {
  lease.dead = true
  const query = lease.asked.find(query => query.active) ?? lease.asked.at(-1)
  query?.canceller(query).catch(() => {
    // The connection is given up in any case.
  })
}

/** At each tick: ends a connection that hangs. The driver then rejects its queries. */
export async function giveUpIfHung(lease: Lease): Promise<void> {
  const active = lease.asked.find(query => query.active)
  // If no query is active, all queries have been answered; otherwise, all before the active one have. They are dropped,
  // since a query keeps its rows: long work such as a backup would keep all that it has read.
  if (active === undefined) lease.asked = []
  else {
    const at = lease.asked.indexOf(active)
    lease.asked = lease.asked.filter(({ state }, place) => place >= at || state === null)
  }
  const hangs = await lease.hungCheck.hangs(active, pidOf(active))
  if (!hangs || !active?.active) return
  lease.dead = true
  lease.sql.end({ timeout: 0 }).catch(() => {})
}

/** At each tick while a connection opens: the same. Its statement time-out does not hold yet. */
export async function giveUpOpening(lease: Lease, opening: object): Promise<void> {
  if (await lease.hungCheck.hangs(opening, pidOf(opening))) lease.sql.end({ timeout: 0 }).catch(() => {})
}

/**
 * The driver (postgres 3.4.9) keeps count of the rows of a query that fails half-way, and the next query on the
 * connection gets as many empty rows before its own. A query whose rows nobody reads takes them.
 */
export async function forgetRows(lease: Lease): Promise<void> {
  if (lease.dead) return
  await lease.guarded`select`.catch(() => {
    lease.dead = true
  })
}

/**
 * A connection has closed. The driver (postgres 3.4.9) rejects the queries that it had sent before the socket failed.
 * It would never answer those that were sent in the moment since, so they are rejected here.
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
