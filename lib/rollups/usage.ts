/** Reads how `GET /api/v1/usage` splits sums, and aligns the time that the sums cover. */
import { type Period, STEPS } from './period.ts'

/** The field that splits sums into groups. A tag `KEY:value` belongs to the group `value` of the key. */
export type UsageSplit =
  | { readonly field: 'model' | 'name' | 'environment' | 'user' | 'step' }
  | { readonly field: 'tag'; readonly tagKey: string }

const FIELDS = ['model', 'name', 'environment', 'user', 'step'] as const

/** The rule that `by` must satisfy, for error messages. */
export const SPLIT_RULE = `must be ${FIELDS.join(', ')} or tag:KEY, such as tag:prompt for tags such as prompt:v2`

/** Returns the split that `by` names; undefined if `by` names none. */
export function readSplit(by: string): UsageSplit | undefined {
  const field = FIELDS.find(each => each === by)
  if (field !== undefined) return { field }
  const tagKey = by.startsWith(TAG) ? by.slice(TAG.length) : ''
  return tagKey === '' || tagKey.includes(':') ? undefined : { field: 'tag', tagKey }
}
const TAG = 'tag:'

export type UsageInterval = 'hour' | 'day' | 'none'

/** A time range in milliseconds since 1970, excluding `to`. */
export interface UsageTime {
  readonly from: number
  readonly to: number
  readonly interval: UsageInterval
}

const ALIGNED = { hour: 'hour', day: 'day', none: 'hour' } as const

/** Extends the time to whole hours, or to whole days of UTC for daily sums, because sums are stored for these units. */
export function alignedTime({ from, to, interval }: UsageTime): Period {
  const step = ALIGNED[interval]
  const length = STEPS[step]
  return { from: Math.floor(from / length) * length, to: Math.ceil(to / length) * length, step, offset: 0 }
}

/** Returns the number of hours or days that the time overlaps; 1 without an interval. */
export function countIntervals({ from, to, interval }: UsageTime): number {
  if (interval === 'none') return 1
  const length = STEPS[interval]
  return Math.ceil(to / length) - Math.floor(from / length)
}
