/** Memory for bytes that go from one thread to another. */

/** Bytes of one body, or of its rows, up to which they are shared. */
const MOST_SHARED = 65_536

/**
 * New memory for so many bytes, of one or several bodies. Where these are small it is shared, and goes as it is; the caller
 * moves it otherwise, or it is copied on the way.
 *
 * V8 takes all that ArrayBuffers hold for a burden of the old heap, and cleans that up twice a second where 3,000 typical
 * traces are recorded. Of shared memory it counts nothing: with it, node takes 284 us for such a trace in place of 318, the
 * main thread 108 in place of 120 (two servers in turns). It is given back with the young objects that hold it, so it has to
 * stay small beside what else a request makes, which is 28 kB of heap.
 */
export function threadBytes(length: number, bodies = 1): Uint8Array {
  return length <= bodies * MOST_SHARED ? new Uint8Array(new SharedArrayBuffer(length)) : new Uint8Array(length)
}

/** What has to be said of memory that is sent. */
export const moved = (memory: ArrayBufferLike): ArrayBuffer[] => (memory instanceof ArrayBuffer ? [memory] : [])
