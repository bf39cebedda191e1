/** Those who wait until what has been recorded so far is settled. */

interface Flush {
  /** The number of the last delivery that is waited for. */
  readonly last: number
  /** Whether it waits no longer when the service is away. */
  readonly untilFailure: boolean
  readonly done: () => void
}

export class Flushes {
  readonly #open = new Set<Flush>()

  /** Resolves when all deliveries up to the last one are settled, or at the end of the time. */
  wait(last: number, timeoutMs: number, untilFailure: boolean): Promise<void> {
    return new Promise(resolve => {
      const done = () => {
        clearTimeout(timer)
        this.#open.delete(flush)
        resolve()
      }
      // The process may not end while it waits for this.
      const timer = setTimeout(done, timeoutMs)
      const flush = { last, untilFailure, done }
      this.#open.add(flush)
    })
  }

  /** A delivery is settled; `oldest` is the number of the first that is not. */
  settled(oldest: number | undefined): void {
    for (const { last, done } of this.#open) if (oldest === undefined || oldest > last) done()
  }

  /** The service is away. `isFinal`: it refuses the key, so that nobody need wait. */
  failed(isFinal: boolean): void {
    for (const { untilFailure, done } of this.#open) if (isFinal || untilFailure) done()
  }
}
