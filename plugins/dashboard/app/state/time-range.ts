import { monthStart, periodUntil } from '../../../../lib/rollups/period.ts'
import type { Range } from '../contract.ts'

export type Zone = 'local' | 'utc'

/** Ranges that the server supports for charts, and the default range of a page. */
export const CHART_RANGES = ['1h', '6h', '24h', '7d', '30d', '90d', '1y'] as const satisfies readonly Range[]
export const DEFAULT_RANGE = '7d' satisfies Range
/** The value of `range` for all time. */
export const ALL_TIME = 'all'
/** Ranges for users' totals, which are stored per UTC day. */
export const DAY_RANGE_CHOICES = ['7d', '30d', '90d', '1y'] as const satisfies readonly Range[]
/** Calendar months in the visitor's time zone. */
const MONTHS: Readonly<Record<string, { readonly name: string; readonly back: number }>> = {
  month: { name: 'This month', back: 0 },
  'last-month': { name: 'Last month', back: 1 }
}
/** Ranges for pages with charts. */
export const COUNTED_RANGES: readonly string[] = [...CHART_RANGES, ...Object.keys(MONTHS)]
/** Ranges for lists. Unlike charts, lists offer `15m` but not `1y`. */
export const LIST_RANGES: readonly string[] = ['15m', ...COUNTED_RANGES.filter(range => range !== '1y')]
const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, y: 31_536_000_000 }
const WORDS: Readonly<Record<string, string>> = { m: 'minutes', h: 'hours', d: 'days', y: 'years' }
const RANGE = /^([1-9]\d{0,3}(?=[mhd])|1(?=y))([mhdy])$/

/** Returns the length of a range such as `24h` in ms; undefined if invalid. */
export function rangeMs(range: string): number | undefined {
  const [, count, unit] = RANGE.exec(range) ?? []
  return unit === undefined ? undefined : Number(count) * UNITS[unit]!
}

/** The current time, and the visitor's time zone in minutes east of UTC. */
export interface Present {
  readonly now: number
  readonly offset: number
}

/**
 * Returns the time that a relative range covers now, with `to` unless it ends now. Both ends are included. A range
 * begins where charts of the range begin, so that lists and charts cover the same traces. Returns undefined for all
 * time and for invalid ranges.
 */
export function timeOfRange(range: string, { now, offset }: Present): { from: string; to?: string } | undefined {
  const iso = (ms: number) => new Date(ms).toISOString()
  const month = Object.hasOwn(MONTHS, range) ? MONTHS[range] : undefined
  if (month !== undefined) {
    const from = iso(monthStart(now, offset, month.back))
    return month.back === 0 ? { from } : { from, to: iso(monthStart(now, offset, month.back - 1) - 1) }
  }
  const length = rangeMs(range)
  return length === undefined ? undefined : { from: iso(periodUntil(now, length, offset).from) }
}

/** Whether the text is a relative range, other than all time. */
export const isRange = (text: string): boolean => Object.hasOwn(MONTHS, text) || rangeMs(text) !== undefined

/** Returns the current offset of the zone, in minutes east of UTC. */
export const offsetOf = (zone: Zone): number => (zone === 'utc' ? 0 : -new Date().getTimezoneOffset())

export function rangeName(range: string): string {
  const month = Object.hasOwn(MONTHS, range) ? MONTHS[range] : undefined
  if (month !== undefined) return month.name
  const [, count, unit] = RANGE.exec(range) ?? []
  if (unit === undefined) return range === ALL_TIME ? 'All time' : range
  return count === '1' ? `Last ${WORDS[unit]!.slice(0, -1)}` : `Last ${count} ${WORDS[unit]}`
}

export function isInstant(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) && !Number.isNaN(Date.parse(text))
}
