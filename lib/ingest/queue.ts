/**
 * Operations on their way to the database: first in, first out, but one at a time for each place (a trace of a project).
 * An operation is ready, in a batch, or waiting behind another one of its place.
 */
export interface Queued {
  /** What only one operation at a time may touch. */
  readonly place: string
  readonly bytes: number
  /** Must be a batch by itself. */
  readonly alone: boolean
}

export interface BatchBounds {
  readonly operations: number
  readonly bytes: number
}

export class Queue<T extends Queued> {
  #ready: T[] = []
  #first = 0
  /** Every place that an operation holds, and who waits for it. */
  readonly #places = new Map<string, T[]>()

  /** How many operations wait for nothing but a batch. */
  get ready(): number {
    return this.#ready.length - this.#first
  }

  get hasReady(): boolean {
    return this.ready > 0
  }

  get isEmpty(): boolean {
    return this.#places.size === 0
  }

  add(operation: T): void {
    const waiting = this.#places.get(operation.place)
    if (waiting !== undefined) {
      waiting.push(operation)
    } else {
      this.#places.set(operation.place, [])
      this.#ready.push(operation)
    }
  }

  /** The next batch; its operations hold their places until they are released. Empty where nothing is ready. */
  take(bounds: BatchBounds): T[] {
    const batch: T[] = []
    let bytes = 0
    while (this.hasReady) {
      const operation = this.#ready[this.#first] as T
      bytes += operation.bytes
      const isFull = batch.length === bounds.operations || bytes > bounds.bytes
      if (batch.length > 0 && (operation.alone || isFull)) break
      batch.push(operation)
      this.#first++
      if (operation.alone) break
    }
    if (!this.hasReady) {
      this.#ready = []
      this.#first = 0
    } else if (this.#first > 1024) {
      this.#ready = this.#ready.slice(this.#first)
      this.#first = 0
    }
    return batch
  }

  /** Puts an operation that holds its place back in line, before all others. */
  retry(operation: T): void {
    if (this.#first > 0) this.#ready[--this.#first] = operation
    else this.#ready.unshift(operation)
  }

  /** Gives a place to the next one that waits for it. */
  release(operation: T): void {
    const waiting = this.#places.get(operation.place)
    const next = waiting?.shift()
    if (next === undefined) this.#places.delete(operation.place)
    else this.#ready.push(next)
  }
}
