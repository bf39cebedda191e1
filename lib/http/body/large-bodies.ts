/**
 * Limits the number of large bodies in memory, so that a few clients cannot take all memory for bodies. A body takes a
 * slot when its received bytes exceed LARGE_BODY_BYTES, and keeps the slot until its request is answered.
 */
import { Places } from '../../limits/places.ts'
import { MAX_EXPORT_BYTES } from '../../schema/otlp.ts'

/**
 * Capacity for one body of the maximum size and some smaller ones, but not for two of the maximum size, because
 * preparing a body takes several times its size. A project may have one body of any size, or several smaller ones.
 */
const ROOM = { room: MAX_EXPORT_BYTES + MAX_EXPORT_BYTES / 2, each: MAX_EXPORT_BYTES / 2 }
/** Maximum number of one project's waiting large bodies. A waiting body has sent only as much as the kernel buffers. */
const LINE = 32

export const largeBodies = (waitMs: number): Places => new Places({ ...ROOM, line: LINE, waitMs })
