/**
 * Limits the number of requests in flight and the bytes of their bodies. Capacity is reserved before a body is read and
 * released later.
 *
 * No party (project) may hold more than the remaining free capacity. A single greedy party gets half of the capacity.
 * Several greedy parties get equal shares, and one more share of the same size stays free for other parties (the
 * dynamic threshold of Choudhury and Hahne, 1998).
 */
import { Refusal } from '../errors.ts'

interface Bounds {
  readonly requests: number
  readonly bytes: number
}

interface Held {
  requests: number
  bytes: number
}

export class Admission {
  readonly #bounds: Bounds
  readonly #held: Held = { requests: 0, bytes: 0 }
  readonly #parties = new Map<unknown, Held>()

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  /** Number of admitted requests. */
  get requests(): number {
    return this.#held.requests
  }

  get bytes(): number {
    return this.#held.bytes
  }

  /**
   * Reserves capacity for a body of `bytes` bytes that counts as `requests` requests. Throws `quota_exhausted` if
   * capacity is exhausted. Callers whose party is unknown (undefined) share a single party.
   */
  admit(bytes: number, requests = 1, party?: unknown): Room {
    const room = new Room(this, party)
    room.grow(bytes, requests)
    return room
  }

  /** Reserves more capacity. Called by Room only. Throws `quota_exhausted` if capacity is exhausted. */
  take(party: unknown, bytes: number, requests: number): void {
    const own = this.#parties.get(party) ?? { requests: 0, bytes: 0 }
    const { requests: mostRequests, bytes: mostBytes } = this.#bounds
    const isRoom =
      (bytes === 0 || own.bytes + bytes <= mostBytes - this.bytes - bytes) &&
      (requests === 0 || own.requests + requests <= mostRequests - this.requests - requests)
    if (!isRoom) {
      throw new Refusal('quota_exhausted', 'the service has reached its capacity; retry later')
    }
    this.#count(party, own, bytes, requests)
  }

  /** Releases capacity. Called by Room only. */
  give(party: unknown, bytes: number, requests: number): void {
    const own = this.#parties.get(party)
    if (own !== undefined) this.#count(party, own, -bytes, -requests)
  }

  #count(party: unknown, own: Held, bytes: number, requests: number): void {
    if (own.bytes === 0 && own.requests === 0) this.#parties.set(party, own)
    own.bytes += bytes
    own.requests += requests
    if (own.bytes === 0 && own.requests === 0) this.#parties.delete(party)
    this.#held.bytes += bytes
    this.#held.requests += requests
  }
}

export type Admits = Pick<Admission, 'admit'>

/** Capacity reserved by one request. */
export class Room {
  readonly #admission: Admission
  readonly #party: unknown
  #bytes = 0
  #requests = 0

  constructor(admission: Admission, party: unknown) {
    this.#admission = admission
    this.#party = party
  }

  /** Reserves more capacity. Throws `quota_exhausted` if capacity is exhausted. */
  grow(bytes: number, requests = 0): void {
    this.#admission.take(this.#party, bytes, requests)
    this.#bytes += bytes
    this.#requests += requests
  }

  /** Reduces the reservation to at most `bytes` bytes, and releases the capacity reserved for requests. */
  shrink(bytes: number): void {
    const kept = Math.min(bytes, this.#bytes)
    this.#admission.give(this.#party, this.#bytes - kept, this.#requests)
    this.#bytes = kept
    this.#requests = 0
  }

  /** Releases all capacity. Further calls have no effect. */
  release(): void {
    this.shrink(0)
  }
}
