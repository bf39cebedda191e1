/**
 * What operations are under way on, each held by one: a hash table. Not a Map, of which V8 makes a new table again and again
 * where as much is taken out as is put in, and leaves in the old one a pointer to the new one, for iterators. Once one of
 * them is with the old objects, every later one is kept with all that it held until the next full collection, dead or
 * not: of small traces half the bodies.
 */

const BUCKETS = 4096

/** A place that is held, and who waits for it. */
export interface Held<T> {
  readonly place: string
  readonly waiting: T[]
  /** The next one of its bucket. */
  next: Held<T> | undefined
}

export class TraceLocks<T> {
  readonly #buckets = new Array<Held<T> | undefined>(BUCKETS).fill(undefined)
  /** Other for each process, so that nobody can choose places that fall into one bucket. */
  readonly #seed = Math.floor(Math.random() * 2 ** 32)
  #size = 0

  get size(): number {
    return this.#size
  }

  get(place: string): Held<T> | undefined {
    let held = this.#buckets[this.#bucketOf(place)]
    while (held !== undefined && held.place !== place) held = held.next
    return held
  }

  /** Holds a place that nobody holds. */
  hold(place: string): void {
    const bucket = this.#bucketOf(place)
    this.#buckets[bucket] = { place, waiting: [], next: this.#buckets[bucket] }
    this.#size++
  }

  /** Gives up a place that is held. */
  leave(held: Held<T>): void {
    const bucket = this.#bucketOf(held.place)
    const first = this.#buckets[bucket]
    if (first === held) {
      this.#buckets[bucket] = held.next
    } else {
      let before = first as Held<T>
      while (before.next !== held) before = before.next as Held<T>
      before.next = held.next
    }
    held.next = undefined
    this.#size--
  }

  #bucketOf(place: string): number {
    let hash = this.#seed
    for (let i = 0; i < place.length; i++) hash = Math.imul(hash ^ place.charCodeAt(i), 0x01000193)
    return (hash ^ (hash >>> 16)) & (BUCKETS - 1)
  }
}
