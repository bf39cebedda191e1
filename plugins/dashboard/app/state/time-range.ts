import type { Range } from '../contract.ts'

export type Zone = 'local' | 'utc'

/** Ranges that the server supports for charts, and the default range of a page. */
export const CHART_RANGES = ['1h', '6h', '24h', '7d', '30d', '90d', '1y'] as const satisfies readonly Range[]
export const DEFAULT_RANGE = '7d' satisfies Range
/** The value of `range` for all time. */
export const ALL_TIME = 'all'
/** Ranges for users' totals, which are stored per UTC day. */
export const DAY_RANGE_CHOICES = ['7d', '30d', '90d', '1y'] as const satisfies readonly Range[]
/** Ranges for lists. Unlike charts, lists offer `15m` but not `1y`. */
export const LIST_RANGES = ['15m', ...CHART_RANGES.slice(0, -1)]
const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, y: 31_536_000_000 }
const WORDS: Readonly<Record<string, string>> = { m: 'minutes', h: 'hours', d: 'days', y: 'years' }
const RANGE = /^([1-9]\d{0,3}(?=[mhd])|1(?=y))([mhdy])$/

/** Returns the length of a range such as `24h` in ms; undefined if invalid. */
export function rangeMs(range: string): number | undefined {
  const [, count, unit] = RANGE.exec(range) ?? []
  return unit === undefined ? undefined : Number(count) * UNITS[unit]!
}

export function rangeName(range: string): string {
  const [, count, unit] = RANGE.exec(range) ?? []
  if (unit === undefined) return range === ALL_TIME ? 'All time' : range
  return count === '1' ? `Last ${WORDS[unit]!.slice(0, -1)}` : `Last ${count} ${WORDS[unit]}`
}

export function isInstant(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) && !Number.isNaN(Date.parse(text))
}
