/** Decides which readiness changes are logged. Callers pass the time, in milliseconds from performance.now(). */

/** A condition that would cause a write to be rejected. */
export interface Obstacle {
  /** A short, public description. */
  readonly reason: string
  /** The message from PostgreSQL, the driver or Node, for the log. */
  readonly cause?: string | undefined
  /** Whether another part of the service logs the obstacle. */
  readonly isLogged?: boolean
}

export type Change =
  | { readonly is: 'not ready'; readonly reasons: string; readonly cause: string | undefined }
  | { readonly is: 'ready'; readonly ms: number }

/** An outage ends only after this long without obstacles, so that an unstable server has one outage instead of many. */
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

  /** Whether an outage has begun whose end has not been reported. */
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
