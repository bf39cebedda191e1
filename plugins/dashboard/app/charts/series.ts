/** Turns numbers over time into the series of charts. */
import type { SeriesAnswer, TotalsAnswer } from '../contract.ts'

/** The one group of an answer that is not split. */
export function wholeOf({ groups }: SeriesAnswer): SeriesAnswer['groups'][number] {
  return groups[0]!
}

/** Whether an answer has steps: no groups were asked for. */
export const hasSteps = (answer: SeriesAnswer | TotalsAnswer): answer is SeriesAnswer => answer.starts.length > 0

export function rateOf(errors: number, traces: number): number | null {
  return traces === 0 ? null : errors / traces
}

/** How much more than before, as a share of what it was; null where that says nothing. */
export function changeOf(now: number | null, before: number | null | undefined): number | null {
  return now === null || before === null || before === undefined || before === 0 ? null : now / before - 1
}

/** From the beginning of a step to the last moment of another, as the list takes it, whose end counts. */
export function stepsBetween(
  { from, to, starts }: Pick<SeriesAnswer, 'from' | 'to' | 'starts'>,
  first = 0,
  last = starts.length - 1
): { readonly from: string; readonly to: string } {
  return { from: starts[first] ?? from, to: momentBefore(starts[last + 1] ?? to) }
}

/** To the microsecond, as the server keeps times. */
const momentBefore = (iso: string) => new Date(Date.parse(iso) - 1).toISOString().replace('Z', '999Z')
