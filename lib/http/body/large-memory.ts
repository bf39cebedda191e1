/**
 * Memory for large bodies. A body is written there as it arrives, and a worker thread reads it there without a copy.
 *
 * V8 does not count memory that threads share, and so frees it late (lib/rows/thread-bytes.ts). Memory that a request
 * gives back is therefore used for the next one, until V8 frees it.
 */

/** The least size of memory. Sizes are powers of two, so that memory fits another body as well. */
const LEAST_BYTES = 16 * 1024 * 1024

export class LargeMemory {
  readonly #idle = new Set<WeakRef<SharedArrayBuffer>>()

  /** For one request. */
  lease(): MemoryLease {
    return new MemoryLease(this)
  }

  /** Keeps memory that no request uses any more, for the next one. */
  give(buffer: SharedArrayBuffer): void {
    this.#idle.add(new WeakRef(buffer))
  }

  take(bytes: number): SharedArrayBuffer {
    const size = LEAST_BYTES * 2 ** Math.max(0, Math.ceil(Math.log2(bytes / LEAST_BYTES)))
    for (const idle of this.#idle) {
      const buffer = idle.deref()
      if (buffer === undefined) this.#idle.delete(idle)
      if (buffer?.byteLength !== size) continue
      this.#idle.delete(idle)
      return buffer
    }
    // The kernel gives a page of it only when bytes are written there.
    return new SharedArrayBuffer(size)
  }
}

/** The memory that a request has, until it is answered. */
export class MemoryLease {
  readonly #memory: LargeMemory
  #taken: SharedArrayBuffer[] = []

  constructor(memory: LargeMemory) {
    this.#memory = memory
  }

  /** Memory for at most `most` bytes. */
  take(most: number): LargeBytes {
    const buffer = this.#memory.take(most)
    this.#taken.push(buffer)
    return new LargeBytes(Buffer.from(buffer))
  }

  /** Gives the memory back. The request must no longer read it, nor write to it. */
  end(): void {
    for (const buffer of this.#taken) this.#memory.give(buffer)
    this.#taken = []
  }
}

/** The bytes of a large body, as far as they have been added. */
export class LargeBytes {
  readonly #memory: Buffer
  #length = 0

  constructor(memory: Buffer) {
    this.#memory = memory
  }

  get length(): number {
    return this.#length
  }

  /** Throws a RangeError if there is no room for them. */
  add(chunk: Uint8Array): void {
    this.#memory.set(chunk, this.#length)
    this.#length += chunk.length
  }

  /** All bytes that were added. */
  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#length)
  }
}
