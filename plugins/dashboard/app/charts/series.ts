/** What the server answers of numbers over time, and what charts make of it. */
import type { Step } from './axis.ts'

/** Sums of traces that have ended. Latencies are in ms; null: no trace. */
export interface Total {
  readonly traces: number
  readonly errors: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly costUsd: number
  /** How many of the traces have a cost. */
  readonly priced: number
  readonly p50: number | null
  readonly p90: number | null
  readonly p95: number | null
  readonly p99: number | null
}

export interface Group {
  /** What the traces have in common; null where it is that they have none. */
  readonly key: string | null
  readonly total: Total
}

/** The same by steps. */
export type Steps = { readonly [name in keyof Total]: readonly Total[name][] }

interface Covered {
  readonly from: string
  readonly to: string
  /** Whether days are those of UTC, also where times are local. */
  readonly utcDays: boolean
  /** What started before is not counted yet; null: all is. */
  readonly countedFrom: string | null
  readonly running: number
}

export interface SeriesAnswer extends Covered {
  readonly step: Step
  readonly starts: readonly string[]
  readonly groups: readonly (Group & Steps)[]
  readonly before: Total | null
}

export interface TotalsAnswer extends Covered {
  readonly groups: readonly Group[]
  /** How many groups are together in the last one, since they have no room by themselves. */
  readonly other: number
}

/** The one group of an answer that is not split. */
export function wholeOf({ groups }: SeriesAnswer): Group & Steps {
  return groups[0]!
}

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
