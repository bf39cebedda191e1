/**
 * Folds news into rollups (lib/store/analytics/rollups/fold.ts), sums finished days into fortnights, and counts traces
 * older than the rollups, starting with the newest day. Every process runs this; a lock in the database admits one at a
 * time.
 */
import type { Database } from '../database/database.ts'
import { closeSingle, openSingle } from '../database/pooled/single-connection.ts'
import type { SqlAccess } from '../database/sql-access.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { foldNews, readWaiting } from '../store/analytics/rollups/fold.ts'
import { makeFortnight, readProjectIds } from '../store/analytics/rollups/fortnights.ts'
import { countOneDay, findHistory } from '../store/analytics/rollups/recount.ts'
import { Rounds, type RoundsOptions } from './rounds.ts'

/** Readers add what is not folded, so a longer pause only makes them read more of it. */
const PAUSE_MS = 5000
/**
 * A fold of few rows changes nearly as many rows of rollups: 250 take PostgreSQL 28 µs each, 7,500 take it 2. So fewer
 * of a project wait, until there are many in all, or for the round that folds all, one of so many.
 */
const FEW_ROWS = 5000
const MANY_ROWS = 20_000
const WHOLE_ROUNDS = 12
/** The most news that one transaction folds, which takes a tenth of a second. */
const MOST_AT_ONCE = 20_000
/**
 * How long fortnights are made in a round that folds all. Each takes a fraction of a second, and where old traces
 * change all the time, one is made again and again.
 */
const FORTNIGHTS_MS = 1000
/** How long history is counted in a round: a fifth of the time, if a day does not take longer. */
const HISTORY_MS = 1000
/** A day of millions of traces takes a while. */
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
  /** Rows of news of all projects, as the last round found them. */
  #waiting: number | undefined
  /** When a round last began after which nothing was left of what waited then, in ms of performance.now(). */
  #caughtUpAt = performance.now()
  /** The projects that fortnights may be missing of; undefined: all. */
  #changed: Set<number> | undefined

  constructor(options: FoldingOptions) {
    const { log, health, metrics, pauseMs = PAUSE_MS } = options
    this.#options = options
    const about = 'Rows of news that are not in the sums over time yet; they count all the same.'
    metrics.watch('spoor_rollup_news', about, () => this.#waiting, 'max')
    const age = 'How long the oldest row of news has waited at most, in seconds.'
    metrics.watch('spoor_rollup_news_age_seconds', age, () => this.lagMs / 1000, 'max')
    this.#rounds = new Rounds({ what: 'folding sums over time', pauseMs, log, health }, async () => {
      await this.#fold()
      if (this.#isWhole()) await this.#makeFortnights()
      await this.#countHistory()
      this.#round++
    })
  }

  close(): void {
    this.#rounds.close()
  }

  /** How long the oldest row of news has waited at most. */
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
        left -= await sql.write(sql => foldNews(sql, projectId, MOST_AT_ONCE))
        this.#rounds.advance()
      }
      this.#changed?.add(projectId)
    }
    // Fewer were folded than had waited where another process is at it.
    if (left <= 0) this.#caughtUpAt = beganAt
  }

  #isWhole(): boolean {
    return this.#round % WHOLE_ROUNDS === 0
  }

  async #makeFortnights(): Promise<void> {
    const { sql } = this.#options
    this.#changed ??= new Set(await sql.read(readProjectIds))
    const end = performance.now() + FORTNIGHTS_MS
    for (const projectId of this.#changed) {
      while (!this.#rounds.isClosed && performance.now() < end) {
        const goesOn = await sql.write(sql => makeFortnight(sql, projectId))
        this.#rounds.advance()
        if (goesOn) continue
        this.#changed.delete(projectId)
        break
      }
    }
  }

  async #countHistory(): Promise<void> {
    const { sql, database, log } = this.#options
    const project = await sql.read(findHistory)
    if (project === undefined) return
    const single = await openSingle(database, { applicationName: 'history', statementTimeoutMs: DAY_TIMEOUT_MS })
    try {
      const end = performance.now() + HISTORY_MS
      for (let goesOn = true; goesOn && !this.#rounds.isClosed && performance.now() < end; ) {
        this.#rounds.advance(DAY_TIMEOUT_MS)
        goesOn = await countOneDay(single, project)
        if (!goesOn) log.info({ project }, 'the sums over time have all traces of this project')
      }
    } finally {
      await closeSingle(database, single)
    }
  }
}
