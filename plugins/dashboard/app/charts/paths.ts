/**
 * Turns values into SVG path data. A drawing has one unit of width for each slot, and a height of 100. The page
 * stretches it to fit.
 */
import { placeOf, type ValueAxis } from './value-axis.ts'

export const HEIGHT = 100
/** The gap on each side of a bar, as a share of the slot's width. */
const GAP = 0.09
const WIDTH = Number((1 - 2 * GAP).toFixed(2))
/** A value that is not zero is seen. */
const LEAST = 0.8

type Values = readonly (number | null)[]

const round = (value: number) => Number(value.toFixed(2))

/** One path for each list of values; the bars of each stand on those of the lists before it. */
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
 * A line through the middles of the places, broken where there is no value; and the values that stand alone, of which no
 * line would be seen: each is a line without length, which a stroke with round ends makes a point.
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

/** The sums of what stands on each other at each place. */
export function sumsOf(lists: readonly Values[]): number[] {
  const length = Math.max(0, ...lists.map(values => values.length))
  return Array.from({ length }, (_, i) => lists.reduce((sum, values) => sum + Math.max(0, values[i] ?? 0), 0))
}
