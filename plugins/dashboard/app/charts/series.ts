import type { SeriesAnswer, SplitAnswer } from '../contract.ts'

/** Returns the only group of an ungrouped response. */
export function wholeOf({ groups }: SeriesAnswer): SeriesAnswer['groups'][number] {
  return groups[0]!
}

/** Whether a response is of all traces, not of groups. */
export const hasSteps = (answer: SeriesAnswer | SplitAnswer): answer is SeriesAnswer => !('by' in answer)

export function rateOf(errors: number, traces: number): number | null {
  return traces === 0 ? null : errors / traces
}

/** Returns the relative change from `before` to `now`; null if either is missing or `before` is zero. */
export function changeOf(now: number | null, before: number | null | undefined): number | null {
  return now === null || before === null || before === undefined || before === 0 ? null : now / before - 1
}

/** Returns the range from a step's start to another step's last moment, because trace lists include a range's end. */
export function stepsBetween(
  { from, to, starts }: Pick<SeriesAnswer, 'from' | 'to' | 'starts'>,
  first = 0,
  last = starts.length - 1
): { readonly from: string; readonly to: string } {
  return { from: starts[first] ?? from, to: momentBefore(starts[last + 1] ?? to) }
}

/** Subtracts one microsecond, the precision of the server's timestamps. */
const momentBefore = (iso: string) => new Date(Date.parse(iso) - 1).toISOString().replace('Z', '999Z')

export const SHOWN_SOURCES = { api: 'API', annotation: 'people', eval: 'evaluators' } as const
export type Source = keyof typeof SHOWN_SOURCES
