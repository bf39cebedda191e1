/**
 * Limits a process's concurrent connections across all holders. Each connection takes a slot. If no slot is free, the
 * connection that has been idle the longest is closed; failing that, the next connection to become idle.
 *
 * PostgreSQL may allow fewer connections than there are slots (because of a role, database or server limit), and
 * reports this only by rejecting a connection. The number of slots then drops to the number of open connections, and
 * the process occasionally tries to open one more connection. Short queries about a silent connection
 * (hung-connection.ts) need no slot.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { isTooManyConnections } from '../failure.ts'

/** An owner of connections that can close idle connections to free their slots. */
export interface Holder {
  /**
   * Time at which the holder's longest-idle connection became idle, in ms of performance.now(); undefined if all
   * connections are busy.
   */
  readonly idleSince: number | undefined
  /** Closes the longest-idle connection; resolves when it is closed. */
  closeIdle(): Promise<void>
}

/** Number of connections that PostgreSQL allows a process, and number of connections that the process wants. */
export interface Shortage {
  readonly allowed: number
  readonly wanted: number
}

/**
 * Number of attempts before a rejection is final. PostgreSQL counts a closed connection until the connection's backend
 * exits.
 */
const ATTEMPTS = 4
const ATTEMPT_PAUSE_MS = 25
/** How long a caller keeps trying to open a connection that PostgreSQL rejects. */
const PATIENCE_MS = 3000
const PAUSE_MS = 100
/** Interval between checks of waiting callers. */
const LOOK_MS = 200
/** Delay between a rejection and an attempt at one more connection; doubles with each consecutive failure. */
const FIRST_RAISE_MS = 1000
const MAX_RAISE_MS = 30_000

export class ConnectionLimit {
  readonly #wanted: number
  readonly #onShortage: (shortage: Shortage) => void
  readonly #holders = new Set<Holder>()
  readonly #waiting: (() => void)[] = []
  #allowed: number
  #held = 0
  /** Number of slots that holders keep permanently. */
  #kept = 0
  #closing = 0
  /** Whether an attempt to open one connection above the current limit is in progress. */
  #isRaising = false
  #raiseMs = FIRST_RAISE_MS
  #raiseAt = 0
  /** Runs while a caller is waiting. */
  #clock: NodeJS.Timeout | undefined
  /** Lowest limit reported since PostgreSQL last allowed all requested connections. */
  #told = Number.POSITIVE_INFINITY

  /** Calls `onShortage` when PostgreSQL allows fewer connections than previously reported. */
  constructor(most = Number.POSITIVE_INFINITY, onShortage: (shortage: Shortage) => void = () => {}) {
    this.#wanted = most
    this.#allowed = most
    this.#onShortage = onShortage
  }

  /** The current shortage of connections; undefined if PostgreSQL has allowed all requested connections. */
  get shortage(): Shortage | undefined {
    return this.#allowed < this.#wanted ? { allowed: this.#allowed, wanted: this.#wanted } : undefined
  }

  /**
   * Whether a caller is waiting for a slot that no closing connection will free. The next connection to become idle
   * should then be closed.
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
   * Opens a connection that the caller requires, waiting for a slot. The caller holds the slot until it calls `leave`.
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

  /** Opens a connection that keeps its slot permanently; otherwise like `open`. */
  async openForGood<T>(connect: () => Promise<T>): Promise<T> {
    const connection = await this.open(connect)
    this.#kept++
    return connection
  }

  leaveForGood(): void {
    this.#kept--
    this.leave()
  }

  /** Opens an optional connection. Returns undefined if no slot is available. */
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

  /** Releases the slot of a closed connection. */
  leave(): void {
    this.#held--
    if (this.#hasRoom()) this.#pass()
  }

  /** Releases a connection's slot once the connection has closed. */
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
    // Polls, because slots may become free unnoticed, and a further attempt may be due even if no caller arrives.
    this.#clock ??= setInterval(() => this.#look(), LOOK_MS).unref()
    this.#look()
    await turn
    if (this.#waiting.length > 0) return
    clearInterval(this.#clock)
    this.#clock = undefined
  }

  /** Admits the next caller, or closes an idle connection to free a slot. */
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

  /**
   * Records an opened connection. If the connection exceeded the earlier limit, an attempt to open one more may follow
   * immediately.
   */
  #noteSuccess(): void {
    if (!this.#isRaising) return
    this.#isRaising = false
    this.#raiseMs = FIRST_RAISE_MS
    this.#raiseAt = 0
    if (this.shortage === undefined) this.#told = Number.POSITIVE_INFINITY
  }

  /** Records a failed attempt and frees the attempt's slot. Lowers the limit if PostgreSQL had no connection left. */
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
