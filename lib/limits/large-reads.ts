/**
 * Limits on concurrent slow reads. Each project may process one large trace at a time, so that other projects' requests
 * share PostgreSQL and the main thread with a single read, regardless of the project's number of clients.
 */
import type { GateBounds } from './shared-gate.ts'

const MIB = 1024 * 1024

/** Limits on concurrent slow reads, in response bytes. */
export const LARGE_READS: GateBounds = { share: 8 * MIB, capacity: 16 * MIB }

/** Maximum size of the strings of a trace that is read immediately. A larger trace waits for its project's turn. */
export const SMALL_READ_BYTES = 256 * 1024

/** Weights of reads that return little but take long to run. */
export const WEIGHTS = { search: 8 * MIB, analysis: 2 * MIB }
