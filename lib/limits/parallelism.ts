/**
 * Chooses how much is done at once, from the number of cores and of connections. No other file does.
 *
 * Measured on two cores: two lanes, each a connection that writes a batch while the other waits for its commit; more
 * gained nothing. With more cores PostgreSQL can write as many batches at once as it has cores, and the main thread of
 * a process feeds about eight of them. Reads take six connections on two cores and wait for PostgreSQL, not for node,
 * so they grow with its cores as well. Small writes (scores, patches, deletions) are rare. There is a worker thread for
 * each core: exports leave the main thread little to do (test/bench/RESULTS.md, "MCP and OTLP").
 *
 * A process would use a connection for each of these, and can do with fewer: work that needs a connection then gets one
 * that is idle (lib/database/pooled/connection-limit.ts). With few, a second lane would take the first one's.
 */
import { availableParallelism } from 'node:os'

export interface Parallelism {
  /** How many batches of the write path are under way at once. */
  readonly lanes: number
  /** How many worker threads make bodies ready. */
  readonly workers: number
  /** How many connections there are for reads, and for small writes. */
  readonly readers: number
  /** How many of those for reads one project may use at once. */
  readonly readersOfOne: number
  readonly writers: number
  /** The number of all connections of one process. */
  readonly connections: number
}

/** A lane has two connections: one to look, and one to copy. */
const PER_LANE = 2
/** Other connections: for keys, for notices of keys, and, now and then, for statistics and for rankings. */
const OTHERS = 4
/** With fewer connections there is one lane. */
const LEAST_FOR_LANES = 10

export function parallelismOf(cores: number = availableParallelism(), most = Number.POSITIVE_INFINITY): Parallelism {
  const lanes = most < LEAST_FOR_LANES ? 1 : Math.min(8, Math.max(2, cores))
  const readers = Math.min(16, Math.max(6, 2 * cores))
  const writers = 2
  return {
    lanes,
    workers: cores,
    readers,
    readersOfOne: Math.ceil((2 * readers) / 3),
    writers,
    connections: Math.min(most, PER_LANE * lanes + readers + writers + OTHERS)
  }
}
