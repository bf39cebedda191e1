/**
 * Decides which changes of readiness the log tells. It has no log and no clock: callers pass the time, in ms of
 * performance.now().
 */

/** Something that would have a write refused. */
export interface Obstacle {
  /** A few words for people, which are public. */
  readonly reason: string
  /** The words of PostgreSQL, the driver or node, for the log. */
  readonly cause?: string | undefined
  /** Whether another part of the service logs it. */
  readonly isLogged?: boolean
}

export type Change =
  | { readonly is: 'not ready'; readonly reasons: string; readonly cause: string | undefined }
  | { readonly is: 'ready'; readonly ms: number }

/** An outage is over when nothing has been in the way for this time: a server that wavers has one outage, not many. */
const STEADY_MS = 3000
/** During an outage, a reason that returns is logged again after this time at the earliest. */
const REMIND_MS = 60_000

export class Outage {
  #since: number | undefined
  /** Since when nothing has been in the way; undefined while something is. */
  #clearSince: number | undefined
  /** The reasons told last, and when each was told. */
  #told = ''
  readonly #toldAt = new Map<string, number>()

  /** Whether an outage has begun whose end is not told yet. */
  get isOpen(): boolean {
    return this.#since !== undefined
  }

  /** Notes what is in the way of a write. Returns the change that is worth a line, if there is one. */
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
