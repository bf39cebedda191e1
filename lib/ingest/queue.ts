/**
 * Operations on their way to the database: first in, first out, but one at a time for each place (a trace of a project).
 * An operation is ready, in a batch, or waiting behind another one of its place.
 */
import { TraceLocks } from './trace-locks.ts'

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
  readonly #ready: T[] = []
  /** Every place that an operation holds, and who waits for it. */
  readonly #locks = new TraceLocks<T>()

  /** How many operations wait for nothing but a batch. */
  get ready(): number {
    return this.#ready.length
  }

  get hasReady(): boolean {
    return this.ready > 0
  }

  get isEmpty(): boolean {
    return this.#locks.size === 0
  }

  add(operation: T): void {
    const held = this.#locks.get(operation.place)
    if (held !== undefined) {
      held.waiting.push(operation)
    } else {
      this.#locks.hold(operation.place)
      this.#ready.push(operation)
    }
  }

  /** The next batch; its operations hold their places until they are released. Empty where nothing is ready. */
  take(bounds: BatchBounds): T[] {
    let count = 0
    let bytes = 0
    for (const operation of this.#ready) {
      bytes += operation.bytes
      const isFull = count === bounds.operations || bytes > bounds.bytes
      if (count > 0 && (operation.alone || isFull)) break
      count++
      if (operation.alone) break
    }
    return this.#ready.splice(0, count)
  }

  /** Puts an operation that holds its place back in line, before all others. */
  retry(operation: T): void {
    this.#ready.unshift(operation)
  }

  /** Gives a place to the next one that waits for it. */
  release(operation: T): void {
    const held = this.#locks.get(operation.place)
    const next = held?.waiting.shift()
    if (next !== undefined) this.#ready.push(next)
    else if (held !== undefined) this.#locks.leave(held)
  }
}
