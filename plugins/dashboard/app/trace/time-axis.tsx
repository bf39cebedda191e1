import { useRef, useState } from 'preact/hooks'
import { LinkButton } from '../ui/controls.tsx'
import { formatDuration } from '../ui/format.ts'
import { ticks, type WaterfallFrame } from './waterfall.ts'

interface AxisProps {
  readonly frame: WaterfallFrame
  readonly origin: number
  readonly zoomed: boolean
  readonly hasCosts: boolean
  zoom(frame: WaterfallFrame | undefined): void
}

/** The time axis. Dragging over the axis zooms in. */
export function TimeAxis({ frame, origin, zoomed, hasCosts, zoom }: AxisProps) {
  const strip = useRef<HTMLDivElement>(null)
  const [drag, setDrag] = useState<{ from: number; to: number } | undefined>()
  const shareAt = (event: PointerEvent) => {
    const { left, width } = strip.current!.getBoundingClientRect()
    return Math.max(0, Math.min(1, (event.clientX - left) / width))
  }
  const length = frame.end - frame.start
  const marks = ticks(frame, origin, 4)
  return (
    <div class="axis">
      <span class="axis-name">
        Span
        {zoomed && <LinkButton onClick={() => zoom(undefined)}>Reset zoom</LinkButton>}
      </span>
      <span class="row-use">{hasCosts ? 'Tokens · cost' : 'Tokens'}</span>
      <span class="row-time">Duration</span>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: zooming only helps people who see the chart. */}
      <div
        class="axis-strip"
        ref={strip}
        title="Drag to zoom"
        onPointerDown={event => {
          strip.current!.setPointerCapture(event.pointerId)
          const at = shareAt(event)
          setDrag({ from: at, to: at })
        }}
        onPointerMove={event => {
          if (drag !== undefined) setDrag({ from: drag.from, to: shareAt(event) })
        }}
        onPointerUp={() => {
          if (drag === undefined) return
          setDrag(undefined)
          const [from, to] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)]
          if (to - from > 0.02) zoom({ start: frame.start + from * length, end: frame.start + to * length })
        }}
        onDblClick={() => zoom(undefined)}
        onPointerCancel={() => setDrag(undefined)}
      >
        {marks.map(ms => {
          const share = (origin + ms - frame.start) / length
          // A label near the end does not fit.
          if (share > 0.9) return null
          return (
            <span key={ms} style={{ insetInlineStart: `${(share * 100).toFixed(2)}%` }}>
              {ms === 0 ? '0' : formatTick(ms)}
            </span>
          )
        })}
        {drag !== undefined && (
          <span
            class="zooming"
            style={{
              insetInlineStart: `${Math.min(drag.from, drag.to) * 100}%`,
              inlineSize: `${Math.abs(drag.to - drag.from) * 100}%`
            }}
          />
        )}
      </div>
    </div>
  )
}

/** Formats a round number of milliseconds, without trailing zeros. */
function formatTick(ms: number): string {
  if (ms >= 1000 && ms < 60_000) return `${Number((ms / 1000).toFixed(2))} s`
  return formatDuration(Math.round(ms * 100) / 100)
}
