/**
 * Derives all concurrency limits from the number of cores and connections.
 *
 * Measurements on two cores showed that two lanes are best, because one connection can write a batch while the other
 * connection waits for a commit. With more cores, PostgreSQL can write one batch per core, and a process's main thread
 * can supply about eight batches at a time. On two cores, reads use six connections. Reads wait for PostgreSQL rather
 * than for Node.js, so the number of read connections also grows with the number of cores. Small writes (scores,
 * patches, deletions) are rare. Each core has one worker thread, because exports leave the main thread little to do
 * (test/bench/RESULTS.md, "MCP and OTLP"). Two cores are busy without worker threads while at most 16
 * requests are in flight; with more cores, worker threads take nothing from PostgreSQL.
 *
 * Ideally, each of these tasks has its own connection. A process can also run with fewer connections; tasks then share
 * idle connections (lib/database/pooled/connection-limit.ts). If very few connections are allowed, there is only one
 * lane, because a second lane would take the first lane's connections.
 */
import { availableParallelism } from 'node:os'

export interface Parallelism {
  /** Number of batches that the write path processes concurrently. */
  readonly lanes: number
  /** Number of worker threads that prepare bodies. */
  readonly workers: number
  /** Maximum number of requests in flight while medium-sized bodies are prepared on the main thread. */
  readonly quietRequests: number
  /** Number of connections for reads. The `writers` field is the number for small writes. */
  readonly readers: number
  /** Maximum number of read connections that one project may use at a time. */
  readonly readersOfOne: number
  readonly writers: number
  /** Total number of connections of one process. */
  readonly connections: number
}

/** Number of connections per lane: one for lookups and one for COPY. */
const PER_LANE = 2
/** Number of other connections: for keys, for key notices, and occasionally for statistics and rankings. */
const OTHERS = 4
/** Minimum number of allowed connections with which a process has more than one lane. */
const LEAST_FOR_LANES = 10

export function parallelismOf(cores: number = availableParallelism(), most = Number.POSITIVE_INFINITY): Parallelism {
  const lanes = most < LEAST_FOR_LANES ? 1 : Math.min(8, Math.max(2, cores))
  const readers = Math.min(16, Math.max(6, 2 * cores))
  const writers = 2
  return {
    lanes,
    workers: cores,
    quietRequests: cores > 2 ? 8 : 16,
    readers,
    readersOfOne: Math.ceil((2 * readers) / 3),
    writers,
    connections: Math.min(most, PER_LANE * lanes + readers + writers + OTHERS)
  }
}
