/** The accepted traces that the load generator remembers, to be read back from the server. */
import type { AcceptedTrace, AcceptedTraces } from './load.ts'

/** Remembers the latest `keep` traces, and `keep` traces drawn from all. */
export class AcceptedLog {
  readonly #keep: number
  readonly #last: AcceptedTrace[] = []
  readonly #sample: AcceptedTrace[] = []
  #accepted = 0

  constructor(keep: number) {
    this.#keep = keep
  }

  /** Counts a trace. `read` is called only if traces are remembered. */
  add(read: () => AcceptedTrace): void {
    const index = this.#accepted
    this.#accepted += 1
    if (this.#keep === 0) return
    const trace = read()
    this.#last[index % this.#keep] = trace
    // Reservoir sampling: all traces so far have the same probability of being in the sample.
    const place = index < this.#keep ? index : Math.floor(Math.random() * this.#accepted)
    if (place < this.#keep) this.#sample[place] = trace
  }

  get traces(): AcceptedTraces {
    const oldest = this.#accepted < this.#keep ? 0 : this.#accepted % (this.#keep || 1)
    const last = [...this.#last.slice(oldest), ...this.#last.slice(0, oldest)]
    return { accepted: this.#accepted, last, sample: [...this.#sample] }
  }
}
