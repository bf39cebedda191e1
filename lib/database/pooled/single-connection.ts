/** A connection that is opened for one purpose and belongs to no pool. */
import type { Sql } from 'postgres'
import type { ConnectOptions, Database } from '../database.ts'
import { openSession } from '../session/open-session.ts'

type Opener = Pick<Database, 'connect' | 'limit'>

/** Opens a connection, waiting for a slot. The caller must end the connection with closeSingle. */
export function openSingle({ connect, limit }: Opener, options: ConnectOptions): Promise<Sql> {
  return limit.open(() => openOnce(connect, options))
}

/** Background work on a connection that is open only during the work, one piece of work at a time. */
export class OccasionalWork {
  readonly #opener: Opener
  readonly #options: ConnectOptions
  #sql: Sql | undefined
  #isAtWork = false
  #isClosing = false

  constructor(opener: Opener, options: ConnectOptions) {
    this.#opener = opener
    this.#options = options
  }

  get mayStart(): boolean {
    return !this.#isAtWork && !this.#isClosing
  }

  /** Runs the `work` callback. Passes an error to `onError`, unless `close` was called. */
  async run(work: (sql: Sql) => Promise<void>, onError: (error: unknown) => void): Promise<void> {
    this.#isAtWork = true
    try {
      this.#sql = await openSingle(this.#opener, this.#options)
      if (!this.#isClosing) await work(this.#sql)
    } catch (error) {
      if (!this.#isClosing) onError(error)
    } finally {
      if (this.#sql !== undefined) await closeSingle(this.#opener, this.#sql)
      this.#sql = undefined
      this.#isAtWork = false
    }
  }

  /** Aborts the work in flight, and lets no further work start. */
  close(): void {
    this.#isClosing = true
    void this.#sql?.end({ timeout: 0 })
  }
}

/** Closes the connection and abandons queries in flight. */
export function closeSingle({ limit }: Pick<Opener, 'limit'>, sql: Sql): Promise<void> {
  return limit.leaveAfter(sql.end({ timeout: 0 }))
}

/** Opens a driver connection. On failure, ends the driver instance. */
export async function openOnce(connect: Database['connect'], options: ConnectOptions): Promise<Sql> {
  const sql = connect(options)
  try {
    await openSession(sql)
    return sql
  } catch (error) {
    sql.end({ timeout: 0 }).catch(() => {})
    throw error
  }
}
