/**
 * Finds out whether a write would be accepted now. As long as writes are accepted, it only checks what the next one
 * needs. Once a write has been refused, it tries a write and undoes it, until one succeeds: no other check proves that
 * writes work again.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { classifyFailure } from '../database/failure.ts'
import type { SqlAccess } from '../database/sql-access.ts'
import type { Ingest } from '../ingest/ingest.ts'
import { CHECK_ACCESS, CHECK_ROOM, TRY_WRITE } from '../store/server/trial-write.ts'
import { nameObstacle, STUCK } from './obstacles.ts'
import type { Setup } from './setup.ts'

/** A check that takes longer counts as an obstacle, so that the question is answered in time. */
const MOST_MS = 2500
/** The database is checked no more often than this, however often the question is asked. */
const INTERVAL_MS = 1000

const QUEUE_FULL = 'the write queue is full'
const STOPPING = 'the server is stopping'

/** The reasons why a write would be refused; empty if it would be accepted. */
type Obstacles = readonly string[]

export class Readiness {
  readonly #setup: Pick<Setup, 'lacking' | 'obstacle'>
  /** The access through which small writes go. */
  readonly #sql: SqlAccess
  /** Checks by a write over the same connections as all other writes. */
  readonly #ingest: Pick<Ingest, 'admit' | 'check'>
  readonly #access: Check
  readonly #look: Check
  /** Whether a write was refused and no trial has succeeded since. */
  #isRefusing = false
  #isStopping = false

  constructor(setup: Pick<Setup, 'lacking' | 'obstacle'>, sql: SqlAccess, ingest: Pick<Ingest, 'admit' | 'check'>) {
    this.#setup = setup
    this.#sql = sql
    this.#ingest = ingest
    this.#access = new Check(() => this.#checkAccess(), 0)
    this.#look = new Check(() => this.#lookInside(), INTERVAL_MS)
  }

  /** Notes that a write was refused with 429. */
  noteRefusal(): void {
    if (this.#isRefusing) return
    this.#isRefusing = true
    this.#look.forget()
  }

  /** Notes that the server goes soon: whoever asks shall send elsewhere. */
  noteStop(): void {
    this.#isStopping = true
  }

  /** A few words for each reason why a write would be refused. */
  async findObstacles(): Promise<Obstacles> {
    if (this.#isStopping) return [STOPPING]
    if (this.#setup.lacking !== undefined) return ['not configured', ...this.#findQueue()]
    const { obstacle } = this.#setup
    const access = obstacle === undefined ? await this.#access.outcome() : [obstacle]
    const database = access.length > 0 ? access : await this.#look.outcome()
    return [...database, ...this.#findQueue()]
  }

  async #checkAccess(): Promise<Obstacles> {
    // The connection that it goes over may have been lost while nobody used it.
    await this.#ingest.check(CHECK_ACCESS).catch(error => {
      if (classifyFailure(error) !== 'lost') throw error
      return this.#ingest.check(CHECK_ACCESS)
    })
    return []
  }

  async #lookInside(): Promise<Obstacles> {
    const isTrial = this.#isRefusing
    await this.#sql.write(sql => sql.unsafe(isTrial ? TRY_WRITE : CHECK_ROOM))
    if (isTrial) this.#isRefusing = false
    return []
  }

  #findQueue(): Obstacles {
    try {
      this.#ingest.admit(0).release()
      return []
    } catch {
      return [QUEUE_FULL]
    }
  }
}

/** A check of the database. All who ask while it is under way, and for a while afterwards, share its outcome. */
class Check {
  readonly #work: () => Promise<Obstacles>
  readonly #keptMs: number
  #outcome: Promise<Obstacles> | undefined
  #isUnderWay = false
  #endedAt = 0

  constructor(work: () => Promise<Obstacles>, keptMs: number) {
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
      this.#outcome = Promise.race([this.#run(), delay(MOST_MS, [STUCK], { ref: false })])
    }
    return this.#outcome
  }

  async #run(): Promise<Obstacles> {
    this.#isUnderWay = true
    try {
      return await this.#work()
    } catch (error) {
      // A refusal has what PostgreSQL said as its cause.
      return [nameObstacle((error as { cause?: unknown }).cause ?? error)]
    } finally {
      this.#isUnderWay = false
      this.#endedAt = performance.now()
    }
  }
}
