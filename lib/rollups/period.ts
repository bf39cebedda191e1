/**
 * The time that charts of traces and of scores are about, in steps. Short times go by five minutes, which are read from
 * the traces themselves; up to two weeks by the hour, longer ones by days of the visitor. A period begins and ends with
 * a step: the last one may still be going on.
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
/** The ranges that have at least a week: users are added up by days. */
export const DAY_RANGES = ['7d', '30d', '90d', '1y'] as const satisfies readonly Range[]

/** The zones of the world, in minutes east of UTC. */
export const ZONES = { west: -12 * 60, east: 14 * 60 } as const

/** The longest times that go by five minutes, and by hours. */
const MOST_MINUTES = 6 * HOUR
const MOST_HOURS = 14 * DAY
/** The longest time of all, ten years. */
export const MOST_DAYS = 3660

/** In milliseconds since 1970; `to` is no part of it. */
export interface Period {
  readonly from: number
  readonly to: number
  readonly step: PeriodStep
  /** Minutes east of UTC of the zone whose midnights begin days. */
  readonly offset: number
}

const stepOf = (length: number): PeriodStep =>
  length <= MOST_MINUTES ? 'minute5' : length <= MOST_HOURS ? 'hour' : 'day'

/**
 * Sums are kept by hours of UTC, so a zone of half hours has the days of the nearest zone of whole hours. The offset is
 * the same all over a period: days do not change their beginning with summer time.
 */
const wholeHours = (offset: number): number => Math.round(offset / 60) * 60

/** The steps that a time touches. */
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

/** `offset` is the zone of the visitor, in minutes east of UTC. */
export const periodBetween = (from: number, to: number, offset = 0): Period =>
  aligned(from, to, stepOf(to - from), wholeHours(offset))

/** The range that ends with the step that is going on, by the steps that suit it unless others are given. */
export function periodOf(range: Range, now: number, offset = 0, step: PeriodStep = stepOf(RANGES[range])): Period {
  // A moment that is itself the beginning of a step has begun it.
  const period = aligned(now, now + 1, step, wholeHours(offset))
  return { ...period, from: period.to - RANGES[range] }
}

/** The same period by the hour, for when there are too many traces to read. */
export const byTheHour = ({ from, to, offset }: Period): Period => aligned(from, to, 'hour', offset)

/** As long a time, just before it. */
export const periodBefore = (period: Period): Period => ({
  ...period,
  from: 2 * period.from - period.to,
  to: period.from
})

/** Whether the steps are days of UTC, which sums are kept by as well. */
export const hasUtcDays = ({ step, offset }: Period): boolean => step === 'day' && offset === 0

export const countSteps = ({ from, to, step }: Period): number => (to - from) / STEPS[step]

/** The beginnings of the steps. */
export const startsOf = (period: Period): number[] =>
  Array.from({ length: countSteps(period) }, (_, i) => period.from + i * STEPS[period.step])
