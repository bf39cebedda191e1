/**
 * The steps of a chart over time: equal parts of a range, which begin at full minutes, hours or days of the visitor.
 */

export type Step = 'minute5' | 'hour' | 'day'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const STEP_MS: Readonly<Record<Step, number>> = { minute5: 5 * MINUTE_MS, hour: HOUR_MS, day: DAY_MS }

/** The longest range that is drawn by each step; longer ranges are drawn by days. */
const LONGEST_BY_MINUTES_MS = 6 * HOUR_MS
const LONGEST_BY_HOURS_MS = 14 * DAY_MS

export interface Steps {
  readonly step: Step
  /** Milliseconds since 1970. The first begins at the range's beginning or before it. */
  readonly starts: readonly number[]
}

/** `offset` is the visitor's zone in minutes east of UTC, since their days begin at their midnight. */
export function stepsOf(from: number, to: number, offset: number): Steps {
  const length = to - from
  const step = length <= LONGEST_BY_MINUTES_MS ? 'minute5' : length <= LONGEST_BY_HOURS_MS ? 'hour' : 'day'
  const ms = STEP_MS[step]
  const shift = offset * MINUTE_MS
  const starts: number[] = []
  for (let start = Math.floor((from + shift) / ms) * ms - shift; start <= to; start += ms) starts.push(start)
  return { step, starts }
}
