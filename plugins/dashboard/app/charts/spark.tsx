/** A small chart of counts, drawn as bars without axes. The text beside it carries the same numbers. */
import { useMemo } from 'preact/hooks'
import type { Tone } from './charts.tsx'
import { HEIGHT, stackPaths, valueAxis } from './value-axis.ts'

interface Props {
  /** One count per step. Missing counts at the end are zeros. */
  readonly counts: readonly number[]
  readonly length: number
  readonly tone: Tone
}

/** Maximum number of bars. Steps beyond it are added up. */
const MOST_BARS = 42

export function SparkBars({ counts, length, tone }: Props) {
  const each = Math.max(1, Math.ceil(length / MOST_BARS))
  const bars = Math.ceil(length / each)
  const path = useMemo(() => {
    const sums = Array.from({ length: bars }, (_, i) =>
      counts.slice(i * each, (i + 1) * each).reduce((sum, count) => sum + count, 0)
    )
    return stackPaths([sums], valueAxis(sums, 'count'))[0]
  }, [counts, length])
  return (
    <svg
      class="spark-bars"
      viewBox={`0 0 ${Math.max(1, bars)} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path class={`bars tone-${tone}`} d={path} />
    </svg>
  )
}
