/** Divides traces into portions whose spans are examined in one step. */
import type { WalkedTrace } from './progress.ts'

/** Maximum numbers of traces, and of their spans, that are examined in one step. */
export const LOOK = { traces: 200, spans: 5000 }

/** Divides traces into portions with a limited number of spans. A trace with more spans forms its own portion. */
export function tracePortions<T extends Pick<WalkedTrace, 'spanCount'>>(traces: readonly T[]): T[][] {
  const portions: T[][] = []
  let spans = 0
  for (const trace of traces) {
    if (portions.length === 0 || spans + trace.spanCount > LOOK.spans) {
      portions.push([])
      spans = 0
    }
    portions.at(-1)!.push(trace)
    spans += trace.spanCount
  }
  return portions
}
