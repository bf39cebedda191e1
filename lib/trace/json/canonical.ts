/**
 * The canonical bytes of one body, as they are put together: the documents of its spans are measured and hashed where they
 * stand, so that every text is made into bytes once. What is measured is what is stored, which may write numbers otherwise.
 */
import { sha256 } from '../document.ts'
import { type FreeJson, surplusOf } from './free-json.ts'

const FIRST_BYTES = 65_536
/** Bytes that one UTF-16 code unit takes in UTF-8 at most. */
const UNIT_BYTES = 3

export class CanonicalBytes {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES)
  length = 0
  /** What the stored texts have more than the canonical ones. */
  #surplus = 0

  restart(): void {
    this.length = 0
    this.#surplus = 0
  }

  /** Bytes of what is stored so far. */
  get size(): number {
    return this.length + this.#surplus
  }

  /** Counts what was written as free JSON by the bytes that are stored of it. */
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
