/** Counts what an export is made of, so that few bytes cannot take much memory. */
import { Refusal } from '../../errors.ts'
import { MAX_EXPORT_PARTS } from '../../schema/otlp.ts'

export class Parts {
  #left = MAX_EXPORT_PARTS

  /** Throws `payload_too_large` where there are too many. */
  add(count: number): void {
    this.#left -= count
    if (this.#left >= 0) return
    const rule = `must have at most ${MAX_EXPORT_PARTS} spans, events, attributes and values, all together`
    throw new Refusal('payload_too_large', `body: ${rule}`)
  }
}
