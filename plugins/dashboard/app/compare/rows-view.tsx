/** The spans of both traces in one list, with matching spans in one row. Only visible rows are in the document. */

import { useEffect, useMemo, useState } from 'preact/hooks'
import { sumSubtrees, totalsOf } from '../content/span-sums.ts'
import { growTree, TRACE_ROW } from '../content/span-tree.ts'
import type { Outline, Status as StatusName, TokenUsage } from '../contract.ts'
import { StatusIcon } from '../ui/controls.tsx'
import { formatCompact, formatCost, formatCount, formatCounted, formatDuration, NONE } from '../ui/format.ts'
import { asLine } from '../ui/text.ts'
import { VirtualRows } from '../ui/virtual-rows.tsx'
import type { AlignedRow, AlignedStep } from './align.ts'
import { formatChange } from './format-change.ts'

interface Props {
  readonly a: Outline
  readonly b: Outline
  readonly rows: readonly AlignedRow[]
  readonly selected: string
  pick(key: string): void
}

/** Row height, which must match compare.css. */
const ROW_PX = 28
const NARROW_ROW_PX = 72
const NARROW = matchMedia('(max-width: 48rem)')
const STEP_PX = 14
const MOST_INDENT_PX = 84

function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(NARROW.matches)
  useEffect(() => {
    const look = () => setNarrow(NARROW.matches)
    NARROW.addEventListener('change', look)
    return () => NARROW.removeEventListener('change', look)
  }, [])
  return narrow
}

export function RowsView({ a, b, rows, selected, pick }: Props) {
  const rowPx = useNarrow() ? NARROW_ROW_PX : ROW_PX
  const [wholeA, wholeB] = useMemo(() => [whole(a), whole(b)], [a, b])
  const hasCosts = [a, b].some(
    ({ spans, trace }) => trace.costUsd !== null || spans.some(span => span.costUsd !== null)
  )
  const keys = [TRACE_ROW, ...rows.map(({ key }) => key)]
  const index = keys.indexOf(selected)
  const pairs = rows.filter(row => row.a !== undefined && row.b !== undefined).length
  return (
    <section class="pane" aria-label="Spans of both traces">
      <div class="pane-bar">
        <strong>{formatCounted(pairs, 'span')} in both</strong>
        <span class="soft">
          {formatCount(a.spans.length - pairs)} only in A, {formatCount(b.spans.length - pairs)} only in B
        </span>
      </div>
      <div class={hasCosts ? 'aligned' : 'aligned without-costs'}>
        <div class="aligned-row is-head" aria-hidden="true">
          <span>Span</span>
          {['Duration', 'Tokens', 'Cost'].map(title => (
            <span key={title} class={trioClass(title)}>
              <span class="trio-title">{title}</span> <span>A</span> <span>B</span> <span>change</span>
            </span>
          ))}
          <span class="duo">
            <span>A</span> <span>B</span>
          </span>
        </div>
        <VirtualRows
          class="rows"
          id="aligned"
          role="listbox"
          label="Spans of both traces"
          count={keys.length}
          rowPx={rowPx}
          at={index}
          active={`both-${index}`}
          page={15}
          keys={{ Enter: () => document.getElementById('compared')?.focus() }}
          select={index => pick(keys[index]!)}
          row={(at, top) => {
            const key = keys[at]!
            const place = { at, of: keys.length, top, selected: at === index, pick: () => pick(key) }
            const row = rows[at - 1]
            return row === undefined ? (
              <Row key={key} {...place} name="Whole trace" depth={0} a={wholeA} b={wholeB} />
            ) : (
              <SpanRow key={key} {...place} row={row} />
            )
          }}
        />
      </div>
    </section>
  )
}

interface Compared {
  readonly durationMs: number | null
  readonly usage: TokenUsage | null
  readonly costUsd: number | null
  readonly status: StatusName
}

function whole(outline: Outline): Compared {
  const { durationMs, status } = outline.trace
  const { usage, costUsd } = totalsOf(outline, sumSubtrees(growTree(outline.spans)).get(''))
  return { durationMs, status, usage: usage.totalTokens === 0 && status === 'running' ? null : usage, costUsd }
}

interface PlaceProps {
  readonly at: number
  readonly of: number
  readonly top: number
  readonly selected: boolean
  pick(): void
}

function SpanRow({ row, ...place }: PlaceProps & { readonly row: AlignedRow }) {
  const { span, depth } = (row.a ?? row.b) as AlignedStep
  return <Row {...place} name={span.name} kind={span.kind} depth={depth} a={row.a?.span} b={row.b?.span} />
}

interface RowProps extends PlaceProps {
  readonly name: string
  readonly kind?: string
  readonly depth: number
  readonly a: Compared | undefined
  readonly b: Compared | undefined
}

function Row({ at, of, top, selected, pick, name, kind, depth, a, b }: RowProps) {
  const side = a === undefined ? 'B' : b === undefined ? 'A' : undefined
  const sides = side === undefined ? '' : side === 'A' ? 'is-gone' : 'is-new'
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list handles the keys.
    <div
      id={`both-${at}`}
      class={`aligned-row row ${sides} ${selected ? 'is-selected' : ''} ${kind === undefined ? 'is-trace' : ''}`}
      role="option"
      aria-selected={selected}
      aria-posinset={at + 1}
      aria-setsize={of}
      tabIndex={-1}
      style={{ insetBlockStart: `${top}px` }}
      onClick={pick}
    >
      <span class="row-name" style={{ paddingInlineStart: `${Math.min(depth * STEP_PX, MOST_INDENT_PX)}px` }}>
        {side !== undefined && (
          <span class="sign" title={`Only in ${side}`}>
            <span aria-hidden="true">{side === 'A' ? '−' : '+'}</span>
            <span class="unseen">only in {side} </span>
          </span>
        )}
        <span class="clip" title={name}>
          {asLine(name, 120)}
        </span>
        {kind !== undefined && <span class={`kind is-${kind}`}>{kind}</span>}
      </span>
      <Trio title="Duration" a={a?.durationMs ?? null} b={b?.durationMs ?? null} format={formatDuration} />
      <Trio title="Tokens" a={a?.usage?.totalTokens ?? null} b={b?.usage?.totalTokens ?? null} format={formatCompact} />
      <Trio title="Cost" a={a?.costUsd ?? null} b={b?.costUsd ?? null} format={formatShortCost} />
      <span class={`duo ${a && b && a.status !== b.status ? 'is-changed' : ''}`}>
        {[a, b].map((each, i) =>
          each === undefined ? <Nothing key={i} /> : <StatusIcon key={i} status={each.status} quiet />
        )}
      </span>
    </div>
  )
}

const formatShortCost = (usd: number): string => formatCost(usd, 2)

const trioClass = (title: string) => `trio ${title === 'Cost' ? 'of-cost' : ''}`

interface TrioProps {
  readonly title: string
  readonly a: number | null
  readonly b: number | null
  format(value: number): string
}

function Trio({ title, a, b, format }: TrioProps) {
  const cell = (text: string, kind = '') => <span class={text === NONE || text === '=' ? 'soft' : kind}>{text}</span>
  const of = (value: number | null) => (value === null ? NONE : format(value))
  return (
    <span class={trioClass(title)}>
      <span class="unseen">, {title} </span>
      {cell(of(a))} {cell(of(b))} {cell(formatChange(a, b, format), 'change')}
    </span>
  )
}

const Nothing = () => <span class="soft">{NONE}</span>
