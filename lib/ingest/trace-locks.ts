/**
 * The locks of traces: each trace that has operations under way is locked by one of them, and the others wait for it.
 *
 * The locks are in a hash table of our own, because a Map would keep answered operations in memory. When as many keys
 * are deleted as are added, V8 gives a Map one new table after another, and each old table points to the next one for
 * the sake of iterators. Once an old table is among the old objects of the heap, all later tables stay until the next
 * full collection, with the bodies that their operations held.
 */

const BUCKETS = 4096

/** A locked trace, and the operations that wait for it, first come first. */
export interface TraceLock<T> {
  readonly key: string
  readonly waiting: T[]
  /** The next lock in the same bucket. */
  next: TraceLock<T> | undefined
}

export class TraceLocks<T> {
  readonly #buckets = new Array<TraceLock<T> | undefined>(BUCKETS).fill(undefined)
  /** Random for each process, so that a client cannot choose trace ids that all fall into one bucket. */
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

  /** Locks a trace; it must not be locked already. */
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
