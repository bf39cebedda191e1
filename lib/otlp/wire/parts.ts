/** Counts the parts of an export: an empty part takes few bytes on the wire, but much memory once it is decoded. */
import { Refusal } from '../../errors.ts'
import { MAX_DOCUMENT_BYTES, MAX_EVENTS } from '../../schema/input.ts'
import { MAX_EXPORT_PARTS } from '../../schema/otlp.ts'

/**
 * A span with more events than this is larger than a document may be, because each event takes some bytes of it, and is
 * cut (lib/otlp/content/fit-span.ts). So further events are not read. They are counted with those that the sender
 * dropped. The same holds for links.
 */
export const MOST_EVENTS = MAX_EVENTS + Math.ceil(MAX_DOCUMENT_BYTES / 64)
export const MOST_LINKS = Math.ceil(MAX_DOCUMENT_BYTES / 24)

export class Parts {
  #left = MAX_EXPORT_PARTS

  get left(): number {
    return this.#left
  }

  /** Throws `payload_too_large` if there are too many. */
  add(count: number): void {
    this.#left -= count
    if (this.#left >= 0) return
    const rule = `must have at most ${MAX_EXPORT_PARTS} spans, events, attributes and values, all together`
    throw new Refusal('payload_too_large', `body: ${rule}`)
  }
}

/** The number of events, or links, that are not read. */
export const unread = (count: number, most: number): number => Math.max(0, count - most)
