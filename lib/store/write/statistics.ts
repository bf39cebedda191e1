/**
 * Supplies PostgreSQL's planner with table statistics while a database is new. Without statistics, the planner may
 * choose the wrong index for a lookup by key, and the connection keeps using the resulting plan. An append then reads
 * all traces of the project (test/bench/RESULTS.md, "Statistics of a young database"). Autovacuum analyzes tables too,
 * but runs only once a minute. Until its first run, this module analyzes the tables, so that every connection replaces
 * its plans.
 */
import type { Sql } from 'postgres'
import type { Database } from '../../database/database.ts'
import { closeSingle, openSingle } from '../../database/pooled/single-connection.ts'
import type { Logger } from '../../log.ts'

/**
 * The tables are analyzed each time the number of operations since the process started reaches one of these steps,
 * unless PostgreSQL's row estimate for the traces table is already at least as high as the step.
 */
const STEPS = [100, 1000, 10_000] as const
const TIMEOUT_MS = 30_000

export class Statistics {
  readonly #database: Pick<Database, 'connect' | 'limit'>
  readonly #log: Logger
  #steps: readonly number[] = STEPS
  #operations = 0
  #isAtWork = false
  /** Connection that is analyzing the tables, if any. */
  #sql: Sql | undefined
  #isClosing = false

  constructor(database: Pick<Database, 'connect' | 'limit'>, log: Logger) {
    this.#database = database
    this.#log = log
  }

  /** Counts written operations, and analyzes the tables when a step is reached. */
  count(operations: number): void {
    this.#operations += operations
    const [step, ...others] = this.#steps
    if (step === undefined || this.#operations < step || this.#isAtWork) return
    this.#steps = others
    void this.#analyze(step)
  }

  /** Aborts any analysis in flight and starts no further analysis. */
  close(): void {
    this.#isClosing = true
    this.#steps = []
    void this.#sql?.end({ timeout: 0 })
  }

  async #analyze(step: number): Promise<void> {
    this.#isAtWork = true
    try {
      const sql = await openSingle(this.#database, { applicationName: 'statistics', statementTimeoutMs: TIMEOUT_MS })
      this.#sql = sql
      if (this.#isClosing) return
      const [row] = await sql<
        { known: number }[]
      >`select reltuples as known from pg_class where oid = 'traces'::regclass`
      // skip_locked skips tables that another process or a migration has locked.
      if (row !== undefined && row.known < step) {
        await sql`analyze (skip_locked) traces, spans, trace_tags, trace_families, scores, rollups`
      }
    } catch (error) {
      if (!this.#isClosing) this.#log.warn({ err: error }, 'the tables could not be analyzed; autovacuum will do it')
    } finally {
      if (this.#sql !== undefined) await closeSingle(this.#database, this.#sql)
      this.#sql = undefined
      this.#isAtWork = false
    }
  }
}
