import { formatPercent, NONE } from '../ui/format.ts'

/** Returns a change such as `+1.2 s` or `−12`, or `=` if the values are equal; NONE if either value is missing. */
export function formatChange(a: number | null, b: number | null, format: (value: number) => string): string {
  if (a === null || b === null) return NONE
  const by = b - a
  if (by === 0) return '='
  return `${by > 0 ? '+' : '−'}${format(Math.abs(by))}`
}

/** Returns a change such as `+35 %`, or an empty string if the values are equal or no ratio exists. */
export function formatShare(a: number | null, b: number | null): string {
  if (a === null || b === null || a <= 0 || a === b) return ''
  return `${b > a ? '+' : '−'}${formatPercent(Math.abs(b - a) / a)}`
}
