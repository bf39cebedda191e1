/** Caches database results for a few seconds. */

/** Lifetime of a cached result. A process that is notified of a change clears its cache sooner. */
const REMEMBERED_MS = 5000
const MOST = 10_000

/**
 * The state of the cache before a database read. The caller takes it before its query, so that a result is not
 * cached if data changed during the query.
 */
export interface CacheMoment {
  readonly epoch: number
  /** Expiry time, in ms of performance.now(). */
  readonly until: number
}

export class Remembered<T> {
  /** Cached results, in insertion order. */
  readonly #found = new Map<string, { readonly value: T; readonly until: number }>()
  /** Incremented by each `forget`, so that results of earlier reads are not cached afterwards. */
  #epoch = 0

  get(name: string): T | undefined {
    const found = this.#found.get(name)
    return found !== undefined && performance.now() < found.until ? found.value : undefined
  }

  now(): CacheMoment {
    return { epoch: this.#epoch, until: performance.now() + REMEMBERED_MS }
  }

  /**
   * Caches the result of a read that began at the given moment, unless `forget` was called since then. `leftMs` limits
   * the result's lifetime.
   */
  add(name: string, value: T, { epoch, until }: CacheMoment, leftMs = Number.POSITIVE_INFINITY): void {
    if (epoch !== this.#epoch) return
    this.#found.delete(name)
    this.#found.set(name, { value, until: Math.min(until, performance.now() + leftMs) })
    const [oldest] = this.#found.keys()
    if (this.#found.size > MOST) this.#found.delete(oldest!)
  }

  /** Clears the cache after a possible change. */
  forget(): void {
    this.#epoch++
    this.#found.clear()
  }
}
