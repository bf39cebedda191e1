/**
 * Determines whether a write would currently be accepted. While writes are accepted, checks only a write's
 * prerequisites. After a rejected write, runs trial writes until one succeeds, because no other check proves that
 * writes work again. Trial writes are rolled back. Logs each change once with its cause. A rejected write or a failed
 * round starts the checks, which repeat until no obstacle is left, even if nobody requests readiness.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { classifyFailure } from '../database/failure.ts'
import type { SqlAccess } from '../database/sql-access.ts'
import type { RefusalCode } from '../errors.ts'
import { causeOf } from '../failure-log.ts'
import type { Logger } from '../log.ts'
import { CHECK_ACCESS, CHECK_ROOM, TRY_WRITE } from '../store/server/trial-write.ts'
import { nameObstacle, STUCK } from './obstacles.ts'
import type { Setup } from './setup.ts'

/** A check that takes longer counts as an obstacle, so that readiness requests get a timely response. */
const MOST_MS = 2500
/** Minimum interval between database checks, regardless of the number of requests. */
const INTERVAL_MS = 1000

const QUEUE_FULL = 'the write queue is full'
const STOPPING = 'the server is stopping'

/** The reasons why a write would be rejected; empty if a write would be accepted. */
type Obstacles = readonly Obstacle[]

export interface ReadinessOptions {
  readonly setup: Pick<Setup, 'lacking' | 'obstacle'>
  /** Access that runs small writes. */
  readonly sql: SqlAccess
  /** Runs checks over the connections that all other writes use. */
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
  /** Whether a write was rejected and no trial has succeeded since. */
  #isRefusing = false
  #isStopping = false
  #isWatching = false

  constructor(options: ReadinessOptions) {
    this.#options = options
    this.#access = new Check(() => this.#checkAccess(), 0)
    this.#look = new Check(() => this.#lookInside(), INTERVAL_MS)
  }

  /** Records a refusal: `quota_exhausted` for a rejected write, `unavailable` for a failed read. */
  noteRefusal(code: RefusalCode): void {
    if (code !== 'quota_exhausted' && code !== 'unavailable') return
    if (code === 'quota_exhausted' && !this.#isRefusing) {
      this.#isRefusing = true
      this.#look.forget()
    }
    if (!this.#isWatching) void this.#watch()
  }

  /** Records that the server is about to stop, so that clients switch to another server. */
  noteStop(): void {
    this.#isStopping = true
  }

  /** Describes each reason why a write would be rejected. Returns an empty array if a write would be accepted. */
  async findObstacles(): Promise<readonly string[]> {
    if (this.#isStopping) return [STOPPING]
    const obstacles = await this.#find()
    if (!this.#isStopping) this.#tell(this.#outage.see(obstacles, performance.now()))
    if (this.#outage.isOpen && !this.#isWatching) void this.#watch()
    return obstacles.map(({ reason }) => reason)
  }

  /** Repeats the checks until no obstacle is left. */
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
    // The connection may have been lost while idle.
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

const LATE: Obstacles = [{ reason: STUCK, cause: `no response within ${MOST_MS} ms` }]

/** A database check. Concurrent callers share one outcome, which is then cached for `keptMs`. */
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

  /** Makes the next call start a new check. */
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
      // A refusal's `cause` holds PostgreSQL's error.
      const cause = (error as { cause?: unknown }).cause ?? error
      return [{ reason: nameObstacle(cause), cause: causeOf(cause) }]
    } finally {
      this.#isUnderWay = false
      this.#endedAt = performance.now()
    }
  }
}

/** A condition that would cause a write to be rejected. */
interface Obstacle {
  /** A short description that anyone may see. */
  readonly reason: string
  /** The message from PostgreSQL, the driver or Node, for the log. */
  readonly cause?: string | undefined
  /** Whether another part of the service logs the obstacle. */
  readonly isLogged?: boolean
}

export type Change =
  | { readonly is: 'not ready'; readonly reasons: string; readonly cause: string | undefined }
  | { readonly is: 'ready'; readonly ms: number }

/**
 * An outage ends only after this long without obstacles, so that an unstable server causes one outage instead of many.
 */
const STEADY_MS = 3000
/** Minimum time before a recurring reason is logged again during an outage. */
const REMIND_MS = 60_000

export class Outage {
  #since: number | undefined
  /** When the last obstacle disappeared; undefined while obstacles exist. */
  #clearSince: number | undefined
  /** The last reported reasons, and when each was reported. */
  #told = ''
  readonly #toldAt = new Map<string, number>()

  /** Whether an outage has begun and its end has not been reported yet. */
  get isOpen(): boolean {
    return this.#since !== undefined
  }

  /** Records the current obstacles. Returns a change to log, if any. */
  see(obstacles: readonly Obstacle[], now: number): Change | undefined {
    if (obstacles.length === 0) return this.#seeNothing(now)
    this.#clearSince = undefined
    const own = obstacles.filter(({ isLogged }) => !isLogged)
    if (own.length === 0) return undefined
    this.#since ??= now
    const reasons = own.map(({ reason }) => reason).join('; ')
    if (reasons === this.#told || now - (this.#toldAt.get(reasons) ?? Number.NEGATIVE_INFINITY) < REMIND_MS) {
      return undefined
    }
    this.#told = reasons
    this.#toldAt.set(reasons, now)
    return { is: 'not ready', reasons, cause: own.find(({ cause }) => cause !== undefined)?.cause }
  }

  #seeNothing(now: number): Change | undefined {
    if (this.#since === undefined) return undefined
    this.#clearSince ??= now
    if (now - this.#clearSince < STEADY_MS) return undefined
    const ms = Math.round(this.#clearSince - this.#since)
    this.#since = undefined
    this.#clearSince = undefined
    this.#told = ''
    this.#toldAt.clear()
    return { is: 'ready', ms }
  }
}
