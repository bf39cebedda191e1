/**
 * Limits how many connections a process has at once, over all its holders. Each connection takes a place. If all places
 * are taken, the connection that has been idle for longest is closed to free one, or else the next that becomes idle.
 *
 * PostgreSQL may allow fewer connections than there are places (the limit of a role, a database or the server), and
 * says so only when one is opened. From then on there are as many places as there are connections, and now and then one
 * more is tried. Short questions about a silent connection (hung-connection.ts) need no place.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { isTooManyConnections } from '../failure.ts'

/** Has connections that it could do without for a while. */
export interface Holder {
  /**
   * The time at which its least needed connection became idle, as performance.now() has it; undefined: all are busy.
   */
  readonly idleSince: number | undefined
  /** Closes that one; resolves when it is closed. */
  closeIdle(): Promise<void>
}

/** A process that was allowed fewer connections than it would use. */
export interface Shortage {
  readonly allowed: number
  readonly wanted: number
}

/**
 * A connection that was just closed counts until its backend has ended, which takes a moment; so a refusal is believed
 * only when it has been repeated so often.
 */
const ATTEMPTS = 4
const ATTEMPT_PAUSE_MS = 25
/** How long a caller without any connection goes on trying, while this process has none to close. */
const PATIENCE_MS = 3000
const PAUSE_MS = 100
/** How often waiting callers are checked. */
const LOOK_MS = 200
/** How long after a refusal one connection more is tried; twice as long after each attempt that is refused in a row. */
const FIRST_RAISE_MS = 1000
const MAX_RAISE_MS = 30_000

export class ConnectionLimit {
  readonly #wanted: number
  readonly #onShortage: (shortage: Shortage) => void
  readonly #holders = new Set<Holder>()
  readonly #waiting: (() => void)[] = []
  #allowed: number
  #held = 0
  /** Places that their holders keep for good. */
  #kept = 0
  #closing = 0
  /** One connection more than before is being tried. */
  #isRaising = false
  #raiseMs = FIRST_RAISE_MS
  #raiseAt = 0
  /** Runs while a caller waits. */
  #clock: NodeJS.Timeout | undefined
  /** The least number that was reported since the last time there were enough. */
  #told = Number.POSITIVE_INFINITY

  /** `onShortage` is told when PostgreSQL allows fewer than before. */
  constructor(most = Number.POSITIVE_INFINITY, onShortage: (shortage: Shortage) => void = () => {}) {
    this.#wanted = most
    this.#allowed = most
    this.#onShortage = onShortage
  }

  /** Undefined: PostgreSQL has allowed all that were asked for. */
  get shortage(): Shortage | undefined {
    return this.#allowed < this.#wanted ? { allowed: this.#allowed, wanted: this.#wanted } : undefined
  }

  /**
   * Whether a caller waits for a place that is not about to be free: a connection that becomes idle should be closed.
   */
  get isWanted(): boolean {
    return this.#waiting.length > this.#closing
  }

  join(holder: Holder): void {
    this.#holders.add(holder)
  }

  part(holder: Holder): void {
    this.#holders.delete(holder)
  }

  /**
   * Opens a connection that the caller cannot do without; waits for a place. The place is the caller's until `leave`.
   */
  async open<T>(connect: () => Promise<T>): Promise<T> {
    let end = Number.POSITIVE_INFINITY
    for (;;) {
      await this.#enter()
      try {
        const connection = await this.#attempt(connect)
        this.#noteSuccess()
        return connection
      } catch (error) {
        this.#noteFailure(error)
        if (!isTooManyConnections(error) || performance.now() > end) throw error
        end = Math.min(end, performance.now() + PATIENCE_MS)
      }
      await delay(PAUSE_MS)
    }
  }

  /** The same for a connection that is never given up. */
  async openForGood<T>(connect: () => Promise<T>): Promise<T> {
    const connection = await this.open(connect)
    this.#kept++
    return connection
  }

  leaveForGood(): void {
    this.#kept--
    this.leave()
  }

  /** Opens a connection that is not necessary. Undefined if there is no place for it. */
  async openIfFree<T>(connect: () => Promise<T>): Promise<T | undefined> {
    if (!this.#hasRoom() || this.#waiting.length > 0) return undefined
    this.#held++
    try {
      const connection = await connect()
      this.#noteSuccess()
      return connection
    } catch (error) {
      this.#noteFailure(error)
      if (!isTooManyConnections(error)) throw error
      return undefined
    }
  }

  /** Gives the place of a closed connection back. */
  leave(): void {
    this.#held--
    if (this.#hasRoom()) this.#pass()
  }

  /** Gives the place of a connection back once that has closed. */
  leaveAfter(closed: Promise<unknown>): Promise<void> {
    this.#closing++
    const leave = () => {
      this.#closing--
      this.leave()
    }
    return closed.then(leave, leave)
  }

  async #enter(): Promise<void> {
    if (this.#waiting.length === 0 && this.#hasRoom()) {
      this.#held++
      return
    }
    const turn = new Promise<void>(resolve => this.#waiting.push(resolve))
    // A place may have become free unnoticed, and one more connection may be due for a try while no caller comes or
    // goes.
    this.#clock ??= setInterval(() => this.#look(), LOOK_MS).unref()
    this.#look()
    await turn
    if (this.#waiting.length > 0) return
    clearInterval(this.#clock)
    this.#clock = undefined
  }

  /** Lets the next one in, or has a place made for it. */
  #look(): void {
    if (this.#waiting.length === 0) return
    if (this.#hasRoom()) this.#pass()
    else if (this.isWanted) this.#closeIdlest()
  }

  #pass(): void {
    const next = this.#waiting.shift()
    if (next === undefined) return
    this.#held++
    next()
  }

  #closeIdlest(): void {
    const idle = [...this.#holders].filter(holder => holder.idleSince !== undefined)
    const [idlest] = idle.sort((one, other) => one.idleSince! - other.idleSince!)
    void idlest?.closeIdle()
  }

  async #attempt<T>(connect: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await connect()
      } catch (error) {
        if (attempt === ATTEMPTS || !isTooManyConnections(error)) throw error
      }
      await delay(ATTEMPT_PAUSE_MS)
    }
  }

  #hasRoom(): boolean {
    const isDue = this.shortage !== undefined && !this.#isRaising && performance.now() >= this.#raiseAt
    if (this.#held >= this.#allowed && isDue) {
      this.#allowed++
      this.#isRaising = true
    }
    // At least one connection is always allowed, so that a caller can try.
    return this.#held < Math.max(this.#allowed, this.#kept + 1)
  }

  /** A connection was opened. If it was one more than before, the next one may be tried at once. */
  #noteSuccess(): void {
    if (!this.#isRaising) return
    this.#isRaising = false
    this.#raiseMs = FIRST_RAISE_MS
    this.#raiseAt = 0
    if (this.shortage === undefined) this.#told = Number.POSITIVE_INFINITY
  }

  /** A connection was not opened: its place is free, and where PostgreSQL had none left it is no place any more. */
  #noteFailure(error: unknown): void {
    if (isTooManyConnections(error)) {
      if (this.#isRaising) this.#raiseMs = Math.min(MAX_RAISE_MS, 2 * this.#raiseMs)
      this.#raiseAt = performance.now() + this.#raiseMs
      this.#allowed = Math.min(this.#allowed, Math.max(1, this.#held - 1))
      if (this.#allowed < this.#told) {
        this.#told = this.#allowed
        this.#onShortage({ allowed: this.#allowed, wanted: this.#wanted })
      }
    }
    this.#isRaising = false
    this.leave()
  }
}
