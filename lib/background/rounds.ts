/** Repeats work with pauses. Logs when the work fails, hangs or recovers. */
import { classifyFailure } from '../database/failure.ts'
import { FailureLog } from '../failure-log.ts'
import type { Logger } from '../log.ts'

export interface RoundsOptions {
  /** Name of the work in the log, such as `folding usage totals`. */
  readonly what: string
  readonly pauseMs: number
  readonly log: Logger
  /** Omitted in tests whose database is always available. */
  readonly health?: RoundsHealth | undefined
  readonly stuckMs?: number
}

export interface RoundsHealth {
  /** Whether the schema is set up. Rounds do not start until the schema is set up. */
  isSetUp(): boolean
  /**
   * Whether the database accepts writes. While the database rejects writes, a single log message covers the failures of
   * all rounds.
   */
  isReady(): Promise<boolean>
}

/** Interval at which the log message for a persistent failure is repeated. */
const REMIND_MS = 600_000
/** A round that makes no progress for this long is logged as stuck. */
const STUCK_MS = 60_000

export class Rounds {
  readonly #options: RoundsOptions
  readonly #work: () => Promise<void>
  readonly #failures: FailureLog
  #timer: NodeJS.Timeout | undefined
  #watch: NodeJS.Timeout | undefined
  #isStuck = false
  #isClosed = false

  constructor(options: RoundsOptions, work: () => Promise<void>) {
    const { what, log } = options
    this.#options = options
    this.#work = work
    const texts = { failed: `${what} failed; retrying`, recovered: `${what} works again` }
    this.#failures = new FailureLog(log, { ...texts, remindMs: REMIND_MS })
    this.#wait()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    clearTimeout(this.#watch)
  }

  /** Records that the current round has made progress. The next step may take up to `patienceMs`. */
  advance(patienceMs = this.#options.stuckMs ?? STUCK_MS): void {
    clearTimeout(this.#watch)
    if (this.#isStuck) this.#options.log.info(`${this.#options.what} is making progress again`)
    this.#isStuck = false
    if (!this.#isClosed) this.#watch = setTimeout(() => this.#reportStuck(patienceMs), patienceMs).unref()
  }

  #reportStuck(ms: number): void {
    this.#isStuck = true
    this.#options.log.warn({ ms }, `${this.#options.what} is stuck: it has made no progress for a while`)
  }

  #wait(): void {
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#round(), this.#options.pauseMs).unref()
  }

  async #round(): Promise<void> {
    const { health } = this.#options
    if (health !== undefined && !health.isSetUp()) {
      this.#wait()
      return
    }
    this.advance()
    try {
      await this.#work()
      this.#failures.succeed()
    } catch (error) {
      if (!(await this.#isExplained(error))) this.#failures.fail(error)
    }
    this.advance()
    clearTimeout(this.#watch)
    this.#wait()
  }

  /**
   * Returns whether the log already explains the error, because the service is closing or the database is unreachable.
   */
  async #isExplained(error: unknown): Promise<boolean> {
    if (this.#isClosed) return true
    const { cause } = (error ?? {}) as { cause?: unknown }
    const { health } = this.#options
    return classifyFailure(cause ?? error) !== 'bug' && health !== undefined && !(await health.isReady())
  }
}
