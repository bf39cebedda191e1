/**
 * Statistics for PostgreSQL's planner while a database is young. A plan made for tables of which nothing is known may take
 * any index for that of the key, and a connection keeps it: an append then passed over all traces of its project (51
 * streamed traces/s and falling, in place of 306). Autovacuum looks once a minute; until it has, the tables are analyzed
 * here, after which every connection plans anew.
 */
import type { Sql } from 'postgres'
import type { Database } from '../../database/database.ts'
import type { Logger } from '../../log.ts'

/** After so many operations, from the start of the process; a table that is known to have as many rows is left alone. */
const STEPS = [100, 1000, 10_000] as const
const TIMEOUT_MS = 30_000

export class Statistics {
  readonly #database: Pick<Database, 'connect'>
  readonly #log: Logger
  #steps: readonly number[] = STEPS
  #operations = 0
  /** The connection over which the tables are being analyzed. */
  #sql: Sql | undefined
  #isClosing = false

  constructor(database: Pick<Database, 'connect'>, log: Logger) {
    this.#database = database
    this.#log = log
  }

  /** So many operations more were written. */
  count(operations: number): void {
    this.#operations += operations
    const [step, ...others] = this.#steps
    if (step === undefined || this.#operations < step || this.#sql !== undefined) return
    this.#steps = others
    void this.#analyze(step)
  }

  /** What is being analyzed is given up. */
  close(): void {
    this.#isClosing = true
    this.#steps = []
    void this.#sql?.end({ timeout: 0 })
  }

  async #analyze(step: number): Promise<void> {
    const sql = this.#database.connect({ applicationName: 'statistics', statementTimeoutMs: TIMEOUT_MS })
    this.#sql = sql
    try {
      const [row] = await sql<
        { known: number }[]
      >`select reltuples as known from pg_class where oid = 'traces'::regclass`
      // What another process, or a migration, is at is left to it.
      if (row !== undefined && row.known < step) {
        await sql`analyze (skip_locked) traces, spans, trace_tags, trace_families, scores`
      }
    } catch (error) {
      if (!this.#isClosing) this.#log.warn({ err: error }, 'the tables could not be analyzed; autovacuum will do it')
    } finally {
      await sql.end({ timeout: 0 })
      this.#sql = undefined
    }
  }
}
