/** The spans as a tree, each with a preview, its numbers, and a bar on the time axis. */

import { useMemo, useState } from 'preact/hooks'
import type { SubtreeSums } from '../content/span-sums.ts'
import { type Row, TRACE_ROW } from '../content/span-tree.ts'
import type { Outline, OutlineSpan } from '../contract.ts'
import { Icon } from '../ui/controls.tsx'
import { formatCompact, formatCost, formatCounted, formatDuration, shortId } from '../ui/format.ts'
import { asLine } from '../ui/text.ts'
import { VirtualRows } from '../ui/virtual-rows.tsx'
import { hitsByRow } from './folded-hits.ts'
import { StepMarks } from './marks.tsx'
import { usePreview } from './previews.tsx'
import type { RowMark } from './step-marks.ts'
import { TimeAxis } from './time-axis.tsx'
import { barOf, type WaterfallFrame } from './waterfall.ts'

const ROW_PX = 28
const STEP_PX = 14
/** Maximum indent. Deeper trees have smaller steps, and rows beyond the maximum show their depth as a number. */
const MOST_INDENT_PX = 112

interface Props {
  readonly outline: Outline
  readonly rows: readonly Row[]
  /** The only root, whose row also stands for the trace; undefined if the trace has a row of its own. */
  readonly root: OutlineSpan | undefined
  readonly selected: string
  readonly hits: ReadonlyMap<string, number> | undefined
  readonly critical: ReadonlySet<string>
  readonly sums: ReadonlyMap<string, SubtreeSums>
  readonly marks: ReadonlyMap<string, RowMark>
  readonly frame: WaterfallFrame
  select(key: string): void
  fold(key: string, open: boolean): void
}

export function TreeView(props: Props) {
  const { outline, rows, root, selected, hits, critical, sums, marks, frame, select, fold } = props
  const [zoom, setZoom] = useState<WaterfallFrame | undefined>()
  const counts = useMemo(() => hits && hitsByRow(rows, hits), [rows, hits])
  const hasCosts = Boolean(sums.get('')?.costUsd)
  const deepest = rows.reduce((most, { depth }) => Math.max(most, depth), 1)
  const step = Math.max(5, Math.min(STEP_PX, MOST_INDENT_PX / deepest))
  const shown = zoom ?? frame
  // Unless the trace has a single root, the trace itself is the first row.
  const before = root === undefined ? 1 : 0
  const found = rows.findIndex(({ key }) => key === selected)
  const index = selected === TRACE_ROW ? 0 : found === -1 ? -1 : found + before
  const row = rows[index - before]
  const to = (place: number) => select(rows[place - before]?.key ?? TRACE_ROW)
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
      const parent = rows.slice(0, index - before).findLastIndex(({ depth }) => depth < row.depth)
      if (parent >= 0 || before === 1) to(parent + before)
    }
  }
  return (
    <div class={hasCosts ? 'tree has-costs' : 'tree'}>
      <TimeAxis
        frame={shown}
        origin={Date.parse(outline.trace.startedAt)}
        zoomed={zoom !== undefined}
        hasCosts={hasCosts}
        zoom={setZoom}
      />
      <VirtualRows
        class="rows"
        id="spans"
        role="tree"
        label="Spans"
        count={rows.length + before}
        rowPx={ROW_PX}
        at={index}
        active={`row-${selected}`}
        page={15}
        keys={keys}
        select={to}
        row={(at, top) => {
          const row = rows[at - before]
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
              hits={counts?.get(row.key)}
              searching={counts !== undefined}
              critical={critical.has(row.key)}
              sums={sums.get(row.key)}
              mark={marks.get(row.key)}
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
      <span class="row-use" />
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
  readonly sums: SubtreeSums | undefined
  readonly mark: RowMark | undefined
  readonly frame: WaterfallFrame
  select(key: string): void
  fold(key: string, open: boolean): void
}

function SpanRow(props: RowProps) {
  const { row, top, step, selected, hits, searching, critical, sums, mark, frame, select, fold } = props
  const { key, node, depth, open, place, siblings } = row
  const { span, missing, children } = node
  const isFolded = children.length > 0 && !open
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
        <span class="step-name clip" title={name}>
          {name}
        </span>
        {span !== undefined && <span class={`kind is-${span.kind}`}>{span.kind}</span>}
        {hits !== undefined && (
          <span class="hits" title={isFolded ? 'Matches in this step and in the steps below it' : undefined}>
            {hits}
          </span>
        )}
        <StepMarks mark={mark} />
        {isFolded && sums !== undefined ? (
          <span class="row-words">
            {formatCounted(sums.steps, 'step')}
            {sums.failures > 0 && <b class="is-error"> {sums.failures} failed</b>}
          </span>
        ) : (
          <Words id={span?.id} />
        )}
      </span>
      <span class="row-use">
        <Use span={span} sums={isFolded ? sums : undefined} />
      </span>
      <span class="row-time">{span === undefined ? '' : formatDuration(span.durationMs)}</span>
      <span class="lane" aria-hidden="true">
        {span !== undefined && <BarOf span={span} frame={frame} critical={critical} />}
      </span>
    </div>
  )
}

/** Says what a step did or, if it failed, why. */
function Words({ id }: { id: string | undefined }) {
  const preview = usePreview(id)
  if (preview === undefined) return <span class="row-words" />
  const text = asLine(preview.error === '' ? preview.text : preview.error, 160)
  return (
    <span class={`row-words ${preview.error === '' ? '' : 'is-error'}`} title={text}>
      {text}
    </span>
  )
}

/** A step's tokens and cost or, if its row is collapsed, those of all steps below it. */
function Use({ span, sums }: { span: OutlineSpan | undefined; sums: SubtreeSums | undefined }) {
  const { usage = null, costUsd = null } = sums ?? span ?? {}
  const tokens = usage?.totalTokens
  const parts = [
    ...(tokens ? [formatCompact(tokens)] : []),
    ...(costUsd === null || costUsd === 0 ? [] : [formatCost(costUsd, 2)])
  ]
  if (parts.length === 0) return null
  const of = sums === undefined ? '' : ' of all steps below'
  const computed = sums === undefined && span?.computedCost ? ', computed from tokens' : ''
  return (
    <span title={`Tokens${costUsd === null ? '' : ' and cost'}${of}${computed}`}>
      {parts.join(' · ')}
      {computed !== '' && <span class="unseen"> (computed)</span>}
    </span>
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
