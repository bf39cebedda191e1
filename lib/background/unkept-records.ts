/**
 * Counts log records and metrics that are not kept, and writes the counts every few seconds, so that no export has to
 * wait for a count to be written. A process that crashes loses its counts since the last write.
 */
import type { SqlAccess } from '../database/sql-access.ts'
import type { Logger } from '../log.ts'
import { addUnkept, forgetUnkept, type UnkeptCount } from '../store/projects/unkept-records.ts'
import { Rounds, type RoundsOptions } from './rounds.ts'

const PAUSE_MS = 2000
/** Interval at which senders are notified again that records with a certain name are not kept. */
const TOLD_MS = 3_600_000
/** Maximum number of names that a process remembers. Senders of records with further names are not notified. */
const MOST_NAMES = 10_000
/** Maximum length of a counted name, in characters. */
const LONGEST_NAME = 100

export interface UnkeptRecordsOptions {
  readonly sql: SqlAccess
  readonly log: Logger
  readonly health?: RoundsOptions['health']
}

export class UnkeptRecords {
  readonly #sql: SqlAccess
  readonly #rounds: Rounds
  /** Counts that are not yet written, by key. */
  #waiting = new Map<string, UnkeptCount>()
  /** Time at which senders were last notified about each name, in ms of performance.now(), by key. */
  readonly #told = new Map<string, number>()

  constructor({ sql, log, health }: UnkeptRecordsOptions) {
    this.#sql = sql
    this.#rounds = new Rounds({ what: 'counting records that are not kept', pauseMs: PAUSE_MS, log, health }, () =>
      this.#write()
    )
  }

  /** Counts records by name. Returns the names whose senders have not been notified within the last hour. */
  add(projectId: number, signal: UnkeptCount['signal'], counts: ReadonlyMap<string, number>): readonly string[] {
    const news: string[] = []
    for (const [given, count] of counts) {
      const name = given
        .replaceAll(/[\p{Cc}\p{Cs}]/gu, ' ')
        .slice(0, LONGEST_NAME)
        .toWellFormed()
      const key = JSON.stringify([projectId, signal, name])
      const before = this.#waiting.get(key)?.count ?? 0
      this.#waiting.set(key, { projectId, signal, name, count: before + count })
      if (this.#isNews(key)) news.push(given)
    }
    return news
  }

  /** Writes the waiting counts and stops. */
  async close(): Promise<void> {
    this.#rounds.close()
    // A server that stops while the database is unreachable loses a few seconds of counts.
    await this.#write().catch(() => undefined)
  }

  #isNews(key: string): boolean {
    const now = performance.now()
    const told = this.#told.get(key)
    if (told !== undefined && now - told < TOLD_MS) return false
    if (told === undefined && this.#told.size >= MOST_NAMES) return false
    this.#told.set(key, now)
    return true
  }

  async #write(): Promise<void> {
    if (this.#waiting.size === 0) return
    const counts = this.#waiting
    this.#waiting = new Map()
    try {
      await this.#sql.write(async sql => {
        await addUnkept(sql, [...counts.values()])
        await forgetUnkept(sql)
      })
    } catch (error) {
      this.#putBack(counts)
      throw error
    }
  }

  #putBack(counts: ReadonlyMap<string, UnkeptCount>): void {
    for (const [key, count] of counts) {
      this.#waiting.set(key, { ...count, count: count.count + (this.#waiting.get(key)?.count ?? 0) })
    }
  }
}
