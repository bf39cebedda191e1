/**
 * Reports each worker thread's heap usage. A waiting thread runs no timers, so each thread reports after a task, into
 * memory shared with the main thread.
 */

import { getHeapStatistics } from 'node:v8'
import { threadId, workerData } from 'node:worker_threads'

/**
 * Number of slots; more than the number of concurrent threads. Ids keep increasing, so new threads may reuse ended
 * threads' slots.
 */
const PLACES = 1024
const INTERVAL_MS = 1000
const KIB = 1024

/** Creates the shared array of heap sizes, in KiB, which threads receive as workerData. */
export const makeHeaps = (): Int32Array => new Int32Array(new SharedArrayBuffer(4 * PLACES))

/** Returns a thread's heap usage in bytes; 0 if the thread has not reported yet. */
export const readHeap = (heaps: Int32Array, id: number): number => Atomics.load(heaps, id % PLACES) * KIB

let toldAt = Number.NEGATIVE_INFINITY

/** Reports this worker thread's heap usage, at most once per second. */
export function tellHeap(): void {
  const now = performance.now()
  if (now - toldAt < INTERVAL_MS || !(workerData instanceof Int32Array)) return
  toldAt = now
  Atomics.store(workerData, threadId % PLACES, Math.round(getHeapStatistics().used_heap_size / KIB))
}
