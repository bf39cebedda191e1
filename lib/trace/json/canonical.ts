/**
 * Collects a body's canonical bytes. Span documents are measured and hashed in this buffer, so each string is encoded
 * only once. Sizes refer to the stored text, in which numbers may be spelled differently.
 */
import { sha256 } from '../document.ts'
import { type FreeJson, surplusOf } from './free-json.ts'

const FIRST_BYTES = 65_536
/** A larger buffer is not kept for the next body. */
const MAX_KEPT_BYTES = 32 * 1024 * 1024
/** Maximum number of UTF-8 bytes per UTF-16 code unit. */
const UNIT_BYTES = 3

export class CanonicalBytes {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES)
  length = 0
  /** Bytes by which the stored texts exceed the canonical texts. */
  #surplus = 0
  #encoding: 'latin1' | 'utf8' = 'utf8'

  /** Begins another body, whose texts may be byte texts (byte-text.ts). */
  restart(areByteTexts: boolean): void {
    this.length = 0
    this.#surplus = 0
    this.#encoding = areByteTexts ? 'latin1' : 'utf8'
  }

  get size(): number {
    return this.length + this.#surplus
  }

  /**
   * Adjusts `size` after free-form JSON was written in canonical form, so that `size` counts the stored text instead.
   */
  resize(...written: readonly FreeJson[]): void {
    for (const json of written) this.#surplus += surplusOf(json)
  }

  write(text: string): void {
    if (this.length + text.length * UNIT_BYTES > this.#bytes.length)
      this.#makeRoom(this.length + Buffer.byteLength(text))
    this.length += this.#bytes.write(text, this.length, this.#encoding)
  }

  /** Returns the SHA-256 of everything written from offset `from` on, as 64 hexadecimal digits. */
  hash(from: number): string {
    return sha256(this.#bytes.subarray(from, this.length))
  }

  /** Returns the SHA-256 of the body. Nothing more can be written to this body. */
  hashBody(): string {
    const hash = this.hash(0)
    if (this.#bytes.length > MAX_KEPT_BYTES) this.#bytes = Buffer.allocUnsafe(FIRST_BYTES)
    return hash
  }

  #makeRoom(length: number): void {
    if (length <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(length * 2)
    this.#bytes.copy(larger, 0, 0, this.length)
    this.#bytes = larger
  }
}
