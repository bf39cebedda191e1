/**
 * Bounds the requests under way and the bytes of their bodies. Room is taken before a body is read, and given back
 * later.
 */
import { Refusal } from '../errors.ts'

interface Bounds {
  readonly requests: number
  readonly bytes: number
}

export class Admission {
  readonly #bounds: Bounds
  #requests = 0
  #bytes = 0

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  /** How many requests are inside. */
  get requests(): number {
    return this.#requests
  }

  get bytes(): number {
    return this.#bytes
  }

  /**
   * Takes room for a body of so many bytes, which counts as so many requests. Throws `quota_exhausted` if there is
   * none. `release` gives the room back; a second call does nothing.
   */
  admit(bytes: number, requests = 1): { release(): void } {
    if (this.#requests + requests > this.#bounds.requests || this.#bytes + bytes > this.#bounds.bytes) {
      throw new Refusal('quota_exhausted', 'the service has as much to do as it can hold; retry later')
    }
    this.#requests += requests
    this.#bytes += bytes
    let held = true
    return {
      release: () => {
        if (!held) return
        held = false
        this.#requests -= requests
        this.#bytes -= bytes
      }
    }
  }
}
