/**
 * The queue of operations on their way to the database: first in, first out, but only one operation at a time for each
 * trace. An operation is runnable (it waits for nothing but a batch), in a batch, or waiting for another one on its
 * trace.
 */
import { TraceLocks } from './trace-locks.ts'

export interface Queued {
  /** Names the project and the trace. Only one operation at a time may touch them. */
  readonly key: string
  readonly bytes: number
  /** Whether the operation must be a batch by itself. */
  readonly alone: boolean
}

export interface BatchBounds {
  readonly operations: number
  readonly bytes: number
}

export class Queue<T extends Queued> {
  readonly #runnable: T[] = []
  readonly #locks = new TraceLocks<T>()

  /** How many operations are runnable. */
  get runnable(): number {
    return this.#runnable.length
  }

  get isEmpty(): boolean {
    return this.#locks.size === 0
  }

  add(operation: T): void {
    const lock = this.#locks.get(operation.key)
    if (lock !== undefined) {
      lock.waiting.push(operation)
    } else {
      this.#locks.acquire(operation.key)
      this.#runnable.push(operation)
    }
  }

  /**
   * Takes the next batch out of the queue; it is empty if nothing is runnable. Its operations keep their traces locked
   * until they are released. An operation larger than the bounds is a batch by itself. With `groupOf`, all operations
   * of the batch are of the first one's group.
   */
  take(bounds: BatchBounds, groupOf?: (operation: T) => number): T[] {
    return groupOf === undefined ? this.#takeFirst(bounds) : this.#takeGroup(bounds, groupOf)
  }

  #takeFirst(bounds: BatchBounds): T[] {
    let count = 0
    let bytes = 0
    for (const operation of this.#runnable) {
      bytes += operation.bytes
      const isFull = count === bounds.operations || bytes > bounds.bytes
      if (count > 0 && (operation.alone || isFull)) break
      count++
      if (operation.alone) break
    }
    return this.#runnable.splice(0, count)
  }

  #takeGroup(bounds: BatchBounds, groupOf: (operation: T) => number): T[] {
    const [first, ...others] = this.#runnable
    if (first === undefined) return []
    const batch = [first]
    const left: T[] = []
    const group = groupOf(first)
    let bytes = first.bytes
    let isFull = first.alone
    for (const operation of others) {
      const fits = !isFull && !operation.alone && groupOf(operation) === group
      if (fits && batch.length < bounds.operations && bytes + operation.bytes <= bounds.bytes) {
        batch.push(operation)
        bytes += operation.bytes
      } else {
        left.push(operation)
        // Behind one that found no room none of the group goes first.
        isFull ||= fits
      }
    }
    this.#runnable.splice(0, Number.POSITIVE_INFINITY, ...left)
    return batch
  }

  /** Puts an operation that still has its trace locked back into the queue, in front of all others. */
  retry(operation: T): void {
    this.#runnable.unshift(operation)
  }

  /** Gives the trace to the next operation that waits for it. */
  release(operation: T): void {
    const lock = this.#locks.get(operation.key)
    const next = lock?.waiting.shift()
    if (next !== undefined) this.#runnable.push(next)
    else if (lock !== undefined) this.#locks.release(lock)
  }
}
