import { formatPercent, NONE } from '../ui/format.ts'

/** Returns `+1.2 s`, `−12` or `=`; NONE if either value is missing. */
export function formatChange(a: number | null, b: number | null, format: (value: number) => string): string {
  if (a === null || b === null) return NONE
  const by = b - a
  if (by === 0) return '='
  return `${by > 0 ? '+' : '−'}${format(Math.abs(by))}`
}

/** Returns `+35 %`; empty if the values are equal or no ratio exists. */
export function formatShare(a: number | null, b: number | null): string {
  if (a === null || b === null || a <= 0 || a === b) return ''
  return `${b > a ? '+' : '−'}${formatPercent(Math.abs(b - a) / a)}`
}
