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

export function SparkBars({ counts, length, tone }: Props) {
  const path = useMemo(() => stackPaths([counts], valueAxis(counts, 'count'))[0], [counts])
  return (
    <svg
      class="spark-bars"
      viewBox={`0 0 ${Math.max(1, length)} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path class={`bars tone-${tone}`} d={path} />
    </svg>
  )
}
