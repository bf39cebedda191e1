/**
 * Periods of trace and score charts, divided into steps. Short periods use steps of five minutes, read from the traces
 * themselves; periods up to two weeks use hours; longer periods use days in the visitor's time zone. A period starts
 * and ends on a step boundary, so its last step may still be in progress.
 */
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export const STEPS = { minute5: 5 * MINUTE, hour: HOUR, day: DAY } as const
export type PeriodStep = keyof typeof STEPS

export const RANGES = {
  '1h': HOUR,
  '6h': 6 * HOUR,
  '24h': DAY,
  '7d': 7 * DAY,
  '30d': 30 * DAY,
  '90d': 90 * DAY,
  '1y': 365 * DAY
} as const
export type Range = keyof typeof RANGES
/** Ranges of at least a week. User counts offer only these ranges, because user counts are summed by day. */
export const DAY_RANGES = ['7d', '30d', '90d', '1y'] as const satisfies readonly Range[]

/** Westernmost and easternmost time zones, in minutes east of UTC. */
export const ZONES = { west: -12 * 60, east: 14 * 60 } as const

/** Maximum length of a period with five-minute steps, and of a period with hourly steps, in milliseconds. */
const MOST_MINUTES = 6 * HOUR
const MOST_HOURS = 14 * DAY
/** Maximum length of a period in days (ten years). */
export const MOST_DAYS = 3660

/** A time range in milliseconds since 1970, excluding `to`. */
export interface Period {
  readonly from: number
  readonly to: number
  readonly step: PeriodStep
  /** Time zone in which the steps' days begin at midnight, in minutes east of UTC. */
  readonly offset: number
}

const stepOf = (length: number): PeriodStep =>
  length <= MOST_MINUTES ? 'minute5' : length <= MOST_HOURS ? 'hour' : 'day'

/**
 * Rounds an offset to whole hours. Sums are stored by UTC hour, so a half-hour time zone uses the days of the nearest
 * whole-hour zone. The offset is constant throughout a period, regardless of daylight saving time.
 */
const wholeHours = (offset: number): number => Math.round(offset / 60) * 60

/** Extends a time range to whole steps. */
function aligned(from: number, to: number, step: PeriodStep, offset: number): Period {
  const length = STEPS[step]
  const shift = offset * MINUTE
  return {
    from: Math.floor((from + shift) / length) * length - shift,
    to: Math.ceil((to + shift) / length) * length - shift,
    step,
    offset
  }
}

/** Returns the period that covers a time range. `offset` is the visitor's time zone, in minutes east of UTC. */
export const periodBetween = (from: number, to: number, offset = 0): Period =>
  aligned(from, to, stepOf(to - from), wholeHours(offset))

/** Returns the range that ends with the current step. By default, the range's length determines the step. */
export const periodOf = (range: Range, now: number, offset = 0, step?: PeriodStep): Period =>
  periodUntil(now, RANGES[range], offset, step)

/**
 * Returns the period of a length in milliseconds that ends with the step of a time. Lists, charts and sums all begin
 * their relative ranges here, so that they cover the same traces.
 */
export function periodUntil(now: number, length: number, offset = 0, step: PeriodStep = stepOf(length)): Period {
  // At a step boundary, the step that begins at the boundary is the current step.
  const period = aligned(now, now + 1, step, wholeHours(offset))
  return { ...period, from: period.to - length }
}

/** Returns the start of the month of a time, or of an earlier month, in the zone in which charts begin their days. */
export function monthStart(now: number, offset: number, back = 0): number {
  const shift = wholeHours(offset) * MINUTE
  const local = new Date(now + shift)
  return Date.UTC(local.getUTCFullYear(), local.getUTCMonth() - back) - shift
}

/** Returns the period in hourly steps. Used if the period has too many traces to read one by one. */
export const byTheHour = ({ from, to, offset }: Period): Period => aligned(from, to, 'hour', offset)

/** Returns the preceding period of the same length. */
export const periodBefore = (period: Period): Period => ({
  ...period,
  from: 2 * period.from - period.to,
  to: period.from
})

/** Whether the steps are UTC days. Sums are stored for UTC days. */
export const hasUtcDays = ({ step, offset }: Period): boolean => step === 'day' && offset === 0

export const countSteps = ({ from, to, step }: Period): number => (to - from) / STEPS[step]

export const startsOf = (period: Period): number[] =>
  Array.from({ length: countSteps(period) }, (_, i) => period.from + i * STEPS[period.step])

export const FORTNIGHT = 14 * DAY
/** Fortnights begin at multiples of their length from this time. */
export const ORIGIN_MS = Date.UTC(2000, 0, 1)

/**
 * Part of a period that is summed from hourly, daily or fortnightly rows. Times are in milliseconds since 1970; `to` is
 * excluded.
 */
export interface PeriodPiece {
  readonly length: 'hour' | 'day' | 'fortnight'
  readonly from: number
  readonly to: number
}

/** Splits a period of hours or days into pieces. */
export function piecesOf({ from, to }: Pick<Period, 'from' | 'to'>): PeriodPiece[] {
  return split(from, to, 'hour', (from, to) =>
    split(from, to, 'day', (from, to) => [{ length: 'fortnight', from, to }])
  )
}

const LONGER = { hour: DAY, day: FORTNIGHT } as const

/**
 * Splits a time range into the longer steps that lie completely within the range, and the remainders before and after
 * these steps.
 */
function split(
  from: number,
  to: number,
  length: keyof typeof LONGER,
  between: (from: number, to: number) => PeriodPiece[]
): PeriodPiece[] {
  const longer = LONGER[length]
  const first = Math.ceil((from - ORIGIN_MS) / longer) * longer + ORIGIN_MS
  const last = Math.floor((to - ORIGIN_MS) / longer) * longer + ORIGIN_MS
  if (first >= last) return [{ length, from, to }]
  return [{ length, from, to: first }, ...between(first, last), { length, from: last, to }].filter(
    (piece): piece is PeriodPiece => piece.from < piece.to
  )
}
