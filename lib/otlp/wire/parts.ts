/** Counts an export's parts, because an empty part takes few bytes on the wire but much memory when decoded. */
import { Refusal } from '../../errors.ts'
import { MAX_DOCUMENT_BYTES, MAX_EVENTS } from '../../schema/input.ts'
import { MAX_EXPORT_PARTS } from '../../schema/otlp.ts'

/**
 * Maximum number of events and links read per span. A span with more events or links exceeds the maximum document size,
 * and would therefore be cut (lib/otlp/content/fit-span.ts). Unread events and links are counted as dropped.
 */
export const MOST_EVENTS = MAX_EVENTS + Math.ceil(MAX_DOCUMENT_BYTES / 64)
export const MOST_LINKS = Math.ceil(MAX_DOCUMENT_BYTES / 24)

export class Parts {
  #left = MAX_EXPORT_PARTS

  get left(): number {
    return this.#left
  }

  /** Counts parts. Throws `payload_too_large` if the export has too many. */
  add(count: number): void {
    this.#left -= count
    if (this.#left >= 0) return
    const rule = `must have at most ${MAX_EXPORT_PARTS} spans, events, attributes and values in total`
    throw new Refusal('payload_too_large', `body: ${rule}`)
  }
}

/** Returns the number of events or links that are not read because they are beyond `most`. */
export const unread = (count: number, most: number): number => Math.max(0, count - most)
