/**
 * Queues operations for the database: first in, first out, with at most one operation at a time per trace. An operation
 * is runnable (waiting only for a batch), in a batch, or waiting for another operation on its trace.
 */
import { TraceLocks } from './trace-locks.ts'

export interface Queued {
  /** Identifies the project and the trace. Only one operation at a time may work on a trace. */
  readonly key: string
  readonly bytes: number
  /** Whether the operation must form a separate batch. */
  readonly alone: boolean
}

export interface BatchBounds {
  readonly operations: number
  readonly bytes: number
}

export class Queue<T extends Queued> {
  readonly #runnable: T[] = []
  readonly #locks = new TraceLocks<T>()

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
   * Takes the next batch from the queue. The batch is empty if nothing is runnable. Its operations keep their traces
   * locked until they are released. An operation larger than the bounds forms a separate batch. If `groupOf` is set,
   * the batch contains only operations of the first operation's group.
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
        // Once an operation does not fit into the batch, later operations of the same group must not overtake that
        // operation.
        isFull ||= fits
      }
    }
    this.#runnable.splice(0, Number.POSITIVE_INFINITY, ...left)
    return batch
  }

  /** Puts an operation back at the front of the queue. The operation must still hold its trace's lock. */
  retry(operation: T): void {
    this.#runnable.unshift(operation)
  }

  /** Passes the trace's lock to the next operation waiting for the trace. */
  release(operation: T): void {
    const lock = this.#locks.get(operation.key)
    const next = lock?.waiting.shift()
    if (next !== undefined) this.#runnable.push(next)
    else if (lock !== undefined) this.#locks.release(lock)
  }
}
