/**
 * Knows the prices that operators set, and counts calls without a price. Both are in PostgreSQL: the prices are read
 * again every few seconds and when one changes, and the counts are added every few seconds, away from the write path.
 */
import type { SqlAccess } from '../database/sql-access.ts'
import type { PriceSource } from '../ingest/write-path.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { addUnpriced, ownPricesOf, type PriceRow, readPrices } from '../store/projects/prices.ts'
import type { OwnPrice } from '../trace/prices/own.ts'
import { Rounds, type RoundsOptions } from './rounds.ts'

const PAUSE_MS = 5000
/** Bound of the models counted between two rounds, because senders choose their names. */
const MOST_COUNTED = 10_000
const NONE: readonly OwnPrice[] = []

export interface PriceBookOptions {
  readonly sql: SqlAccess
  readonly log: Logger
  readonly health?: RoundsOptions['health']
  readonly metrics: Pick<Metrics, 'countUnpriced'>
  readonly pauseMs?: number | undefined
}

interface Count {
  readonly projectId: number
  readonly model: string
  calls: number
}

export class PriceBook implements PriceSource {
  readonly #options: PriceBookOptions
  readonly #rounds: Rounds
  #rows: readonly PriceRow[] = []
  /** Prices by project, filled when a project needs them. */
  #own = new Map<number, readonly OwnPrice[]>()
  #counts = new Map<string, Count>()

  constructor(options: PriceBookOptions) {
    const { log, health, pauseMs = PAUSE_MS } = options
    this.#options = options
    this.#rounds = new Rounds({ what: 'reading prices', pauseMs, log, health }, () => this.#round())
  }

  ownOf(projectId: number): readonly OwnPrice[] {
    if (this.#rows.length === 0) return NONE
    const known = this.#own.get(projectId)
    if (known !== undefined) return known
    const own = ownPricesOf(this.#rows, projectId)
    this.#own.set(projectId, own)
    return own
  }

  countUnpriced(projectId: number, calls: ReadonlyMap<string, number>): void {
    for (const [model, count] of calls) {
      this.#options.metrics.countUnpriced(count)
      const key = `${projectId} ${model}`
      const known = this.#counts.get(key)
      if (known !== undefined) known.calls += count
      else if (this.#counts.size < MOST_COUNTED) this.#counts.set(key, { projectId, model, calls: count })
    }
  }

  /** Reads the prices again. A failure is left to the next round. */
  async refresh(): Promise<void> {
    await this.#read().catch(() => {})
  }

  /** Adds the counts that no round has added yet. */
  async close(): Promise<void> {
    this.#rounds.close()
    await this.#flush().catch(() => {})
  }

  async #round(): Promise<void> {
    await this.#read()
    await this.#flush()
  }

  async #read(): Promise<void> {
    this.#rows = await this.#options.sql.read(sql => readPrices(sql))
    this.#own = new Map()
  }

  async #flush(): Promise<void> {
    if (this.#counts.size === 0) return
    const counts = this.#counts
    this.#counts = new Map()
    // A failed write loses these counts. To add them again could count them twice.
    await this.#options.sql.write(sql => addUnpriced(sql, [...counts.values()]))
  }
}
