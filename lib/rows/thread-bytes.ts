/** Allocates memory for bytes that are sent between threads. */

/** Maximum size, in bytes, of a body or its rows in shared memory. */
const MOST_SHARED = 65_536

/**
 * Allocates `length` bytes for one or more bodies. Memory for small bodies is shared between threads. Memory that is
 * not shared must be transferred to the other thread (`moved`), or else it would be copied.
 *
 * Shared memory reduces garbage collection. V8 counts an ArrayBuffer's bytes towards the old heap, so many ArrayBuffers
 * trigger frequent collections. V8 does not count shared memory (test/bench/RESULTS.md, "Shared memory"), but frees
 * shared memory only when V8 collects the small objects that refer to it, possibly much later. Shared memory must
 * therefore stay small compared with a request's other allocations.
 */
export function threadBytes(length: number, bodies = 1): Uint8Array {
  return length <= bodies * MOST_SHARED ? new Uint8Array(new SharedArrayBuffer(length)) : new Uint8Array(length)
}

/** Allocates bytes that are sent to another thread. */
export type Allocate = (length: number) => Uint8Array

/** Maximum bytes of shared memory for several traces, unless a single trace needs more. */
const MOST_TOGETHER = 2 * MOST_SHARED

/**
 * Returns an allocator for the bytes of many traces that are sent in one message, about `length` bytes in total. The
 * traces share memory, because each allocation takes 5 µs. The memory is freed when the last of the traces is freed.
 */
export function togetherBytes(length: number): Allocate {
  let memory = new SharedArrayBuffer(0)
  let at = 0
  return size => {
    if (size > MOST_SHARED) return new Uint8Array(size)
    if (at + size > memory.byteLength) {
      memory = new SharedArrayBuffer(Math.max(size, Math.min(length, MOST_TOGETHER)))
      at = 0
    }
    at += size
    return new Uint8Array(memory, at - size, size)
  }
}

/** Returns the transfer list for memory sent to another thread. Shared memory must not be listed. */
export const moved = (memory: ArrayBufferLike): ArrayBuffer[] => (memory instanceof ArrayBuffer ? [memory] : [])
