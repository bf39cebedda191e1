/**
 * Batches lookups. Only one batch is in flight at a time, and lookups that are added while a batch is in flight join
 * the next batch.
 */

/** A lookup and the functions that settle its promise. */
export interface Lookup<T> {
  resolve(found: T | undefined): void
  reject(error: unknown): void
}

export class SharedLookups<L extends Lookup<unknown>> {
  readonly #most: number
  readonly #answer: (batch: readonly L[]) => Promise<void>
  #waiting: L[] = []
  #isLookingUp = false

  /**
   * The `answer` callback resolves a batch of at most `most` lookups. If the callback fails, the batch's unresolved
   * lookups are rejected.
   */
  constructor(most: number, answer: (batch: readonly L[]) => Promise<void>) {
    this.#most = most
    this.#answer = answer
  }

  add(lookup: L): void {
    this.#waiting.push(lookup)
    if (!this.#isLookingUp) void this.#lookUp()
  }

  async #lookUp(): Promise<void> {
    this.#isLookingUp = true
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#most)
      try {
        await this.#answer(batch)
      } catch (error) {
        for (const lookup of batch) lookup.reject(error)
      }
    }
    this.#isLookingUp = false
  }
}
