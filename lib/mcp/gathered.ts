/**
 * Bounds the results that one message gathers: a batch may have 50 calls, and all of its results are in memory until it
 * is answered.
 */
import { Refusal } from '../errors.ts'
import type { Result } from './long-result.ts'

/** Two traces of the usual largest size, as structured content and as text. A single result may be longer. */
const MOST_BYTES = 32 * 1024 * 1024

export class Gathered {
  readonly #most: number
  #bytes = 0

  constructor(most = MOST_BYTES) {
    this.#most = most
  }

  /** Throws `invalid_request` if the calls of the message have gathered too much for another call to read more. */
  check(): void {
    if (this.#bytes < this.#most) return
    throw new Refusal(
      'invalid_request',
      `batch: its results have ${this.#bytes} bytes already, and at ${this.#most} no call reads more. ` +
        'Send this call in another message.'
    )
  }

  add(result: Result): Result {
    this.#bytes +=
      typeof result === 'string'
        ? 2 * Buffer.byteLength(result)
        : result.pieces.reduce((sum, { byteLength }) => sum + byteLength, Buffer.byteLength(result.text))
    return result
  }
}
