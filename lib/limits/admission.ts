/** Room for what requests bring with them: counted before it is read, given back when they have been answered. */
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

  /** How much is inside. */
  get requests(): number {
    return this.#requests
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Lets in a body of so many bytes, for so many requests. Throws `quota_exhausted` where there is no room. */
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
