/**
 * Limits the size of a message's results. A batch may have 50 calls, whose results stay in memory until it is answered.
 */
import { Refusal } from '../errors.ts'
import type { Result } from './long-result.ts'

/**
 * Enough for two traces of the usual maximum size, as structured content and as text. A single result may be larger.
 */
const MOST_BYTES = 32 * 1024 * 1024

export class Gathered {
  readonly #most: number
  #bytes = 0

  constructor(most = MOST_BYTES) {
    this.#most = most
  }

  /** Throws `invalid_request` if the message's results have reached the limit. */
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
