/**
 * Keeps rankings short during heavy recording (lib/store/rankings/rankings.ts). At intervals, a separate connection
 * cuts the rankings of a project's frequent lists, one ranking at a time.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import type { Database } from '../../database/database.ts'
import { OccasionalWork } from '../../database/pooled/single-connection.ts'
import { FailureLog } from '../../failure-log.ts'
import type { Logger } from '../../log.ts'
import { KnownFloors } from './known-floors.ts'
import { cutRanking, findFrequentLists, RANKING_SIZE, RANKINGS, type RankingSize } from './rankings.ts'

/**
 * A project's rankings are first cut when the process has written `first` operations to the project, and then again
 * after every further `each` operations. To cut a ranking, PostgreSQL reads at most `size.most` + 1 index entries above
 * the ranking's floor. Other processes also raise floors. The `read` option is the number of operations, across all
 * projects, after which all floors are reread.
 */
const CUTS = { first: 4_096, each: 262_144, read: 16_384, size: RANKING_SIZE }
const TIMEOUT_MS = 30_000
const REMIND_MS = 600_000
/** Pause between rankings, so that recording can use the processors most of the time. */
const PAUSE_MS = 10

export interface CutOptions {
  readonly first: number
  readonly each: number
  readonly read: number
  readonly size: RankingSize
}

export class RankingCuts {
  readonly floors = new KnownFloors()
  readonly #work: OccasionalWork
  readonly #failures: FailureLog
  readonly #options: CutOptions
  /** For each project, the number of operations left until its rankings are cut. */
  readonly #left = new Map<number, number>()
  readonly #due = new Set<number>()
  #unread = 0

  constructor(database: Pick<Database, 'connect' | 'limit'>, log: Logger, options: CutOptions = CUTS) {
    const settings = { enable_seqscan: 'off' }
    const connection = { applicationName: 'rankings', statementTimeoutMs: TIMEOUT_MS, settings }
    this.#work = new OccasionalWork(database, connection)
    this.#failures = new FailureLog(log, {
      failed: 'trace rankings could not be shortened; will try again',
      recovered: 'trace rankings are being shortened again',
      remindMs: REMIND_MS
    })
    this.#options = options
  }

  /** Counts written operations, and starts any work that is due. */
  count(projectId: number, operations: number): void {
    const left = (this.#left.get(projectId) ?? this.#options.first) - operations
    this.#left.set(projectId, left > 0 ? left : this.#options.each)
    if (left <= 0) this.#due.add(projectId)
    this.#unread += operations
    if (left > 0 && this.#unread < this.#options.read) return
    if (!this.#work.mayStart) return
    this.#unread = 0
    const due = [...this.#due]
    this.#due.clear()
    void this.#work.run(
      sql => this.#cut(sql, due),
      error => this.#failures.fail(error)
    )
  }

  /** Aborts the work in flight and starts no further work. */
  close(): void {
    this.#work.close()
  }

  async #cut(sql: Sql, due: readonly number[]): Promise<void> {
    for (const projectId of due) {
      for (const list of await findFrequentLists(sql, projectId)) {
        for (const ranking of RANKINGS) {
          await cutRanking(sql, projectId, list, ranking, this.#options.size)
          await delay(PAUSE_MS)
        }
      }
    }
    await this.floors.read(sql)
    this.#failures.succeed()
  }
}
