/**
 * Limits on concurrent slow reads. Each project may read only one large trace at a time. However many clients a project
 * has, other projects therefore compete with only one of its slow reads for PostgreSQL and the main thread.
 */
import type { GateBounds } from './shared-gate.ts'

const MIB = 1024 * 1024

/** Limits on concurrent slow reads, in response bytes. */
export const LARGE_READS: GateBounds = { share: 8 * MIB, capacity: 16 * MIB }

/**
 * Maximum total size, in bytes, of the strings of a trace that is read immediately. Larger traces wait for their
 * project's turn.
 */
export const SMALL_READ_BYTES = 256 * 1024

/** Traces whose strings have a larger total size, in bytes, are sent while they are being read. */
export const STREAMED_BYTES = 8 * MIB
/**
 * Limits on the number of traces that are sent while they are being read. Each response holds a database connection
 * until its client has received the whole response.
 */
export const STREAMS: GateBounds = { share: 1, capacity: 2 }

/** Weights of reads that return little but take long to run. */
export const WEIGHTS = { search: 8 * MIB, analysis: 2 * MIB }
