/**
 * Finds connections that hang. If a network drops all packets, or a server process is stopped, no socket closes and no
 * answer comes. Silence alone proves nothing, because a query may take as long as its statement time-out allows. So
 * after a while the server is asked, over another connection, whether it is still working for the silent one.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'

/** Opens one connection. `onClose` is called when it has closed. */
export type Connect = (onClose: () => void) => Sql

/**
 * Time is counted in ticks of a timer, not by the clock. A process that was itself stopped for a while has answers
 * that it has not read yet, and must not take that for silence.
 */
export const TICK_MS = 1000
/** The server is asked after this many ticks of silence, and again after as many more. */
const LOOK_TICKS = 3
/** How long the server may take to answer that question. */
const LOOK_MS = 4000
/** A connection that is silent for this long after its statement time-out is given up, whatever the server answers. */
const PATIENCE_MS = 5000

/** Watches one connection. */
export class HungCheck {
  readonly #connect: Connect
  readonly #mostTicks: number
  #awaited: object | undefined
  #ticks = 0

  /** Without a statement time-out, a connection is given up only if the server is not working for it. */
  constructor(connect: Connect, statementTimeoutMs = Number.POSITIVE_INFINITY) {
    this.#connect = connect
    this.#mostTicks = Math.ceil((statementTimeoutMs + PATIENCE_MS) / TICK_MS)
  }

  /**
   * Must be called at each tick, with the object whose answer is awaited; undefined if none is. Resolves to whether the
   * connection hangs. The answer may have arrived while that was found out, so the caller must check again.
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

/** Whether the backend with this id is busy, or was a moment ago. */
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
  // A proxy that lends out its own connections gives ids of other backends, which prove nothing: then it counts as at
  // work.
  return busy || own !== pidOf(query)
}

/** An error that comes from the server shows that the server is there. More is not known then. */
const isFromServer = (error: unknown): boolean => (error as { name?: unknown }).name === 'PostgresError'

/** The process id of the backend that a query of the driver was sent to; undefined if it was not sent yet. */
export function pidOf(query: object | undefined): number | undefined {
  return (query as { state?: { pid?: number } | null } | undefined)?.state?.pid
}
