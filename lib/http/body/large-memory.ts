/**
 * Memory for large bodies. An arriving body is written directly to memory that a worker thread reads without copying.
 *
 * V8 does not count memory shared between threads, so V8 frees such memory late (lib/rows/thread-bytes.ts). Released
 * memory is therefore reused until V8 frees it.
 */
import { Slots } from '../../limits/slots.ts'
import { MAX_EXPORT_BYTES } from '../../schema/otlp.ts'

/** Minimum size of a buffer, in bytes. Sizes are powers of two, so that buffers can be reused for other bodies. */
const LEAST_BYTES = 16 * 1024 * 1024

export class LargeMemory {
  readonly #idle = new Set<WeakRef<SharedArrayBuffer>>()

  lease(): MemoryLease {
    return new MemoryLease(this)
  }

  /** Keeps an unused buffer for reuse. */
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
    // The kernel allocates each page when the page is first written.
    return new SharedArrayBuffer(size)
  }
}

/** Memory that a request holds until the request is answered. */
export class MemoryLease {
  readonly #memory: LargeMemory
  #taken: SharedArrayBuffer[] = []

  constructor(memory: LargeMemory) {
    this.#memory = memory
  }

  /** Returns memory for at most `most` bytes. */
  take(most: number): LargeBytes {
    const buffer = this.#memory.take(most)
    this.#taken.push(buffer)
    return new LargeBytes(Buffer.from(buffer))
  }

  /** Releases the memory. The request must no longer read or write the memory. */
  end(): void {
    for (const buffer of this.#taken) this.#memory.give(buffer)
    this.#taken = []
  }
}

/** The bytes of a large body received so far. */
export class LargeBytes {
  readonly #memory: Buffer
  #length = 0

  constructor(memory: Buffer) {
    this.#memory = memory
  }

  get length(): number {
    return this.#length
  }

  /** Appends a chunk. Throws a RangeError if the chunk does not fit. */
  add(chunk: Uint8Array): void {
    this.#memory.set(chunk, this.#length)
    this.#length += chunk.length
  }

  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#length)
  }
}

/**
 * Capacity for one body of the maximum size and some smaller bodies, but not for two bodies of the maximum size,
 * because preparing a body needs several times the memory of the body itself. A project can hold one body of any size,
 * or several smaller bodies.
 */
const ROOM = { total: MAX_EXPORT_BYTES + MAX_EXPORT_BYTES / 2, each: MAX_EXPORT_BYTES / 2 }
/**
 * Maximum number of large bodies of one project that may wait. While a body waits, its client can send only as much as
 * the kernel buffers.
 */
const LINE = 32

/**
 * Limits the number of large bodies in memory, so that a few clients cannot use up the memory for bodies. A body takes
 * a slot when its received bytes exceed LARGE_BODY_BYTES, and keeps the slot until its request is answered.
 */
export const largeBodies = (waitMs: number): Slots => new Slots({ ...ROOM, line: LINE, waitMs })
