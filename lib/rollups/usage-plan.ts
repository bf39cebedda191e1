/**
 * Decides from which sums a period by user, step or tag is read: from days and hours whose sums are computed, and from
 * the traces of other hours, if there are few enough.
 */
import { STEPS } from './period.ts'
import type { UsageInterval } from './usage.ts'

/** An hour that has traces. `start` is in milliseconds since 1970. */
export interface UsageHour {
  readonly start: number
  readonly traces: number
  /** Whether the sums are computed and no trace has changed since. */
  readonly isMade: boolean
}

/** Starts in milliseconds since 1970. */
export interface UsagePlan {
  readonly days: readonly number[]
  readonly hours: readonly number[]
  /** Hours whose traces are read one by one. */
  readonly live: readonly number[]
  /** The time that the sums cover. */
  readonly from: number
  readonly to: number
}

const { hour: HOUR, day: DAY } = STEPS
const dayOf = (ms: number) => Math.floor(ms / DAY) * DAY

/**
 * `days` are the starts of the days whose sums are computed. Hours are read from the newest to the oldest. If an hour
 * has too many traces, the covered time begins after that hour, or ends before that hour if nothing newer was read.
 */
export function planUsage(
  hours: readonly UsageHour[],
  days: readonly number[],
  { from, to, interval }: { readonly from: number; readonly to: number; readonly interval: UsageInterval },
  mostTraces: number
): UsagePlan {
  const stale = new Set(hours.filter(({ isMade }) => !isMade).map(({ start }) => dayOf(start)))
  const isWhole = (day: number) => interval !== 'hour' && day >= from && day + DAY <= to && !stale.has(day)
  const made = new Set(days.filter(isWhole))
  const plan = { days: new Set<number>(), hours: [] as number[], live: [] as number[], from, to }
  let left = mostTraces
  let hasRead = false
  for (const { start, traces, isMade } of hours.toSorted((a, b) => b.start - a.start)) {
    if (made.has(dayOf(start))) plan.days.add(dayOf(start))
    else if (isMade) plan.hours.push(start)
    else if (traces <= left) {
      left -= traces
      plan.live.push(start)
    } else if (hasRead) {
      return { ...plan, days: [...plan.days], from: start + HOUR }
    } else {
      plan.to = start
      continue
    }
    hasRead = true
  }
  return { ...plan, days: [...plan.days] }
}
