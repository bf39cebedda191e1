/**
 * Cuts long work on the main thread into slices, so that requests of others are served in between. What runs between
 * two calls of `next` should take a millisecond or two at most.
 */
import { setImmediate as turn } from 'node:timers/promises'

/** Several pieces of work may have a slice in one turn of the event loop, hence so little. */
const SLICE_MS = 2

export class Slices {
  #began = performance.now()

  /** Gives way to others if the slice is over. */
  async next(): Promise<void> {
    if (performance.now() - this.#began < SLICE_MS) return
    await turn()
    this.#began = performance.now()
  }
}
