/**
 * Folds delta rows into rollups (lib/store/analytics/rollups/fold.ts), sums finished days into fortnights, and counts
 * traces from before rollups existed, newest day first. Every process runs this loop; a database lock admits one
 * process at a time.
 */
import type { Sql } from 'postgres'
import type { Database } from '../database/database.ts'
import { closeSingle, openSingle } from '../database/pooled/single-connection.ts'
import type { SqlAccess } from '../database/sql-access.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { foldDeltas, readWaiting } from '../store/analytics/rollups/fold.ts'
import { makeFortnight, readProjectIds } from '../store/analytics/rollups/fortnights.ts'
import { countOneDay, findHistory } from '../store/analytics/rollups/recount.ts'
import { findMissingUsage, makeUsage } from '../store/analytics/usage/made-hours.ts'
import { Rounds, type RoundsOptions } from './rounds.ts'

/** Pause between rounds. During a longer pause, readers would have to process more unfolded rows. */
const PAUSE_MS = 5000
/**
 * Small folds change nearly as many rollup rows as large folds do: PostgreSQL takes 28 µs per row to fold 250 rows, but
 * 2 µs per row to fold 7,500. Projects with fewer than FEW_ROWS rows are folded only if more than MANY_ROWS rows are
 * waiting in total, and in every WHOLE_ROUNDS-th round, which folds the rows of all projects.
 */
const FEW_ROWS = 5000
const MANY_ROWS = 20_000
const WHOLE_ROUNDS = 12
/** Maximum number of delta rows folded in one transaction. Folding that many rows takes a tenth of a second. */
const MOST_AT_ONCE = 20_000
/**
 * Time limit for computing fortnights in a round that folds everything. Computing a fortnight takes a fraction of a
 * second, and a fortnight whose traces keep changing is computed repeatedly.
 */
const FORTNIGHTS_MS = 1000
/**
 * Time limit for counting history in each round: a fifth of the pause between rounds. Counting a single day may take
 * longer.
 */
const HISTORY_MS = 1000
/** Statement time-out for counting a day or an hour, long enough for millions of traces. */
const DAY_TIMEOUT_MS = 600_000

export interface FoldingOptions {
  readonly sql: SqlAccess
  readonly database: Pick<Database, 'connect' | 'limit'>
  readonly log: Logger
  readonly health?: RoundsOptions['health']
  readonly metrics: Pick<Metrics, 'watch'>
  readonly pauseMs?: number | undefined
}

export class Folding {
  readonly #options: FoldingOptions
  readonly #rounds: Rounds
  #round = 0
  /** Number of delta rows in all projects, as of the last round. */
  #waiting: number | undefined
  /** Start of the last round that folded all rows waiting at that time, in ms of performance.now(). */
  #caughtUpAt = performance.now()
  /** Projects that may lack fortnights; undefined means all projects. */
  #changed: Set<number> | undefined

  constructor(options: FoldingOptions) {
    const { log, health, metrics, pauseMs = PAUSE_MS } = options
    this.#options = options
    const about = 'Rows of rollup_news that are not yet folded into rollups. Charts include these rows.'
    metrics.watch('spoor_rollup_news', about, () => this.#waiting, 'max')
    const age = 'Upper bound on the age of the oldest row in rollup_news, in seconds.'
    metrics.watch('spoor_rollup_news_age_seconds', age, () => this.lagMs / 1000, 'max')
    this.#rounds = new Rounds({ what: 'folding usage totals', pauseMs, log, health }, async () => {
      await this.#fold()
      try {
        if (this.#isWhole()) await this.#makeFortnights()
      } finally {
        this.#round++
      }
      await this.#countHistory()
    })
  }

  close(): void {
    this.#rounds.close()
  }

  /** Upper bound for the age of the oldest delta row. */
  get lagMs(): number {
    return this.#waiting === 0 ? 0 : performance.now() - this.#caughtUpAt
  }

  async #fold(): Promise<void> {
    const { sql } = this.#options
    const beganAt = performance.now()
    const waiting = await sql.read(readWaiting)
    this.#waiting = waiting.reduce((sum, { rows }) => sum + rows, 0)
    const isWhole = this.#isWhole() || this.#waiting > MANY_ROWS
    let left = this.#waiting
    for (const { projectId, rows } of waiting) {
      if (rows < FEW_ROWS && !isWhole) continue
      for (let most = rows; most > 0 && !this.#rounds.isClosed; most -= MOST_AT_ONCE) {
        left -= await sql.write(sql => foldDeltas(sql, projectId, MOST_AT_ONCE))
        this.#rounds.advance()
      }
      this.#changed?.add(projectId)
    }
    // If another process is folding, fewer rows are folded here than were waiting.
    if (left <= 0) this.#caughtUpAt = beganAt
  }

  #isWhole(): boolean {
    return this.#round % WHOLE_ROUNDS === 0
  }

  async #makeFortnights(): Promise<void> {
    const { sql } = this.#options
    this.#changed ??= new Set(await sql.read(readProjectIds))
    const end = performance.now() + FORTNIGHTS_MS
    const failures: unknown[] = []
    for (const projectId of this.#changed) {
      try {
        while (!this.#rounds.isClosed && performance.now() < end) {
          const goesOn = (await sql.write(sql => makeFortnight(sql, projectId))) || (await this.#makeUsage(projectId))
          this.#rounds.advance()
          if (goesOn) continue
          this.#changed.delete(projectId)
          break
        }
      } catch (error) {
        // A project whose sums cannot be computed does not hold up the others.
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  }

  /** Computes missing sums by user, step and tag. Returns false if none are missing. */
  async #makeUsage(projectId: number): Promise<boolean> {
    const missing = await this.#options.sql.read(sql => findMissingUsage(sql, projectId))
    if (missing === undefined) return false
    await this.#onSingle('usage sums', single => {
      this.#rounds.advance(DAY_TIMEOUT_MS)
      return makeUsage(single, projectId, missing, () => this.#rounds.isClosed)
    })
    return true
  }

  /** Runs `work` on a connection of its own, whose statements may take long. */
  async #onSingle(applicationName: string, work: (sql: Sql) => Promise<void>): Promise<void> {
    const { database } = this.#options
    const single = await openSingle(database, { applicationName, statementTimeoutMs: DAY_TIMEOUT_MS })
    try {
      await work(single)
    } finally {
      await closeSingle(database, single)
    }
  }

  async #countHistory(): Promise<void> {
    const { sql, log } = this.#options
    const project = await sql.read(findHistory)
    if (project === undefined) return
    await this.#onSingle('history', async single => {
      const end = performance.now() + HISTORY_MS
      for (let goesOn = true; goesOn && !this.#rounds.isClosed && performance.now() < end; ) {
        this.#rounds.advance(DAY_TIMEOUT_MS)
        goesOn = await countOneDay(single, project)
        if (!goesOn) log.info({ project }, 'the usage totals now include all traces in this project')
      }
    })
  }
}
