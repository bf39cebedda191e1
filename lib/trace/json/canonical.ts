/**
 * Collects the canonical bytes of a body. Span documents are measured and hashed inside the buffer, so that each string
 * is encoded only once. Sizes count the stored text, in which numbers may be spelled differently.
 */
import { sha256 } from '../document.ts'
import { type FreeJson, surplusOf } from './free-json.ts'

const FIRST_BYTES = 65_536
/** Maximum number of UTF-8 bytes per UTF-16 code unit. */
const UNIT_BYTES = 3

export class CanonicalBytes {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES)
  length = 0
  /** Bytes by which the stored texts exceed the canonical ones. */
  #surplus = 0

  restart(): void {
    this.length = 0
    this.#surplus = 0
  }

  /** Total size of the stored texts so far, in bytes. */
  get size(): number {
    return this.length + this.#surplus
  }

  /** Adjusts `size` so that free-form JSON already written counts with the bytes of its stored text. */
  resize(...written: readonly FreeJson[]): void {
    for (const json of written) this.#surplus += surplusOf(json)
  }

  write(text: string): void {
    if (this.length + text.length * UNIT_BYTES > this.#bytes.length)
      this.#makeRoom(this.length + Buffer.byteLength(text))
    this.length += this.#bytes.write(text, this.length)
  }

  /** Returns the SHA-256, as 64 hexadecimal digits, of everything written from offset `from` on. */
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
