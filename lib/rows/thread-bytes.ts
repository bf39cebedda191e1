/** Memory for bytes that go from one thread to another. */

/** The bytes of a body, or of its rows, are put into shared memory if they are no more than this. */
const MOST_SHARED = 65_536

/**
 * New memory for `length` bytes, which belong to one or several bodies. If the bodies are small, the memory is shared:
 * both threads use it as it is. Otherwise the caller must move it to the other thread (`moved`), or it is copied on the
 * way.
 *
 * The reason for shared memory is the garbage collector. V8 counts the bytes of an ArrayBuffer against the old heap,
 * and many of them make it collect that heap often. It does not count shared memory (test/bench/RESULTS.md, "Shared
 * memory"). Shared memory is freed together with the small objects that hold it, and V8 does not hurry with that. So it
 * must stay small beside everything else that a request allocates.
 */
export function threadBytes(length: number, bodies = 1): Uint8Array {
  return length <= bodies * MOST_SHARED ? new Uint8Array(new SharedArrayBuffer(length)) : new Uint8Array(length)
}

/** Allocates bytes that go to another thread. */
export type Allocate = (length: number) => Uint8Array

/** The shared memory that the bytes of several traces are put into together, unless a single one has more. */
const MOST_TOGETHER = 2 * MOST_SHARED

/**
 * Memory for the bytes of many traces that go to another thread in one message, `length` in all, or somewhat more or
 * less. They have their memory together, since it takes 5 µs to make. It is freed when the last of them is.
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

/** The transfer list for memory that is sent to another thread: shared memory must not be in it. */
export const moved = (memory: ArrayBufferLike): ArrayBuffer[] => (memory instanceof ArrayBuffer ? [memory] : [])
