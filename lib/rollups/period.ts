/**
 * The time that a chart is about, in steps. Short times go by five minutes, which are read from the traces themselves;
 * up to two weeks by the hour, longer ones by days of UTC. A period begins and ends with a step: the last one may still
 * be going on.
 */

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export const STEPS = { minute5: 5 * MINUTE, hour: HOUR, day: DAY } as const
export type Step = keyof typeof STEPS

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

/** The longest times that go by five minutes, and by hours. */
const MOST_MINUTES = 6 * HOUR
const MOST_HOURS = 14 * DAY
/** The longest time of all, ten years. */
export const MOST_DAYS = 3660

/** In milliseconds since 1970; `to` is no part of it. */
export interface Period {
  readonly from: number
  readonly to: number
  readonly step: Step
}

const stepOf = (length: number): Step => (length <= MOST_MINUTES ? 'minute5' : length <= MOST_HOURS ? 'hour' : 'day')

/** The steps that a time touches. */
function aligned(from: number, to: number, step: Step): Period {
  const length = STEPS[step]
  return { from: Math.floor(from / length) * length, to: Math.ceil(to / length) * length, step }
}

export const periodBetween = (from: number, to: number): Period => aligned(from, to, stepOf(to - from))

/** The range that ends with the step that is going on. */
export function periodOf(range: Range, now: number): Period {
  const length = RANGES[range]
  const { to, step } = aligned(now, now, stepOf(length))
  // A moment that is itself the beginning of a step has begun it.
  const end = to === now ? to + STEPS[step] : to
  return { from: end - length, to: end, step }
}

/** The same period by the hour, for when there are too many traces to read. */
export const byTheHour = ({ from, to }: Period): Period => aligned(from, to, 'hour')

/** As long a time, just before it. */
export const periodBefore = ({ from, to, step }: Period): Period => ({ from: 2 * from - to, to: from, step })

export const countSteps = ({ from, to, step }: Period): number => (to - from) / STEPS[step]

export const startsOf = (period: Period): string[] =>
  Array.from({ length: countSteps(period) }, (_, i) => new Date(period.from + i * STEPS[period.step]).toISOString())
