/** The value axis of a chart: round numbers from zero to at least the largest value. */

/** The unit of the values. It determines which numbers are round. */
export type Unit = 'count' | 'share' | 'ms' | 'usd' | 'number'

export interface ValueAxis {
  readonly bottom: number
  readonly top: number
  /** Values from the bottom to the top, both included. */
  readonly ticks: readonly number[]
}

const MOST_STEPS = 4
const S = 1000
const MIN = 60 * S
const H = 60 * MIN
const DAY = 24 * H
const ROUND_TIMES = [1, 2, 5, 10, 15, 30]
  .flatMap(n => [n * S, n * MIN])
  .concat(
    [1, 2, 3, 6, 12].map(n => n * H),
    DAY
  )
ROUND_TIMES.sort((one, other) => one - other)

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

/** Returns the position of a value between bottom (0) and top (1). */
export function placeOf(value: number, { bottom, top }: ValueAxis): number {
  return Math.min(1, Math.max(0, (value - bottom) / (top - bottom)))
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
