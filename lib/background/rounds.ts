/** Work that is done again and again, with a pause in between. The log says when it fails, hangs, and works again. */
import { classifyFailure } from '../database/failure.ts'
import { FailureLog } from '../failure-log.ts'
import type { Logger } from '../log.ts'

export interface RoundsOptions {
  /** The work, as the log names it: `folding sums over time`. */
  readonly what: string
  readonly pauseMs: number
  readonly log: Logger
  /** Left out by tests whose database is always there. */
  readonly health?: RoundsHealth | undefined
  readonly stuckMs?: number
}

export interface RoundsHealth {
  /** Whether the database has the schema. Rounds wait for it. */
  isSetUp(): boolean
  /** Whether the database takes writes. While it does not, the log says so once for all rounds. */
  isReady(): Promise<boolean>
}

/** A round that fails for long is logged again after this time. */
const REMIND_MS = 600_000
/** A round that makes no progress for so long is logged as stuck. */
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
    const texts = { failed: `${what} failed; it is tried again`, recovered: `${what} works again` }
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

  /** Notes that the round under way has made progress. What comes next may take `patienceMs`. */
  advance(patienceMs = this.#options.stuckMs ?? STUCK_MS): void {
    clearTimeout(this.#watch)
    if (this.#isStuck) this.#options.log.info(`${this.#options.what} makes progress again`)
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

  /** Whether the log says why already: the service closes, or the database is away for everybody. */
  async #isExplained(error: unknown): Promise<boolean> {
    if (this.#isClosed) return true
    const { cause } = (error ?? {}) as { cause?: unknown }
    const { health } = this.#options
    return classifyFailure(cause ?? error) !== 'bug' && health !== undefined && !(await health.isReady())
  }
}
