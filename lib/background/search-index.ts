/**
 * Maintains the search index (lib/store/search/indexing.ts) in the process that holds the lock. Pauses between steps to
 * leave the CPU to requests. The pauses are longer while many requests are in flight.
 */
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { ADVISORY_LOCK } from '../database/advisory-locks.ts'
import type { Database } from '../database/database.ts'
import { closeSingle, openSingle } from '../database/pooled/single-connection.ts'
import type { SqlAccess } from '../database/sql-access.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { fillBack, foldTerms, indexNews, isOff, rebuildOld, sweepSegment } from '../store/search/indexing.ts'
import { findDue, type ProjectBacklog, readBacklog, type WaitingWords } from '../store/search/state.ts'
import { Rounds, type RoundsOptions } from './rounds.ts'

export interface SearchIndexOptions {
  readonly sql: SqlAccess
  readonly database: Pick<Database, 'connect' | 'limit'>
  readonly log: Logger
  readonly health?: RoundsOptions['health']
  readonly metrics: Pick<Metrics, 'watch'>
  /** Whether few requests are in flight. */
  readonly isCalm: () => boolean
}

/** How long new writes may remain unsearchable. */
const PAUSE_MS = 1000
const TIMEOUT_MS = 30_000
/** How often every process checks the backlog. */
const BACKLOG_PAUSE_MS = 15_000
/** Pause after each step, as a multiple of the step's duration. */
const PAUSES = { calm: 1, busy: 9 }

export class SearchIndex {
  readonly #options: SearchIndexOptions
  readonly #rounds: Rounds
  readonly #backlogRounds: Rounds
  #backlog = new Backlog()
  #sql: Sql | undefined

  constructor(options: SearchIndexOptions) {
    this.#options = options
    const { log, health, metrics } = options
    const about = 'Writes not yet in the search index; counted up to 10,000 per project.'
    metrics.watch('spoor_search_waiting', about, () => this.#backlog.waiting, 'max')
    const partly = 'Indexed traces not yet searchable by their errors, tool calls and metadata.'
    metrics.watch('spoor_search_partly_indexed', partly, () => this.#backlog.partlyIndexed, 'max')
    const age = 'Lower bound on how long the oldest write has waited to be indexed, in seconds.'
    metrics.watch('spoor_search_waiting_age_seconds', age, () => this.lagMs / 1000, 'max')
    this.#rounds = new Rounds({ what: 'indexing for search', pauseMs: PAUSE_MS, log, health }, () => this.#round())
    const looking = { what: 'checking the search index backlog', pauseMs: BACKLOG_PAUSE_MS, log, health }
    this.#backlogRounds = new Rounds(looking, () => this.#lookAtBacklog())
  }

  /** Lower bound for how long the oldest write has waited to be indexed. */
  get lagMs(): number {
    return this.#backlog.ageMs(performance.now())
  }

  close(): void {
    this.#rounds.close()
    this.#backlogRounds.close()
    void this.#sql?.end({ timeout: 0 })
  }

  async #round(): Promise<void> {
    const { sql, database } = this.#options
    if ((await sql.read(findDue)).length === 0) return
    const connection = { applicationName: 'search index', statementTimeoutMs: TIMEOUT_MS }
    const own = await openSingle(database, connection)
    this.#sql = own
    try {
      const [lock] = await own<[{ held: boolean }]>`select pg_try_advisory_lock(${ADVISORY_LOCK.searchIndex}) as held`
      // Closing the connection releases the lock.
      for (let due = lock.held ? await findDue(own) : []; due.length > 0; due = await findDue(own)) {
        for (const projectId of due) await this.#index(own, projectId)
        if (this.#rounds.isClosed) return
      }
    } finally {
      this.#sql = undefined
      await closeSingle(database, own)
    }
  }

  async #lookAtBacklog(): Promise<void> {
    const { sql } = this.#options
    const seen = await sql.read(sql => readBacklog(sql, this.#backlog.marks))
    this.#backlog = this.#backlog.next(seen, performance.now())
  }

  async #index(sql: Sql, projectId: number): Promise<void> {
    let began = performance.now()
    const rest = async () => {
      const tookMs = performance.now() - began
      const times = this.#options.isCalm() ? PAUSES.calm : PAUSES.busy
      await (tookMs < 1 ? turn() : delay(tookMs * times))
      began = performance.now()
      this.#rounds.advance()
    }
    try {
      await indexNews(sql, projectId, rest)
      await foldTerms(sql, projectId, rest)
      await fillBack(sql, projectId, rest)
      await rebuildOld(sql, projectId, rest)
      await sweepSegment(sql, projectId, rest)
      await rest()
    } catch (error) {
      if (!isOff(error)) throw error
    }
  }
}

interface Mark extends WaitingWords {
  /** Time at which the write was first seen, in ms of performance.now(). */
  readonly since: number
}

/**
 * Tracks how long writes wait to be indexed. Waiting writes have no timestamps, so each project's last waiting write is
 * marked with the time at which that write was first seen. Until the write is indexed, the mark's age is a lower bound
 * for the write's waiting time. Once the marked write is indexed, the mark moves to the write that is last in the
 * project's backlog at that time.
 */
export class Backlog {
  /** Number of waiting writes of all projects; undefined until the first check. */
  readonly waiting: number | undefined
  /** Each project's mark, by project id. */
  readonly marks: ReadonlyMap<number, Mark>

  /** Number of all projects' indexed traces whose words are not all indexed; undefined until the first check. */
  readonly partlyIndexed: number | undefined

  constructor(waiting?: number, marks: ReadonlyMap<number, Mark> = new Map(), partlyIndexed?: number) {
    this.waiting = waiting
    this.partlyIndexed = partlyIndexed
    this.marks = marks
  }

  /** Returns a lower bound for the age of the oldest waiting write. */
  ageMs(now: number): number {
    return Math.max(0, ...[...this.marks.values()].map(({ since }) => now - since))
  }

  /** Returns the backlog updated with the result of a check. */
  next(seen: readonly ProjectBacklog[], now: number): Backlog {
    const marks = seen.flatMap(({ projectId, last, hasMark }): [number, Mark][] => {
      const mark = this.marks.get(projectId)
      if (hasMark && mark !== undefined) return [[projectId, mark]]
      return last === undefined ? [] : [[projectId, { ...last, since: now }]]
    })
    return new Backlog(
      seen.reduce((sum, { waiting }) => sum + waiting, 0),
      new Map(marks),
      seen.reduce((sum, { partlyIndexed }) => sum + partlyIndexed, 0)
    )
  }
}
