/** Answers of the database that are remembered for a few seconds. */

/** How long an answer counts. A process that hears of a change forgets all of them earlier. */
const REMEMBERED_MS = 5000
const MOST = 10_000

/** From when an answer is: it is asked for before the database is. */
export interface Moment {
  readonly epoch: number
  /** In ms of performance.now(). */
  readonly until: number
}

export class Remembered<T> {
  /** In the order in which they were found. */
  readonly #found = new Map<string, { readonly value: T; readonly until: number }>()
  /** Each `forget` raises it, so that what was read before is not remembered afterwards. */
  #epoch = 0

  get(name: string): T | undefined {
    const found = this.#found.get(name)
    return found !== undefined && performance.now() < found.until ? found.value : undefined
  }

  now(): Moment {
    return { epoch: this.#epoch, until: performance.now() + REMEMBERED_MS }
  }

  /** Remembers an answer from this moment, or not, if all were forgotten since. `leftMs`: for no longer than this. */
  add(name: string, value: T, { epoch, until }: Moment, leftMs = Number.POSITIVE_INFINITY): void {
    if (epoch !== this.#epoch) return
    this.#found.delete(name)
    this.#found.set(name, { value, until: Math.min(until, performance.now() + leftMs) })
    if (this.#found.size <= MOST) return
    for (const oldest of this.#found.keys()) {
      this.#found.delete(oldest)
      return
    }
  }

  /** Forgets everything: something may have changed. */
  forget(): void {
    this.#epoch++
    this.#found.clear()
  }
}
