/** The outcome of an export, summed over its traces, each of which is written by itself. */

import { Refusal } from '../../errors.ts'
import type { ReadySpans } from '../../threads/ready.ts'
import { explainRefusals, type SpanRefusal, sumRefusals } from '../../trace/states/span-refusals.ts'
import type { Exported } from '../ingest.ts'

/**
 * Writes the spans of one trace and returns why some were refused. Rejects with a Refusal if nothing could be written.
 */
export type WriteTrace = (trace: ReadySpans) => Promise<readonly SpanRefusal[]>

export class ExportOutcome {
  #refusals: readonly SpanRefusal[] = []
  #limit: Refusal | undefined
  #written = 0

  /**
   * Writes these traces of the export. If the database refuses one, the method rejects after all of them are done, and
   * the client may send the whole export again: spans that are stored already count as duplicates then.
   */
  async write(traces: readonly ReadySpans[], refusals: readonly SpanRefusal[], writeTrace: WriteTrace): Promise<void> {
    const outcomes = await Promise.allSettled(traces.map(writeTrace))
    const found = [...this.#refusals, ...refusals]
    for (const [i, outcome] of outcomes.entries()) {
      if (outcome.status === 'fulfilled') {
        this.#written++
        found.push(...outcome.value)
      } else if (outcome.reason instanceof Refusal && outcome.reason.code === 'trial_limit_reached') {
        this.#limit = outcome.reason
        found.push(beyondTrial(traces[i] as ReadySpans))
      } else {
        throw outcome.reason
      }
    }
    this.#refusals = sumRefusals(found)
  }

  get refusals(): readonly SpanRefusal[] {
    return this.#refusals
  }

  /**
   * The outcome after the last write. Throws the refusal of a used-up trial account if nothing at all could be
   * written.
   */
  get exported(): Exported {
    if (this.#limit !== undefined && this.#written === 0) throw this.#limit
    const rejectedSpans = this.#refusals.reduce((sum, { count }) => sum + count, 0)
    return { rejectedSpans, message: explainRefusals(this.#refusals) }
  }
}

const beyondTrial = ({ traceId, spanCount }: ReadySpans): SpanRefusal => ({
  reason: 'trial_limit',
  count: spanCount,
  example: `trace ${traceId}`
})
