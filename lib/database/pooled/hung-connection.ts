/**
 * Detects hung connections. If a network drops all packets, or a server process is stopped, no socket closes and no
 * response arrives. Silence alone proves nothing, because a query may run until its statement time-out. Another
 * connection therefore asks the server whether the backend is still executing a query.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'

/** Opens one connection. `onClose` is called when the connection has closed. */
export type Connect = (onClose: () => void) => Sql

/**
 * Silence is measured in timer ticks, not clock time, because responses that arrive while the process is suspended are
 * read only later.
 */
export const TICK_MS = 1000
/** The server is queried each time this many ticks of silence have passed. */
const LOOK_TICKS = 3
/** Timeout for the server's response to a query about a silent connection. */
const LOOK_MS = 4000
/**
 * A connection that is silent for this long after its statement time-out is closed, regardless of the server's
 * response.
 */
const PATIENCE_MS = 5000

export class HungCheck {
  readonly #connect: Connect
  readonly #mostTicks: number
  #awaited: object | undefined
  #ticks = 0

  /**
   * Without a statement time-out, a connection counts as hung only if the server is not executing anything for that
   * connection.
   */
  constructor(connect: Connect, statementTimeoutMs = Number.POSITIVE_INFINITY) {
    this.#connect = connect
    this.#mostTicks = Math.ceil((statementTimeoutMs + PATIENCE_MS) / TICK_MS)
  }

  /**
   * Returns whether the connection hangs. Must be called at each tick with the object whose response is awaited, or
   * undefined if no response is awaited. The response may arrive during the check, so the caller must check again.
   */
  async hangs(awaited: object | undefined, pid: number | undefined): Promise<boolean> {
    if (awaited === undefined || awaited !== this.#awaited) {
      this.#awaited = awaited
      this.#ticks = 0
      return false
    }
    if (++this.#ticks >= this.#mostTicks) return true
    return this.#ticks % LOOK_TICKS === 0 && !(await isAtWork(this.#connect, pid))
  }
}

/** Returns whether the backend with this id is busy, or was within the last second. */
async function isAtWork(connect: Connect, pid = 0): Promise<boolean> {
  const sql = connect(() => {})
  try {
    const answer = ask(sql, pid).catch(isFromServer)
    return await Promise.race([answer, delay(LOOK_MS, false)])
  } finally {
    sql.end({ timeout: 0 }).catch(() => {})
  }
}

async function ask(sql: Sql, pid: number): Promise<boolean> {
  const query = sql<[{ own: number; busy: boolean }]>`
    select pg_backend_pid() as own, exists (
      select from pg_stat_activity where pid = ${pid}
        and (coalesce(state, '') not like 'idle%' or state_change > clock_timestamp() - interval '1 second')
    ) as busy`
  const [{ own, busy }] = await query
  // A proxy with its own connections reports ids of unrelated backends, so the backend counts as busy.
  return busy || own !== pidOf(query)
}

/** An error from the server proves that the server is reachable, and nothing more. */
const isFromServer = (error: unknown): boolean => (error as { name?: unknown }).name === 'PostgresError'

/** Returns the process id of the backend that received a driver query; undefined if the query has not been sent. */
export function pidOf(query: object | undefined): number | undefined {
  return (query as { state?: { pid?: number } | null } | undefined)?.state?.pid
}
