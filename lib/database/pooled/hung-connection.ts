/**
 * Finds connections that hang: a network that swallows what it carries, or a server that was stopped, closes nothing and
 * says nothing. A query may take as long as its statement time-out allows, so silence alone proves nothing: after a while
 * the server is asked over another connection whether it still works for the silent one.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'

/** Opens one connection, and says when it has closed. */
export type Connect = (onClose: () => void) => Sql

/**
 * Time is counted in ticks of a timer, not by the clock: a process that was itself stopped for a while must not take what
 * it has not read yet for silence.
 */
export const TICK_MS = 1000
/** Ticks of silence before the server is asked, and between two times that it is. */
const LOOK_TICKS = 3
const LOOK_MS = 4000
/** How much longer than its statement time-out a server may be silent, whatever it says. */
const PATIENCE_MS = 5000

/** What one connection waits for, and for how long. */
export class HungCheck {
  readonly #connect: Connect
  readonly #mostTicks: number
  #awaited: object | undefined
  #ticks = 0

  /** Without a statement time-out, a connection is given up only where the server does not work for it. */
  constructor(connect: Connect, statementTimeoutMs = Number.POSITIVE_INFINITY) {
    this.#connect = connect
    this.#mostTicks = Math.ceil((statementTimeoutMs + PATIENCE_MS) / TICK_MS)
  }

  /**
   * Takes note, at each tick, of what is waited for now; undefined: nothing. Resolves to whether the connection hangs, by
   * which time its answer may have come all the same.
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
  // What stands between and lends out its own connections tells other ids, which say nothing.
  return busy || own !== pidOf(query)
}

/** A server that refuses another connection is there; more is not known. */
const isFromServer = (error: unknown): boolean => (error as { name?: unknown }).name === 'PostgresError'

/** The id of the backend that a query of the driver was sent to; undefined: it was not sent yet. */
export function pidOf(query: object | undefined): number | undefined {
  return (query as { state?: { pid?: number } | null } | undefined)?.state?.pid
}
