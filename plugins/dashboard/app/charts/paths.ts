/** Converts values to SVG path data. A drawing is one unit wide per slot and 100 units high; the page stretches it. */
import { placeOf, type ValueAxis } from './value-axis.ts'

export const HEIGHT = 100
/** Gap on each side of a bar, as a share of the slot's width. */
const GAP = 0.09
const WIDTH = Number((1 - 2 * GAP).toFixed(2))
/** Minimum height of a bar, so that any positive value is visible. */
const LEAST = 0.8

type Values = readonly (number | null)[]

const round = (value: number) => Number(value.toFixed(2))

/** Returns one path per list of values. Each list's bars are stacked on the bars of the preceding lists. */
export function stackPaths(lists: readonly Values[], axis: ValueAxis): string[] {
  const reached: number[] = []
  return lists.map(values => {
    let path = ''
    for (const [i, value] of values.entries()) {
      if (value === null || value <= 0) continue
      const from = reached[i] ?? 0
      reached[i] = from + value
      const bottom = HEIGHT * (1 - placeOf(from, axis))
      const top = Math.min(HEIGHT * (1 - placeOf(from + value, axis)), bottom - LEAST)
      path += `M${round(i + GAP)} ${round(bottom)}V${round(top)}h${WIDTH}V${round(bottom)}z`
    }
    return path
  })
}

/**
 * Returns a line through the slots' centres, broken at missing values, and points for isolated values. A point is a
 * zero-length line, which a stroke with round ends renders as a dot.
 */
export function linePaths(values: Values, axis: ValueAxis): { readonly line: string; readonly points: string } {
  let line = ''
  let points = ''
  for (const [i, value] of values.entries()) {
    if (value === null) continue
    const at = `${i + 0.5} ${round(HEIGHT * (1 - placeOf(value, axis)))}`
    const isAfter = i > 0 && values[i - 1] !== null
    const isBefore = i + 1 < values.length && values[i + 1] !== null
    if (isAfter || isBefore) line += `${isAfter ? 'L' : 'M'}${at}`
    else points += `M${at}h0`
  }
  return { line, points }
}

export function stackedSums(lists: readonly Values[]): number[] {
  const length = Math.max(0, ...lists.map(values => values.length))
  return Array.from({ length }, (_, i) => lists.reduce((sum, values) => sum + Math.max(0, values[i] ?? 0), 0))
}
