/** The bytes of a large body, in memory of their own: each byte is held once, and another thread gets them uncopied. */
import { freeYoungGarbage } from './large-garbage.ts'

/** The bytes that are added until the garbage of so many chunks is collected. */
const SWEEP_BYTES = 16 * 1024 * 1024

const given = new WeakSet<ArrayBufferLike>()

export class LargeBytes {
  /** The kernel gives a page of it only when bytes are written there. */
  readonly #memory: Buffer
  #length = 0
  #sweepAt = SWEEP_BYTES

  /** `limit` is the most bytes that may be added. */
  constructor(limit: number) {
    this.#memory = Buffer.allocUnsafeSlow(limit)
  }

  get length(): number {
    return this.#length
  }

  add(chunk: Buffer): void {
    this.#length += chunk.copy(this.#memory, this.#length)
    if (this.#length < this.#sweepAt) return
    this.#sweepAt = this.#length + SWEEP_BYTES
    freeYoungGarbage()
  }

  /** All bytes that were added. Nothing else uses their memory. */
  take(): Buffer {
    give(this.#memory)
    return this.#memory.subarray(0, this.#length)
  }
}

/** Says that nothing else uses the memory of these bytes. */
export const give = ({ buffer }: Uint8Array): void => void given.add(buffer)

/** Whether the bytes may be moved to another thread, which leaves none here. */
export const mayMove = ({ buffer }: Uint8Array): boolean => given.has(buffer)

/** Frees the memory of bytes that are not needed any more, if nothing else uses it. Whoever still refers to them finds none. */
export function drop(bytes: Uint8Array): void {
  if (!mayMove(bytes)) return
  structuredClone(bytes.buffer, { transfer: [bytes.buffer as ArrayBuffer] })
  freeYoungGarbage()
}
