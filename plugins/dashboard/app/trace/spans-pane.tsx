/** The left pane: how many spans there are, the choice of a view, the search, and the view itself. */
import type { SubtreeSums } from '../content/span-sums.ts'
import type { Row } from '../content/span-tree.ts'
import type { Outline, OutlineSpan } from '../contract.ts'
import { usePart } from '../state/lazy-part.ts'
import { formatCount, formatCounted } from '../ui/format.ts'
import { Pending } from '../ui/problem.tsx'
import type { Zone } from '../ui/time.ts'
import { readSpansLeftOut } from './left-out.ts'
import { loadLater } from './load-later.ts'
import { SPANS_VIEWS, type SpansView } from './opening.ts'
import { SearchBox } from './search-box.tsx'
import type { RowMark } from './step-marks.ts'
import { TreeView } from './tree-view.tsx'
import type { WaterfallFrame } from './waterfall.ts'

const NAMES: Readonly<Record<SpansView, string>> = { tree: 'Tree', log: 'Log', turns: 'Turns' }

interface Props {
  readonly slug: string
  readonly outline: Outline
  /** Whether spans are still loading. */
  readonly isPart: boolean
  readonly view: SpansView
  readonly root: OutlineSpan | undefined
  readonly rows: readonly Row[]
  readonly selected: string
  readonly hits: ReadonlyMap<string, number> | undefined
  readonly critical: ReadonlySet<string>
  readonly sums: ReadonlyMap<string, SubtreeSums>
  readonly marks: ReadonlyMap<string, RowMark>
  readonly frame: WaterfallFrame
  readonly zone: Zone
  readonly text: string
  setView(view: SpansView): void
  setText(text: string): void
  found(hits: ReadonlyMap<string, number> | undefined, ms: number): void
  nextHit(by: 1 | -1): void
  select(key: string): void
  fold(key: string, open: boolean): void
}

export function SpansPane(props: Props) {
  const { slug, outline, isPart, view, selected, hits, zone, text, setView, setText, found, nextHit, select } = props
  const later = usePart(loadLater, view !== 'tree')
  const shown = { outline, selected, hits, marks: props.marks, select }
  return (
    <section class="pane" aria-label="Spans of the trace">
      <div class="pane-bar">
        <SpanCount outline={outline} isPart={isPart} />
        <fieldset class="switch" aria-label="View">
          {SPANS_VIEWS.map(each => (
            <button key={each} type="button" aria-pressed={view === each} onClick={() => setView(each)}>
              {NAMES[each]}
            </button>
          ))}
        </fieldset>
        <SearchBox slug={slug} outline={outline} text={text} setText={setText} found={found} next={nextHit} />
      </div>
      {view !== 'tree' && later.part === undefined ? (
        <Pending of={later} what="the view" />
      ) : view === 'log' && later.part !== undefined ? (
        <later.part.LogView {...shown} zone={zone} />
      ) : view === 'turns' && later.part !== undefined ? (
        <later.part.TurnsView {...shown} slug={slug} />
      ) : (
        <TreeView
          {...shown}
          rows={props.rows}
          root={props.root}
          critical={props.critical}
          sums={props.sums}
          frame={props.frame}
          fold={props.fold}
        />
      )}
    </section>
  )
}

/** The number of spans, and of those that are still loading or were not stored. */
function SpanCount({ outline: { trace, spans }, isPart }: { outline: Outline; isPart: boolean }) {
  const leftOut = readSpansLeftOut(trace.metadata)
  const all = Math.max(trace.spanCount, spans.length)
  if (isPart) {
    return (
      <strong role="status">
        Loading {formatCount(spans.length)} of {formatCount(all)} spans…
      </strong>
    )
  }
  if (leftOut === undefined) return <strong>{formatCounted(all, 'span')}</strong>
  return (
    <>
      <strong>
        {formatCount(all)} of {formatCounted(all + leftOut.count, 'span')}
      </strong>
      <span
        class="soft left-out"
        title="The trace had more spans than it can store. Their tokens, cost and failures are included in its totals."
      >
        {leftOut.description}
      </span>
    </>
  )
}
