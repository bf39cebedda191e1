/**
 * How much is done at once, by the number of cores: the one place where that is chosen.
 *
 * Measured on two cores: two lanes, each a connection that writes a batch while the other waits for its commit; more gained
 * nothing. With more cores PostgreSQL can write as many batches at once as it has cores, and the main thread of a process
 * feeds about eight of them. Reads take six connections on two cores and wait for PostgreSQL, not for node, so they grow
 * with its cores as well. Small writes (scores, patches, deletions) are rare. A worker thread needs a core of its own beside
 * the main thread.
 */
import { availableParallelism } from 'node:os'

export interface Parallelism {
  /** Batches of the write path under way at once. */
  readonly lanes: number
  /** Worker threads that make bodies ready. */
  readonly workers: number
  /** Connections for reads, and for small writes. */
  readonly readers: number
  readonly writers: number
}

export function parallelismOf(cores: number = availableParallelism()): Parallelism {
  return {
    lanes: Math.min(8, Math.max(2, cores)),
    workers: Math.max(1, cores - 1),
    readers: Math.min(16, Math.max(6, 2 * cores)),
    writers: 2
  }
}
