/** Compares two traces side by side. The page's URL identifies both traces and the selected row. */

import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { compareMetadata, type MetadataChange, metadataLeaves } from '../content/metadata-leaves.ts'
import { type ShownTotals, sumSubtrees, totalsOf } from '../content/span-sums.ts'
import { growTree, TRACE_ROW } from '../content/span-tree.ts'
import type { Outline } from '../contract.ts'
import { at } from '../state/api.ts'
import { type Comparison, isTraceId, readComparison, traceIdIn, writeComparison } from '../state/comparison.ts'
import { useKeys } from '../state/keys.ts'
import { useLoad } from '../state/load.ts'
import { goSearch, useArrival, usePlace } from '../state/navigation.ts'
import { fetchOutline } from '../state/outline.ts'
import { preferences } from '../state/preferences.ts'
import { pathOf } from '../state/route.ts'
import { useStore } from '../state/store.ts'
import { Button, StatusIcon } from '../ui/controls.tsx'
import { Field, Form } from '../ui/dialog.tsx'
import { Fact, Moment } from '../ui/facts.tsx'
import { formatCost, formatCount, formatDuration, NONE } from '../ui/format.ts'
import { Problem, Waiting } from '../ui/problem.tsx'
import { numbers, Titles } from '../ui/table.tsx'
import { asLine } from '../ui/text.ts'
import { timesIn, type Zone } from '../ui/time.ts'
import { alignSteps, findRow, stepsOf } from './align.ts'
import { formatChange, formatShare } from './format-change.ts'
import { RowPanel } from './row-panel.tsx'
import { RowsView } from './rows-view.tsx'
import { pairScores, type ScoreChange } from './score-changes.ts'

export function ComparePage({ slug }: { slug: string }) {
  const { search } = usePlace()
  const comparison = readComparison(search)
  const a = useOutline(slug, comparison.a)
  const b = useOutline(slug, comparison.b)
  const isReady = a.value !== undefined && b.value !== undefined
  const isChosen = isTraceId(comparison.a) && isTraceId(comparison.b)
  useArrival(isReady || !isChosen || a.error !== undefined || b.error !== undefined)
  if (isReady) return <Compared slug={slug} a={a.value!} b={b.value!} picked={comparison.span ?? TRACE_ROW} />
  return (
    <div class="narrow">
      <h1 tabIndex={-1}>Compare</h1>
      {!isChosen && <Choose key={search} comparison={comparison} />}
      {isChosen &&
        ([a, b] as const).map(({ error, again }, i) =>
          error === undefined ? null : (
            <div key={i}>
              <h2>{i === 0 ? 'Trace A' : 'Trace B'}</h2>
              <Problem error={error} again={again} />
            </div>
          )
        )}
      {isChosen && (a.error !== undefined || b.error !== undefined) && <Choose key={search} comparison={comparison} />}
      {(a.loading || b.loading) && <Waiting what="both traces" />}
    </div>
  )
}

function useOutline(slug: string, id: string) {
  const trace = { slug, traceId: id }
  const path = at('p/:slug/traces/:traceId/outline', trace)
  return useLoad(isTraceId(id) ? path : undefined, signal => fetchOutline(trace, { signal }))
}

interface ComparedProps {
  readonly slug: string
  readonly a: Outline
  readonly b: Outline
  readonly picked: string
}

function Compared({ slug, a, b, picked }: ComparedProps) {
  const rows = useMemo(() => alignSteps(stepsOf(a.spans), stepsOf(b.spans)), [a, b])
  const row = findRow(rows, picked)
  const selected = row?.key ?? TRACE_ROW
  const show = (first: Outline, second: Outline, span: string) => {
    const query = { a: first.trace.id, b: second.trace.id, ...(span !== TRACE_ROW && { span }) }
    goSearch(writeComparison(query), { replace: true })
  }
  const pick = (key: string) => show(a, b, key)
  const move = (by: 1 | -1) => {
    const keys = [TRACE_ROW, ...rows.map(({ key }) => key)]
    const next = keys[keys.indexOf(selected) + by]
    if (next !== undefined) pick(next)
  }
  useKeys({ j: () => move(1), k: () => move(-1) })
  return (
    <div class="trace-page compare-page">
      <CompareHead slug={slug} a={a} b={b} swap={() => show(b, a, selected.replace(/^b:/, ''))} />
      <div class="panes">
        <RowsView a={a} b={b} rows={rows} selected={selected} pick={pick} />
        <RowPanel slug={slug} a={a} b={b} row={row} />
      </div>
    </div>
  )
}

function Choose({ comparison }: { comparison: Comparison }) {
  const [a, setA] = useState(comparison.a)
  const [b, setB] = useState(comparison.b)
  return (
    <>
      <p>Select two traces in the list and press Compare, or enter their IDs.</p>
      <Form
        submit="Compare"
        onSubmit={() => {
          const ids = { a: traceIdIn(a), b: traceIdIn(b) }
          for (const [side, id] of Object.entries(ids)) {
            if (!isTraceId(id)) throw new Error(`Trace ${side.toUpperCase()}: an ID has 32 hexadecimal characters.`)
          }
          goSearch(writeComparison(ids))
        }}
      >
        <Field label="Trace A" required spellcheck={false} autocomplete="off" value={a} set={setA} />
        <Field label="Trace B" required spellcheck={false} autocomplete="off" value={b} set={setB} />
      </Form>
    </>
  )
}

