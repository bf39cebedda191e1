/**
 * Finds out whether a write would be accepted now. As long as writes are accepted, it only checks what the next one
 * needs. Once a write has been refused, it tries a write and undoes it, until one succeeds: no other check proves that
 * writes work again.
 *
 * The log tells each change once, with its cause. Nobody needs to ask for that: a refused request or a failed round is
 * reason enough to look, and while something is in the way it looks again and again.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { classifyFailure } from '../database/failure.ts'
import type { SqlAccess } from '../database/sql-access.ts'
import type { RefusalCode } from '../errors.ts'
import { causeOf } from '../failure-log.ts'
import type { Logger } from '../log.ts'
import { CHECK_ACCESS, CHECK_ROOM, TRY_WRITE } from '../store/server/trial-write.ts'
import { nameObstacle, STUCK } from './obstacles.ts'
import { type Change, type Obstacle, Outage } from './outage.ts'
import type { Setup } from './setup.ts'

/** A check that takes longer counts as an obstacle, so that the question is answered in time. */
const MOST_MS = 2500
/** The database is checked no more often than this, however often the question is asked. */
const INTERVAL_MS = 1000

const QUEUE_FULL = 'the write queue is full'
const STOPPING = 'the server is stopping'

/** What would have a write refused; empty if it would be accepted. */
type Obstacles = readonly Obstacle[]

export interface ReadinessOptions {
  readonly setup: Pick<Setup, 'lacking' | 'obstacle'>
  /** The access through which small writes go. */
  readonly sql: SqlAccess
  /** Checks by a write over the same connections as all other writes. */
  readonly ingest: {
    admit(bytes: number): { release(): void }
    check(statement: string): Promise<void>
  }
  readonly log: Logger
}

export class Readiness {
  readonly #options: ReadinessOptions
  readonly #access: Check
  readonly #look: Check
  readonly #outage = new Outage()
  /** Whether a write was refused and no trial has succeeded since. */
  #isRefusing = false
  #isStopping = false
  #isWatching = false

  constructor(options: ReadinessOptions) {
    this.#options = options
    this.#access = new Check(() => this.#checkAccess(), 0)
    this.#look = new Check(() => this.#lookInside(), INTERVAL_MS)
  }

  /** Notes a refusal. Writes that the database does not take are `quota_exhausted`, reads are `unavailable`. */
  noteRefusal(code: RefusalCode): void {
    if (code !== 'quota_exhausted' && code !== 'unavailable') return
    if (code === 'quota_exhausted' && !this.#isRefusing) {
      this.#isRefusing = true
      this.#look.forget()
    }
    if (!this.#isWatching) void this.#watch()
  }

  /** Notes that the server goes soon: whoever asks shall send elsewhere. */
  noteStop(): void {
    this.#isStopping = true
  }

  /** A few words for each reason why a write would be refused; empty if it would be accepted. */
  async findObstacles(): Promise<readonly string[]> {
    if (this.#isStopping) return [STOPPING]
    const obstacles = await this.#find()
    if (!this.#isStopping) this.#tell(this.#outage.see(obstacles, performance.now()))
    if (this.#outage.isOpen && !this.#isWatching) void this.#watch()
    return obstacles.map(({ reason }) => reason)
  }

  /** Looks until nothing is in the way any more. */
  async #watch(): Promise<void> {
    this.#isWatching = true
    do {
      await this.findObstacles()
      await delay(INTERVAL_MS, undefined, { ref: false })
    } while (this.#outage.isOpen && !this.#isStopping)
    this.#isWatching = false
  }

  #tell(change: Change | undefined): void {
    const { log } = this.#options
    if (change?.is === 'not ready') log.warn({ cause: change.cause }, `not ready: ${change.reasons}`)
    if (change?.is === 'ready') log.info({ ms: change.ms }, 'ready again: writes are accepted')
  }

  async #find(): Promise<Obstacles> {
    const { lacking, obstacle } = this.#options.setup
    if (lacking !== undefined) return [{ reason: 'not configured', isLogged: true }, ...this.#findQueue()]
    const access = obstacle === undefined ? await this.#access.outcome() : [{ reason: obstacle, isLogged: true }]
    const database = access.length > 0 ? access : await this.#look.outcome()
    return [...database, ...this.#findQueue()]
  }

  async #checkAccess(): Promise<void> {
    const { ingest } = this.#options
    // The connection that it goes over may have been lost while nobody used it.
    await ingest.check(CHECK_ACCESS).catch(error => {
      if (classifyFailure(error) !== 'lost') throw error
      return ingest.check(CHECK_ACCESS)
    })
  }

  async #lookInside(): Promise<void> {
    const isTrial = this.#isRefusing
    await this.#options.sql.write(sql => sql.unsafe(isTrial ? TRY_WRITE : CHECK_ROOM))
    if (isTrial) this.#isRefusing = false
  }

  #findQueue(): Obstacles {
    try {
      this.#options.ingest.admit(0).release()
      return []
    } catch {
      return [{ reason: QUEUE_FULL }]
    }
  }
}

const LATE: Obstacles = [{ reason: STUCK, cause: `no answer within ${MOST_MS} ms` }]

/** A check of the database. All who ask while it is under way, and for a while afterwards, share its outcome. */
class Check {
  readonly #work: () => Promise<void>
  readonly #keptMs: number
  #outcome: Promise<Obstacles> | undefined
  #isUnderWay = false
  #endedAt = 0

  constructor(work: () => Promise<void>, keptMs: number) {
    this.#work = work
    this.#keptMs = keptMs
  }

  /** Makes the next question start a new check. */
  forget(): void {
    this.#endedAt = Number.NEGATIVE_INFINITY
  }

  outcome(): Promise<Obstacles> {
    const isOld = !this.#isUnderWay && performance.now() - this.#endedAt >= this.#keptMs
    if (this.#outcome === undefined || isOld) {
      this.#outcome = Promise.race([this.#run(), delay(MOST_MS, LATE, { ref: false })])
    }
    return this.#outcome
  }

  async #run(): Promise<Obstacles> {
    this.#isUnderWay = true
    try {
      await this.#work()
      return []
    } catch (error) {
      // A refusal has what PostgreSQL said as its cause.
      const cause = (error as { cause?: unknown }).cause ?? error
      return [{ reason: nameObstacle(cause), cause: causeOf(cause) }]
    } finally {
      this.#isUnderWay = false
      this.#endedAt = performance.now()
    }
  }
}
