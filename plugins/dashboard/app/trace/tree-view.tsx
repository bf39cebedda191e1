/** The spans as a tree, each with a bar on the time axis. */

import { useRef, useState } from 'preact/hooks'
import { TRACE_ROW } from '../content/bodies.ts'
import type { Row } from '../content/span-tree.ts'
import type { Outline, OutlineSpan } from '../contract.ts'
import { Icon, LinkButton } from '../ui/controls.tsx'
import { formatDuration, shortId } from '../ui/format.ts'
import { asLine } from '../ui/text.ts'
import { VirtualRows } from '../ui/virtual-rows.tsx'
import { barOf, ticks, type WaterfallFrame } from './waterfall.ts'

const ROW_PX = 28
const STEP_PX = 14
/** Maximum indent. Deeper trees have smaller steps, and rows beyond the maximum show their depth as a number. */
const MOST_INDENT_PX = 112

interface Props {
  readonly outline: Outline
  readonly rows: readonly Row[]
  readonly selected: string
  readonly hits: ReadonlyMap<string, number> | undefined
  readonly critical: ReadonlySet<string>
  readonly frame: WaterfallFrame
  select(key: string): void
  fold(key: string, open: boolean): void
}

export function TreeView(props: Props) {
  const { outline, rows, selected, hits, critical, frame, select, fold } = props
  const [zoom, setZoom] = useState<WaterfallFrame | undefined>()
  const deepest = rows.reduce((most, { depth }) => Math.max(most, depth), 1)
  const step = Math.max(5, Math.min(STEP_PX, MOST_INDENT_PX / deepest))
  const shown = zoom ?? frame
  // The trace itself is the first row.
  const index = selected === TRACE_ROW ? 0 : rows.findIndex(({ key }) => key === selected) + 1
  const row = rows[index - 1]
  const to = (place: number) => select(rows[place - 1]?.key ?? TRACE_ROW)
  const keys = {
    Enter: () => document.getElementById('tab-panel')?.focus(),
    ArrowRight() {
      if (row === undefined || row.node.children.length === 0) return
      if (row.open) to(index + 1)
      else fold(row.key, true)
    },
    ArrowLeft() {
      if (row === undefined) return
      if (row.open) return fold(row.key, false)
      to(rows.slice(0, index - 1).findLastIndex(({ depth }) => depth < row.depth) + 1)
    }
  }
  return (
    <div class="tree">
      <Axis frame={shown} origin={Date.parse(outline.trace.startedAt)} zoomed={zoom !== undefined} zoom={setZoom} />
      <VirtualRows
        class="rows"
        id="spans"
        role="tree"
        label="Spans"
        count={rows.length + 1}
        rowPx={ROW_PX}
        at={index}
        active={`row-${selected}`}
        page={15}
        keys={keys}
        select={to}
        row={(at, top) => {
          const row = rows[at - 1]
          if (row === undefined) {
            const isSelected = selected === TRACE_ROW
            return <TraceRow key="" outline={outline} selected={isSelected} select={() => select(TRACE_ROW)} />
          }
          return (
            <SpanRow
              key={row.key}
              row={row}
              step={step}
              top={top}
              selected={row.key === selected}
              hits={hits?.get(row.key)}
              searching={hits !== undefined}
              critical={critical.has(row.key)}
              frame={shown}
              select={select}
              fold={fold}
            />
          )
        }}
      />
    </div>
  )
}

function TraceRow({ outline, selected, select }: { outline: Outline; selected: boolean; select(): void }) {
  const { trace } = outline
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys.
    <div
      id={`row-${TRACE_ROW}`}
      class={`row is-trace ${selected ? 'is-selected' : ''}`}
      role="treeitem"
      aria-selected={selected}
      aria-level={1}
      tabIndex={-1}
      style={{ insetBlockStart: '0px' }}
      onClick={select}
    >
      <span class="row-name">
        <span class="clip">{asLine(trace.name, 120)}</span>
        <span class="kind">trace</span>
      </span>
      <span class="row-time">{formatDuration(trace.durationMs)}</span>
      <span class="lane" aria-hidden="true" />
    </div>
  )
}

interface RowProps {
  readonly row: Row
  readonly top: number
  /** Indent per level, in px. */
  readonly step: number
  readonly selected: boolean
  readonly hits: number | undefined
  readonly searching: boolean
  readonly critical: boolean
  readonly frame: WaterfallFrame
  select(key: string): void
  fold(key: string, open: boolean): void
}

function SpanRow({ row, top, step, selected, hits, searching, critical, frame, select, fold }: RowProps) {
  const { key, node, depth, open, place, siblings } = row
  const { span, missing, children } = node
  const indent = Math.min(depth * step, MOST_INDENT_PX)
  const name = span === undefined ? `(missing parent ${shortId(missing ?? '')})` : asLine(span.name, 120)
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree handles the keys.
    <div
      id={`row-${key}`}
      class={`row ${selected ? 'is-selected' : ''} ${span?.status === 'error' ? 'is-failed' : ''} ${searching && hits === undefined ? 'is-dim' : ''}`}
      role="treeitem"
      aria-selected={selected}
      aria-level={depth + 1}
      aria-posinset={place}
      aria-setsize={siblings}
      aria-expanded={children.length > 0 ? open : undefined}
      tabIndex={-1}
      style={{ insetBlockStart: `${top}px` }}
      onClick={() => select(key)}
    >
      <span class="row-name" style={{ paddingInlineStart: `${indent}px` }}>
        {children.length > 0 ? (
          <button
            type="button"
            class="plain fold"
            tabIndex={-1}
            aria-hidden="true"
            onClick={event => {
              event.stopPropagation()
              fold(key, !open)
            }}
          >
            <Icon name={open ? 'down' : 'right'} />
          </button>
        ) : (
          <span class="fold" />
        )}
        {depth * step > MOST_INDENT_PX && <span class="deep">{depth}</span>}
        {span?.status === 'error' && (
          <>
            <Icon name="error" class="is-error" />
            <span class="unseen">failed </span>
          </>
        )}
        <span class="clip" title={name}>
          {name}
        </span>
        {span !== undefined && <span class={`kind is-${span.kind}`}>{span.kind}</span>}
        {hits !== undefined && <span class="hits">{hits}</span>}
      </span>
      <span class="row-time">{span === undefined ? '' : formatDuration(span.durationMs)}</span>
      <span class="lane" aria-hidden="true">
        {span !== undefined && <BarOf span={span} frame={frame} critical={critical} />}
      </span>
    </div>
  )
}

function BarOf({ span, frame, critical }: { span: OutlineSpan; frame: WaterfallFrame; critical: boolean }) {
  const bar = barOf(span.startedAt, span.endedAt, frame)
  if (bar === undefined) return null
  const place = { insetInlineStart: `${(bar.left * 100).toFixed(3)}%`, inlineSize: `${(bar.width * 100).toFixed(3)}%` }
  return (
    <span
      class={`span-bar is-${span.kind} ${span.status === 'error' ? 'is-failed' : ''} ${critical ? 'is-critical' : ''}`}
      style={place}
    />
  )
}

interface AxisProps {
  readonly frame: WaterfallFrame
  readonly origin: number
  readonly zoomed: boolean
  zoom(frame: WaterfallFrame | undefined): void
}

/** The time axis. Dragging over the axis zooms in. */
function Axis({ frame, origin, zoomed, zoom }: AxisProps) {
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
        {zoomed && <LinkButton onClick={() => zoom(undefined)}>whole time</LinkButton>}
      </span>
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
