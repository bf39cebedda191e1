/**
 * How much of its heap each worker thread uses. A thread that waits for work runs no timer, so it says it after its
 * work, into memory that it shares with the main thread.
 */

import { getHeapStatistics } from 'node:v8'
import { threadId, workerData } from 'node:worker_threads'

/**
 * More threads than there are at once. Threads are numbered on, so that one may get the place of one that has ended.
 */
const PLACES = 1024
const INTERVAL_MS = 1000
const KIB = 1024

/** The heaps of threads, in KiB. Goes to threads as their workerData. */
export const makeHeaps = (): Int32Array => new Int32Array(new SharedArrayBuffer(4 * PLACES))

/** In bytes; 0 for a thread that has said nothing yet. */
export const readHeap = (heaps: Int32Array, id: number): number => Atomics.load(heaps, id % PLACES) * KIB

let toldAt = Number.NEGATIVE_INFINITY

/** Says in a worker thread how much of its heap is used, at most once a second. */
export function tellHeap(): void {
  const now = performance.now()
  if (now - toldAt < INTERVAL_MS || !(workerData instanceof Int32Array)) return
  toldAt = now
  Atomics.store(workerData, threadId % PLACES, Math.round(getHeapStatistics().used_heap_size / KIB))
}
