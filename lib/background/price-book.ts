/**
 * Caches the prices that operators set, and counts calls that have no price. Prices are reread from PostgreSQL every
 * few seconds and whenever a price changes. Counts are added to PostgreSQL every few seconds, outside the write path.
 */
import type { SqlAccess } from '../database/sql-access.ts'
import type { PriceSource } from '../ingest/write-path.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { addUnpriced, ownPricesOf, type PriceRow, readPrices } from '../store/projects/prices.ts'
import type { OwnPrice } from '../trace/prices/own.ts'
import { Rounds, type RoundsOptions } from './rounds.ts'

const PAUSE_MS = 5000
/** Maximum number of models counted between two rounds. Senders choose model names, so the number must be bounded. */
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
  /** Prices by project, computed when first needed. */
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

  /** Rereads the prices. If the read fails, the next round retries. */
  async refresh(): Promise<void> {
    await this.#read().catch(() => {})
  }

  /** Stops the rounds and writes the remaining counts. */
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
    // A failed write loses these counts, because a retry could count the same calls twice.
    await this.#options.sql.write(sql => addUnpriced(sql, [...counts.values()]))
  }
}
