/**
 * Supplies PostgreSQL's planner with table statistics while a database is new. Without statistics, the planner may
 * choose the wrong index for a lookup by key, and the connection keeps using the resulting plan. An append then reads
 * all traces of the project (test/bench/RESULTS.md, "Statistics of a young database"). Autovacuum analyzes tables too,
 * but runs only once a minute. Until its first run, this module analyzes the tables, so that every connection replaces
 * its plans.
 */
import type { Sql } from 'postgres'
import type { Database } from '../../database/database.ts'
import { OccasionalWork } from '../../database/pooled/single-connection.ts'
import type { Logger } from '../../log.ts'

/**
 * The tables are analyzed each time the number of operations since the process started reaches one of these steps,
 * unless PostgreSQL's row estimate for the traces table is already at least as high as the step.
 */
const STEPS = [100, 1000, 10_000] as const
const TIMEOUT_MS = 30_000

export class Statistics {
  readonly #work: OccasionalWork
  readonly #log: Logger
  #steps: readonly number[] = STEPS
  #operations = 0

  constructor(database: Pick<Database, 'connect' | 'limit'>, log: Logger) {
    this.#work = new OccasionalWork(database, { applicationName: 'statistics', statementTimeoutMs: TIMEOUT_MS })
    this.#log = log
  }

  /** Counts written operations, and analyzes the tables when a step is reached. */
  count(operations: number): void {
    this.#operations += operations
    const [step, ...others] = this.#steps
    if (step === undefined || this.#operations < step || !this.#work.mayStart) return
    this.#steps = others
    void this.#work.run(
      sql => analyze(sql, step),
      error => this.#log.warn({ err: error }, 'could not analyze the tables; autovacuum will analyze them later')
    )
  }

  /** Aborts any analysis in flight and starts no further analysis. */
  close(): void {
    this.#work.close()
  }
}

async function analyze(sql: Sql, step: number): Promise<void> {
  const [row] = await sql<{ known: number }[]>`select reltuples as known from pg_class where oid = 'traces'::regclass`
  // skip_locked skips tables that another process or a migration has locked.
  if (row !== undefined && row.known < step) {
    await sql`analyze (skip_locked) traces, spans, trace_tags, trace_families, scores, rollups`
  }
}
