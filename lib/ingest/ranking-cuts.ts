/**
 * Keeps rankings short while much is recorded (lib/store/rankings.ts): now and then, those of the lists that a project's
 * newest traces are in are cut, one after the other, over a connection of its own.
 */
import type { Sql } from 'postgres'
import type { Database } from '../database/database.ts'
import type { Logger } from '../log.ts'
import { KnownFloors } from '../store/known-floors.ts'
import { cutRanking, findFrequentLists, RANKING_SIZE, type RankingSize } from '../store/rankings.ts'

/**
 * A project's rankings are looked at after so many operations on it, from the start of the process, and then again and again: that
 * reads some 20,000 entries of an index for each long ranking, 2 s of PostgreSQL's CPU where there are 500.
 */
export const CUTS = { first: 4_096, each: 262_144 } as const
const TIMEOUT_MS = 30_000

export interface CutOptions {
  readonly first: number
  readonly each: number
  readonly size: RankingSize
}

export class RankingCuts {
  readonly floors = new KnownFloors()
  readonly #database: Pick<Database, 'connect'>
  readonly #log: Logger
  readonly #options: CutOptions
  /** By project, how many operations there are to go. */
  readonly #left = new Map<number, number>()
  readonly #due = new Set<number>()
  #sql: Sql | undefined
  #isClosing = false

  constructor(database: Pick<Database, 'connect'>, log: Logger, options: CutOptions = { ...CUTS, size: RANKING_SIZE }) {
    this.#database = database
    this.#log = log
    this.#options = options
  }

  /** So many operations more were written. */
  count(projectId: number, operations: number): void {
    const left = (this.#left.get(projectId) ?? this.#options.first) - operations
    this.#left.set(projectId, left > 0 ? left : this.#options.each)
    if (left > 0 || this.#isClosing) return
    this.#due.add(projectId)
    if (this.#sql === undefined) void this.#work()
  }

  /** What is under way is given up. */
  close(): void {
    this.#isClosing = true
    void this.#sql?.end({ timeout: 0 })
  }

  async #work(): Promise<void> {
    const sql = this.#database.connect({
      applicationName: 'rankings',
      statementTimeoutMs: TIMEOUT_MS,
      settings: { enable_seqscan: 'off' }
    })
    this.#sql = sql
    try {
      for (const projectId of this.#due) {
        this.#due.delete(projectId)
        for (const list of await findFrequentLists(sql, projectId)) {
          for (const ranking of ['slowest', 'costliest'] as const)
            await cutRanking(sql, projectId, list, ranking, this.#options.size)
        }
      }
      await this.floors.read(sql)
    } catch (error) {
      if (!this.#isClosing)
        this.#log.warn({ err: error }, 'the rankings of traces could not be cut; they stay long for now')
    } finally {
      await sql.end({ timeout: 0 })
      this.#sql = undefined
    }
  }
}
