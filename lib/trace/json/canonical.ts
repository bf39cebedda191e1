/**
 * A buffer in which the canonical bytes of a body are put together. The documents of its spans are measured and hashed
 * inside it, so that every text is encoded only once. The size that counts is that of the stored text, whose numbers
 * may be written in another way.
 */
import { sha256 } from '../document.ts'
import { type FreeJson, surplusOf } from './free-json.ts'

const FIRST_BYTES = 65_536
/** Bytes that one UTF-16 code unit takes in UTF-8 at most. */
const UNIT_BYTES = 3

export class CanonicalBytes {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES)
  length = 0
  /** How many bytes the stored texts have more than the canonical ones. */
  #surplus = 0

  restart(): void {
    this.length = 0
    this.#surplus = 0
  }

  /** The bytes of the stored texts so far. */
  get size(): number {
    return this.length + this.#surplus
  }

  /** Makes free JSON that was written count by the bytes of its stored text. */
  resize(...written: readonly FreeJson[]): void {
    for (const json of written) this.#surplus += surplusOf(json)
  }

  write(text: string): void {
    if (this.length + text.length * UNIT_BYTES > this.#bytes.length)
      this.#makeRoom(this.length + Buffer.byteLength(text))
    this.length += this.#bytes.write(text, this.length)
  }

  /** The SHA-256, in 64 hexadecimal digits, of everything written from the offset `from` on. */
  hash(from = 0): string {
    return sha256(this.#bytes.subarray(from, this.length))
  }

  #makeRoom(length: number): void {
    if (length <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(length * 2)
    this.#bytes.copy(larger, 0, 0, this.length)
    this.#bytes = larger
  }
}
