/**
 * How much of what takes long to read is read at a time. One project may have one large trace in work, so that another
 * project's requests share PostgreSQL and the main thread with a single read, however many clients the first one has.
 */
import type { GateBounds } from './shared-gate.ts'

const MIB = 1024 * 1024

/** Bytes of answers. */
export const LARGE_READS: GateBounds = { share: 8 * MIB, capacity: 16 * MIB }

/** A trace whose texts have no more bytes is read at once; a larger one when it is its project's turn. */
export const SMALL_READ_BYTES = 256 * 1024

/** The weights of reads that give small answers and take long to find them. */
export const WEIGHTS = { search: 8 * MIB, analysis: 2 * MIB }
