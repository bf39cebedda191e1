/** Combines the outcomes of an export's traces, which are written separately. */

import { Refusal } from '../../errors.ts'
import type { ReadySpans } from '../../threads/ready.ts'
import { explainRefusals, type SpanRefusal, sumRefusals } from '../../trace/states/span-refusals.ts'
import type { Exported } from '../ingest.ts'

/**
 * Writes one trace's spans and returns the reasons for spans that are not stored. The promise rejects with a Refusal if
 * nothing could be written.
 */
export type WriteTrace = (trace: ReadySpans) => Promise<readonly SpanRefusal[]>

export class ExportOutcome {
  #refusals: readonly SpanRefusal[] = []
  #limit: Refusal | undefined
  #written = 0

  /**
   * Writes some of the export's traces. If the database rejects a trace, the returned promise rejects once all writes
   * have finished. The client may then resend the whole export, because spans that were stored count as duplicates.
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
   * Returns the outcome after the last write. Throws `trial_limit_reached` if nothing was written because the trial
   * account is used up.
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
