/** Tracks callers that wait until everything recorded so far is settled. */

interface Flush {
  /** Number of the last delivery to wait for. */
  readonly last: number
  /** Whether to stop waiting when the service is unreachable. */
  readonly untilFailure: boolean
  readonly done: () => void
}

export class Flushes {
  readonly #open = new Set<Flush>()

  /** Resolves when all deliveries up to number `last` are settled, or after the timeout. */
  wait(last: number, timeoutMs: number, untilFailure: boolean): Promise<void> {
    return new Promise(resolve => {
      const done = () => {
        clearTimeout(timer)
        this.#open.delete(flush)
        resolve()
      }
      // Without `unref`, the timer keeps the process alive during the wait.
      const timer = setTimeout(done, timeoutMs)
      const flush = { last, untilFailure, done }
      this.#open.add(flush)
    })
  }

  /** Called when a delivery is settled. `oldest` is the number of the oldest unsettled delivery. */
  settled(oldest: number | undefined): void {
    for (const { last, done } of this.#open) if (oldest === undefined || oldest > last) done()
  }

  /** Called when sending fails. If `isFinal` is true, a retry would not help, so every wait ends. */
  failed(isFinal: boolean): void {
    for (const { untilFailure, done } of this.#open) if (isFinal || untilFailure) done()
  }
}
