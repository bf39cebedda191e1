import type { Axis } from '../charts/axis.ts'
import type { ScoreOverTime } from '../contract.ts'
import type { ScorePicks } from '../state/score-query.ts'
import { formatScore } from '../ui/format.ts'

export interface Bar {
  readonly name: string
  readonly count: number
  /** Undefined for the bar that sums several values. */
  readonly picks: ScorePicks | undefined
}

const sum = (counts: readonly number[]) => counts.reduce((total, each) => total + each, 0)

/** Returns a numeric score's histogram, or any other score's values, most frequent first. */
export function barsOf({ dataType, histogram, shares, other }: ScoreOverTime): Bar[] {
  if (dataType === 'numeric') {
    return histogram.map(({ from, to, count }) =>
      from === to
        ? { name: formatScore(from), count, picks: { value: String(from) } }
        : { name: `${formatScore(from)} – ${formatScore(to)}`, count, picks: { min: String(from), below: String(to) } }
    )
  }
  const values = Object.entries(shares).map(([value, counts]) => ({
    name: dataType === 'boolean' ? formatScore(value === 'true') : value,
    count: sum(counts),
    picks: { value }
  }))
  const rest = sum(other)
  return rest === 0 ? values : [...values, { name: 'other values', count: rest, picks: undefined }]
}

/** Builds the axis of a histogram. Each bar has its full name; ticks show where bars start. */
export function histogramAxis(bars: readonly Bar[], most = 7): Axis {
  const every = Math.max(1, Math.ceil(bars.length / most))
  return {
    names: bars.map(({ name }) => name),
    ticks: bars.flatMap(({ name }, at) => (at % every === 0 ? [{ at, text: name.split(' – ')[0]! }] : []))
  }
}
