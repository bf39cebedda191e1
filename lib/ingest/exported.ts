/** What an export comes to, when each of its traces has been written by itself. */
import type { Exported } from '../app.ts'
import { Refusal } from '../errors.ts'
import { type SpanRefusal, sumRefusals } from '../trace/decide-export.ts'
import type { ReadyExport, ReadySpans } from './ready.ts'

/** Writes the spans of one trace and gives what was refused of them; throws a Refusal where nothing could be written. */
export type WriteTrace = (trace: ReadySpans) => Promise<readonly SpanRefusal[]>

/**
 * Writes every trace of an export. Where the store refuses one, the whole export is refused, once all are done, and may be
 * sent again: what was written is known then. A used-up trial account is refused as such where it can record nothing at all.
 */
export async function writeExport({ traces, refusals }: ReadyExport, write: WriteTrace): Promise<Exported> {
  const outcomes = await Promise.allSettled(traces.map(write))
  const found = [...refusals]
  let limit: Refusal | undefined
  let written = 0
  for (const [i, outcome] of outcomes.entries()) {
    if (outcome.status === 'fulfilled') {
      written++
      found.push(...outcome.value)
    } else if (outcome.reason instanceof Refusal && outcome.reason.code === 'trial_limit_reached') {
      limit = outcome.reason
      found.push(beyondTrial(traces[i] as ReadySpans))
    } else {
      throw outcome.reason
    }
  }
  if (limit !== undefined && written === 0) throw limit
  const summed = sumRefusals(found)
  return { rejectedSpans: summed.reduce((sum, { count }) => sum + count, 0), message: explain(summed) }
}

const beyondTrial = ({ traceId, spans }: ReadySpans): SpanRefusal => ({
  reason: 'of traces beyond those that the trial account may record',
  count: spans.length,
  example: `trace ${traceId}`
})

/** One sentence for the sender's log; empty where nothing was refused. */
function explain(refusals: readonly SpanRefusal[]): string {
  return refusals
    .map(({ reason, count, example }) => `${count} refused: spans ${reason} (such as ${example})`)
    .join('; ')
}
