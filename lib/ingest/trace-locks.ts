/**
 * The traces that operations are under way on, each locked by one operation, and who waits for it: a hash table. It is no
 * Map, because V8 makes a new table for a Map again and again where as much is taken out as is put in, and the old table
 * points to the new one, for iterators. Once one of them is among the old objects, all later ones are kept, with everything
 * that they held, until the next full collection: half the bodies of small traces.
 */

const BUCKETS = 4096

/** A locked trace, and who waits for it. */
export interface TraceLock<T> {
  readonly key: string
  readonly waiting: T[]
  /** The next one of its bucket. */
  next: TraceLock<T> | undefined
}

export class TraceLocks<T> {
  readonly #buckets = new Array<TraceLock<T> | undefined>(BUCKETS).fill(undefined)
  /** Other for each process, so that nobody can choose keys that fall into one bucket. */
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

  /** Locks what is not locked. */
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
