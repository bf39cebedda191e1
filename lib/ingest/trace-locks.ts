/**
 * Locks traces: each trace with operations in flight is locked by one operation, and the trace's other operations wait.
 *
 * The locks use a custom hash table because a Map would keep answered operations in memory. When keys are deleted as
 * fast as new keys are added, V8 repeatedly allocates a new table for a Map, and each old table points to its successor
 * for the sake of iterators. Once an old table reaches the old generation, all its successors survive until the next
 * full collection, along with the bodies of the operations in those tables.
 */

const BUCKETS = 4096

/** A locked trace and the operations waiting for it, first come, first served. */
export interface TraceLock<T> {
  readonly key: string
  readonly waiting: T[]
  /** The next lock in the same bucket. */
  next: TraceLock<T> | undefined
}

export class TraceLocks<T> {
  readonly #buckets = new Array<TraceLock<T> | undefined>(BUCKETS).fill(undefined)
  /** Seed of the hash, random per process, so that clients cannot choose trace ids that share a bucket. */
  readonly #seed = Math.floor(Math.random() * 2 ** 32)
  #size = 0

  get size(): number {
    return this.#size
  }

  get(key: string): TraceLock<T> | undefined {
    let lock = this.#buckets[this.#bucketOf(key)]
    while (lock !== undefined && lock.key !== key) lock = lock.next
    return lock
  }

  /** Locks a trace, which must not already be locked. */
  acquire(key: string): void {
    const bucket = this.#bucketOf(key)
    this.#buckets[bucket] = { key, waiting: [], next: this.#buckets[bucket] }
    this.#size++
  }

  release(lock: TraceLock<T>): void {
    const bucket = this.#bucketOf(lock.key)
    const first = this.#buckets[bucket]
    if (first === lock) {
      this.#buckets[bucket] = lock.next
    } else {
      let before = first as TraceLock<T>
      while (before.next !== lock) before = before.next as TraceLock<T>
      before.next = lock.next
    }
    lock.next = undefined
    this.#size--
  }

  #bucketOf(key: string): number {
    let hash = this.#seed
    for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
    return (hash ^ (hash >>> 16)) & (BUCKETS - 1)
  }
}
