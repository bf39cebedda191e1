/**
 * Splits long work on the main thread into slices, so that other requests are served in between. The work between two
 * calls of `next` should take at most two milliseconds.
 */
import { setImmediate as turn } from 'node:timers/promises'

/**
 * Maximum duration of a slice. Slices are short, because several tasks may each use a slice in the same turn of the
 * event loop.
 */
const SLICE_MS = 2

export class Slices {
  #began = performance.now()

  /** Yields to the event loop if the slice is over. */
  async next(): Promise<void> {
    if (performance.now() - this.#began < SLICE_MS) return
    await turn()
    this.#began = performance.now()
  }
}