interface HeadProps {
  readonly slug: string
  readonly a: Outline
  readonly b: Outline
  swap(): void
}

interface Totals {
  readonly trace: Outline['trace']
  readonly totals: ShownTotals
}

function totalsIn(outline: Outline): Totals {
  return { trace: outline.trace, totals: totalsOf(outline, sumSubtrees(growTree(outline.spans)).get('')) }
}

/** The totals to compare. A total that a trace does not state is the sum over its steps. */
const TOTALS: readonly [title: string, of: (side: Totals) => number | null, format: (value: number) => string][] = [
  ['Duration', ({ trace }) => trace.durationMs, formatDuration],
  ['Tokens', ({ totals: { usage } }) => (usage.totalTokens === 0 ? null : usage.totalTokens), formatCount],
  ['Cost', ({ totals }) => totals.costUsd, formatCost],
  ['Spans', ({ trace }) => trace.spanCount, formatCount],
  ['Errors', ({ trace }) => trace.errorCount, formatCount]
]

function CompareHead({ slug, a, b, swap }: HeadProps) {
  const { zone, metadata } = useStore(preferences)
  const [sideA, sideB] = useMemo(() => [totalsIn(a), totalsIn(b)], [a, b])
  return (
    <header class="trace-head">
      <div class="trace-line">
        <h1 tabIndex={-1}>Compare</h1>
        <span class="soft small">{timesIn(zone)}</span>
        <div class="trace-tools">
          <Button onClick={swap}>Swap A and B</Button>
        </div>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard. */}
      <section class="totals-box" tabIndex={0} aria-label="Totals">
        <table class="totals">
          <thead>
            <Titles of={['Trace', 'Started', 'Model', 'Status', ...numbers(...TOTALS.map(([title]) => title))]} />
          </thead>
          <tbody>
            <Side slug={slug} letter="A" side={sideA} zone={zone} />
            <Side slug={slug} letter="B" side={sideB} zone={zone} />
            <tr class="is-difference">
              <th scope="row" colSpan={4}>
                Difference (B − A)
              </th>
              {TOTALS.map(([title, of, format]) => (
                <Cell key={title} title={title}>
                  {formatChange(of(sideA), of(sideB), format)} <small>{formatShare(of(sideA), of(sideB))}</small>
                </Cell>
              ))}
            </tr>
          </tbody>
        </table>
      </section>
      <Changes title="Metadata" changes={changesOfMetadata(a, b, metadata[slug] ?? [])} />
      <Changes title="Scores" changes={pairScores(a.trace.scores, b.trace.scores)} />
    </header>
  )
}

/** The metadata values that differ, and those that the reader chose to see. */
function changesOfMetadata(a: Outline, b: Outline, chosen: readonly string[]) {
  const [before, after] = [metadataLeaves(a.trace.metadata), metadataLeaves(b.trace.metadata)]
  return compareMetadata(before, after, chosen)
}

interface ChangesProps {
  readonly title: string
  readonly changes: readonly (MetadataChange & Partial<ScoreChange>)[]
}

function Changes({ title, changes }: ChangesProps) {
  if (changes.length === 0) return null
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <section class="side-changes" tabIndex={0} aria-label={title}>
      <dl class="trace-facts">
        {changes.map(({ name, a, b, by = '' }) => (
          <Fact key={name} name={asLine(name, 60)}>
            {a === b ? (
              asLine(a ?? NONE, 60)
            ) : (
              <>
                <del>{asLine(a ?? NONE, 60)}</del> → <ins>{asLine(b ?? NONE, 60)}</ins>
                {by !== '' && <small> {by}</small>}
              </>
            )}
          </Fact>
        ))}
      </dl>
    </section>
  )
}

interface SideProps {
  readonly slug: string
  readonly letter: 'A' | 'B'
  readonly side: Totals
  readonly zone: Zone
}

function Side({ slug, letter, side, zone }: SideProps) {
  const { trace, totals } = side
  return (
    <tr>
      <th scope="row">
        <span class="side">{letter}</span>{' '}
        <a href={pathOf({ page: 'trace', slug, traceId: trace.id })} title={trace.name}>
          {asLine(trace.name, 80)}
        </a>
      </th>
      <td data-title="Started">
        <Moment iso={trace.startedAt} zone={zone} />
      </td>
      <td data-title="Model">{totals.model === null ? NONE : asLine(totals.model, 40)}</td>
      <td data-title="Status">
        <StatusIcon status={trace.status} />
      </td>
      {TOTALS.map(([title, of, format]) => {
        const value = of(side)
        return (
          <Cell key={title} title={title}>
            {value === null ? NONE : format(value)}
          </Cell>
        )
      })}
    </tr>
  )
}

function Cell({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <td class="number" data-title={title}>
      {children}
    </td>
  )
}
