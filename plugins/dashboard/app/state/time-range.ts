/** Ranges of time, and the zone in which the visitor reads times. */

import type { Range } from '../contract.ts'

export type Zone = 'local' | 'utc'

/** The ranges that the server takes for charts, and the one of a page that has no other time. */
export const CHART_RANGES = ['1h', '6h', '24h', '7d', '30d', '90d', '1y'] as const satisfies readonly Range[]
export const DEFAULT_RANGE = '7d' satisfies Range
/** The ranges of sums over users, which are kept by days of UTC. */
export const DAY_RANGES = ['7d', '30d', '90d', '1y'] as const satisfies readonly Range[]
/** A list has pages, so it offers shorter ranges, and none of a year. */
export const LIST_RANGES = ['15m', ...CHART_RANGES.slice(0, -1)]
const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, y: 31_536_000_000 }
const WORDS: Readonly<Record<string, string>> = { m: 'minutes', h: 'hours', d: 'days', y: 'years' }
const RANGE = /^([1-9]\d{0,3}(?=[mhd])|1(?=y))([mhdy])$/

/** The length of a range such as `24h` in ms, or undefined. */
export function rangeMs(range: string): number | undefined {
  const [, count, unit] = RANGE.exec(range) ?? []
  return unit === undefined ? undefined : Number(count) * UNITS[unit]!
}

export function rangeName(range: string): string {
  const [, count, unit] = RANGE.exec(range) ?? []
  if (unit === undefined) return range
  return count === '1' ? `Last ${WORDS[unit]!.slice(0, -1)}` : `Last ${count} ${WORDS[unit]}`
}

/** Whether a text is an instant that the server takes. */
export function isInstant(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) && !Number.isNaN(Date.parse(text))
}
