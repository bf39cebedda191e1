/**
 * Limits how many large bodies (over LARGE_BODY_BYTES) are in memory at a time. A body takes a place when this many of
 * its bytes have come, and keeps it until its request is answered. Otherwise a few clients would take all the room for
 * bodies.
 */
import { Places } from '../../limits/places.ts'
import { MAX_EXPORT_BYTES } from '../../schema/otlp.ts'

/**
 * One body of the largest size fits beside smaller ones, and not beside another one: while a body is made ready it
 * takes several times its size. A project has room for one body of any size, or for several smaller ones.
 */
const ROOM = { room: MAX_EXPORT_BYTES + MAX_EXPORT_BYTES / 2, each: MAX_EXPORT_BYTES / 2 }
/** How many large bodies of one project may wait. A body that waits has sent only what the kernel buffers. */
const LINE = 32

export const largeBodies = (waitMs: number): Places => new Places({ ...ROOM, line: LINE, waitMs })
