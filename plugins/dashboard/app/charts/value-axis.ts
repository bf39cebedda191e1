/**
 * The value axis of a chart, with ticks at round values from zero to at least the largest value. Paths are one unit
 * wide per slot and 100 units high; the page stretches the drawing to fit.
 */

/** The unit of the values. The unit determines which tick values are round. */
export type Unit = 'count' | 'share' | 'ms' | 'usd' | 'number'

export interface ValueAxis {
  readonly bottom: number
  readonly top: number
  /** Tick values from the bottom to the top, both included. */
  readonly ticks: readonly number[]
  /** Whether equal distances are equal factors. */
  readonly isLogarithmic?: true
}

const MOST_STEPS = 4
const S = 1000
const MIN = 60 * S
const H = 60 * MIN
const DAY = 24 * H
const HALF_MINUTE = [1, 2, 5, 10, 15, 30]
const ROUND_TIMES = [
  ...HALF_MINUTE.map(n => n * S),
  ...HALF_MINUTE.map(n => n * MIN),
  H,
  2 * H,
  3 * H,
  6 * H,
  12 * H,
  DAY
]

/** Ignores values that are null or not finite. */
export function valueAxis(values: Iterable<number | null>, unit: Unit): ValueAxis {
  let low = 0
  let high = 0
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue
    if (value < low) low = value
    if (value > high) high = value
  }
  // If all values are zero, the axis still needs a length.
  if (high === low) high = unit === 'ms' ? S : 1
  const step = roundStep((high - low) / MOST_STEPS, unit)
  const first = Math.floor(low / step + 1e-9 * Math.sign(low))
  const last = Math.ceil(high / step - 1e-9)
  const ticks = Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)))
  return { bottom: ticks[0]!, top: ticks.at(-1)!, ticks }
}

/** Returns the smallest round number that is at least `least`. */
function roundStep(least: number, unit: Unit): number {
  if (unit === 'ms' && least >= S) {
    return ROUND_TIMES.find(each => each >= least) ?? DAY * powerStep(least / DAY, [1, 2, 5, 10])
  }
  const isWhole = unit === 'count' || unit === 'ms'
  return isWhole ? Math.max(1, powerStep(least, [1, 2, 5, 10])) : powerStep(least, [1, 2, 2.5, 5, 10])
}

function powerStep(least: number, round: readonly number[]): number {
  const power = 10 ** Math.floor(Math.log10(least))
  const factor = round.find(each => each * power >= least * (1 - 1e-9)) ?? 10
  return factor * power
}

const ROUND_DURATIONS = [...[1, 10, 100].flatMap(power => [power, 2 * power, 5 * power]), ...ROUND_TIMES]
/** Minimum distance between two ticks of a logarithmic axis, as a share of its length. */
const LEAST_DISTANCE = 0.2

/**
 * Returns a logarithmic axis of durations in ms, from a round value below the shortest to one above the longest, so
 * that both fast model calls and slow agents are readable.
 */
export function durationAxis(values: Iterable<number | null>): ValueAxis {
  const known = [...values].filter((value): value is number => value !== null && Number.isFinite(value))
  const low = Math.max(1, known.length === 0 ? S : Math.min(...known))
  const high = Math.max(low, ...known)
  const days = Math.max(0, Math.ceil(Math.log2(high / DAY)))
  const round = [...ROUND_DURATIONS, ...Array.from({ length: days + 1 }, (_, i) => DAY * 2 ** (i + 1))]
  const first = round.findLastIndex(each => each <= low)
  const last = Math.max(
    round.findIndex(each => each >= high),
    first + 1
  )
  const [bottom, top] = [round[first]!, round[last]!]
  const axis = { bottom, top, isLogarithmic: true as const }
  const ticks = [bottom]
  for (const each of round.slice(first + 1, last)) {
    const distance = (from: number, to: number) => placeOf(to, { ...axis, ticks }) - placeOf(from, { ...axis, ticks })
    if (distance(ticks.at(-1)!, each) >= LEAST_DISTANCE && distance(each, top) >= LEAST_DISTANCE) ticks.push(each)
  }
  return { ...axis, ticks: [...ticks, top] }
}

/** Returns the position of a value between bottom (0) and top (1). */
export function placeOf(value: number, { bottom, top, isLogarithmic }: ValueAxis): number {
  const place =
    isLogarithmic === true
      ? Math.log(Math.max(value, bottom) / bottom) / Math.log(top / bottom)
      : (value - bottom) / (top - bottom)
  return Math.min(1, Math.max(0, place))
}

const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })

/** Formats a round number as a tick label: `1.5K`, `25 %`, `2 s`, `$0.05`. */
export function shortValue(value: number, unit: Unit): string {
  switch (unit) {
    case 'count':
      return compact.format(value)
    case 'share':
      return `${Number((value * 100).toPrecision(6))}\u202f%`
    case 'usd':
      return value === 0
        ? '$0'
        : value >= 1000
          ? `$${compact.format(value)}`
          : `$${Number(value.toPrecision(6)).toLocaleString('en-US', { minimumFractionDigits: value >= 0.1 && value % 1 !== 0 ? 2 : 0, maximumFractionDigits: 9 })}`
    case 'ms':
      return shortDuration(value)
    default:
      return Math.abs(value) >= 10_000 ? compact.format(value) : String(Number(value.toPrecision(6)))
  }
}

function shortDuration(ms: number): string {
  if (ms === 0) return '0'
  const [size, unit] =
    ms >= DAY ? [DAY, 'd'] : ms >= H ? [H, 'h'] : ms >= MIN ? [MIN, 'min'] : ms >= S ? [S, 's'] : [1, 'ms']
  return `${Number((ms / (size as number)).toPrecision(4))} ${unit}`
}

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
