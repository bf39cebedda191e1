import { formatDuration } from './format.ts'
import { latencyShare } from './latency-share.ts'

/** A duration with a bar. The bar of the longest duration is full. */
export function DurationMeter({ ms, longestMs }: { ms: number; longestMs: number }) {
  return (
    <span class="latency">
      {formatDuration(ms)}
      <span class="meter" aria-hidden="true" title="Logarithmic">
        <span style={{ inlineSize: `${(latencyShare(ms, longestMs) * 100).toFixed(1)}%` }} />
      </span>
    </span>
  )
}
