/** Finds the changes between two readings of a list of traces. */
import type { ShownSummary } from '../../terminal/columns.ts'

/** Maximum number of traces that are remembered. Traces that left the list long ago do not return to it. */
const MOST_SEEN = 10_000

export class Watch {
  /** Status of each trace at the last reading, by id. The trace seen longest ago comes first. */
  readonly #seen = new Map<string, string>()

  constructor(newest: readonly ShownSummary[]) {
    this.#note(newest)
  }

  /** Returns the traces that are new or have ended since the last reading, the oldest first. */
  changed(newest: readonly ShownSummary[]): ShownSummary[] {
    const changed = newest.filter(({ id, status }) => {
      const before = this.#seen.get(id)
      return before === undefined || (before === 'running' && status !== 'running')
    })
    this.#note(newest)
    return changed.reverse()
  }

  #note(newest: readonly ShownSummary[]): void {
    for (const { id, status } of newest) {
      this.#seen.delete(id)
      this.#seen.set(id, status)
    }
    for (const id of this.#seen.keys()) {
      if (this.#seen.size <= MOST_SEEN) break
      this.#seen.delete(id)
    }
  }
}
