/**
 * Derives all concurrency limits from the number of cores and connections.
 *
 * Measured on two cores: two lanes are best, because one connection writes a batch while the other waits for its
 * commit. With more cores, PostgreSQL can write one batch per core, and a process's main thread can supply about eight
 * batches at a time. Reads use six connections on two cores and wait for PostgreSQL, not for Node.js, so the number of
 * connections also grows with the cores. Small writes (scores, patches, deletions) are rare. Each core has one worker
 * thread, because exports leave the main thread little to do (test/bench/RESULTS.md, "MCP and OTLP").
 *
 * A process would use one connection for each of these tasks, but can run with fewer: tasks then share idle connections
 * (lib/database/pooled/connection-limit.ts). With very few connections, a second lane would take the first lane's.
 */
import { availableParallelism } from 'node:os'

export interface Parallelism {
  /** Number of batches that the write path processes concurrently. */
  readonly lanes: number
  /** Number of worker threads that prepare bodies. */
  readonly workers: number
  /** Number of connections for reads; `writers` is the number for small writes. */
  readonly readers: number
  /** Maximum number of read connections that one project may use at a time. */
  readonly readersOfOne: number
  readonly writers: number
  /** Total number of connections of one process. */
  readonly connections: number
}

/** Connections per lane: one for lookups and one for COPY. */
const PER_LANE = 2
/** Other connections: for keys, for key notifications, and occasionally for statistics and rankings. */
const OTHERS = 4
/** Minimum number of connections for more than one lane. */
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
