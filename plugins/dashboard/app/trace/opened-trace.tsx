/** A trace whose outline has arrived: the selection, the folds, the search, and the keys. */

import { useEffect, useMemo, useState } from 'preact/hooks'
import { sumSubtrees, totalsOf } from '../content/span-sums.ts'
import { ancestorsOf, foldable, growTree, TRACE_ROW, visibleRows } from '../content/span-tree.ts'
import type { Outline } from '../contract.ts'
import { errorMessageOf } from '../state/api.ts'
import { useKeys } from '../state/keys.ts'
import { useDialogPart } from '../state/lazy-part.ts'
import { neighbourOf } from '../state/list-pages.ts'
import { useInterval } from '../state/load.ts'
import { go, goSearch, usePlace } from '../state/navigation.ts'
import { prefer, preferences } from '../state/preferences.ts'
import { pathOf, searchOf } from '../state/route.ts'
import { may } from '../state/session.ts'
import { useStore } from '../state/store.ts'
import { copy, tell } from '../state/toasts.ts'
import { asLine } from '../ui/text.ts'
import { useHighlights } from './highlights.tsx'
import { loadLater } from './load-later.ts'
import {
  faultsOf,
  foldedAtFirst,
  nextFailure,
  openingRow,
  SPANS_VIEWS,
  type SpansView,
  soleRoot,
  TABS,
  type Tab
} from './opening.ts'
import { PreviewSource, Previews } from './previews.tsx'
import { findMarks, readPattern } from './search.ts'
import { SpanPanel } from './span-panel.tsx'
import { SpansPane } from './spans-pane.tsx'
import { markSteps } from './step-marks.ts'
import { TraceHead } from './trace-head.tsx'
import { criticalPath, frameOf } from './waterfall.ts'

const RUNNING_MS = 1000
/** A long running trace is requested less often, because each request that finds changes returns the whole outline. */
const RUNNING_MS_PER_SPAN = 1
/** Maximum duration of a regular-expression search whose matches are also highlighted in the texts. */
const MARKING_MS = 200
const loadAnnotate = () => import('./annotate.tsx')

interface OpenedProps {
  readonly slug: string
  readonly outline: Outline
  /** Whether spans are still loading. */
  readonly isPart: boolean
  refresh(): Promise<void>
}

export function OpenedTrace({ slug, outline, isPart, refresh }: OpenedProps) {
  const { search, state } = usePlace()
  const { zone, view: preferred } = useStore(preferences)
  const parameters = new URLSearchParams(search)
  const { trace, spans } = outline
  const isRunning = trace.status === 'running'
  const [now, setNow] = useState(Date.now())
  useInterval(isRunning ? RUNNING_MS + RUNNING_MS_PER_SPAN * spans.length : 0, () => {
    setNow(Date.now())
    void refresh()
  })

  const roots = useMemo(() => growTree(spans), [spans])
  const root = soleRoot(roots)
  // A running trace that becomes long while someone watches is not collapsed.
  const [firstCount] = useState(trace.spanCount)
  const [chosenFolds, setFolded] = useState<ReadonlySet<string> | undefined>()
  const asked = parameters.get('span')?.toLowerCase()
  const first = useMemo(() => openingRow(roots, trace), [roots, trace])
  const has = (key: string) =>
    key === TRACE_ROW || key.startsWith('missing:') || spans.some(({ id }) => id === key) || isPart
  const wanted = asked !== undefined && has(asked) ? asked : first
  const selected = wanted === TRACE_ROW && root !== undefined ? root.id : wanted
  const folded = useMemo(() => {
    if (chosenFolds !== undefined) return chosenFolds
    const above = new Set(ancestorsOf(roots, selected))
    return new Set(foldedAtFirst(roots, firstCount).filter(key => !above.has(key)))
  }, [chosenFolds, roots])
  const all = useMemo(() => visibleRows(roots, new Set()), [roots])
  const rows = useMemo(() => visibleRows(roots, folded), [roots, folded])
  const sums = useMemo(() => sumSubtrees(roots), [roots])
  const marks = useMemo(() => markSteps(roots), [roots])
  const critical = useMemo(() => criticalPath(spans), [spans])
  const frame = useMemo(() => frameOf(trace, spans, now), [trace, spans, isRunning ? now : 0])
  const messages = outline.version.replace(/^.*\./, '')
  // Messages that arrive apart from spans fill in their texts.
  const previews = useMemo(() => new Previews({ slug, traceId: trace.id }, 'short'), [slug, trace.id, messages])
  const faults = faultsOf(parameters, has)
  const tab: Tab = TABS.find(each => each === parameters.get('tab')) ?? 'messages'
  const view: SpansView = SPANS_VIEWS.find(each => each === parameters.get('view')) ?? preferred

  const change = (changes: Readonly<Record<string, string | undefined>>) => {
    const next = { ...Object.fromEntries(new URLSearchParams(location.search)), ...changes }
    goSearch(searchOf(next, Object.keys(next)), { replace: true })
  }
  const select = (key: string) => {
    const hidden = ancestorsOf(roots, key).filter(each => folded.has(each))
    if (hidden.length > 0) setFolded(new Set([...folded].filter(each => !hidden.includes(each))))
    change({ span: key })
  }
  const fold = (key: string, open: boolean) => {
    const next = new Set(folded)
    if (open) next.delete(key)
    else next.add(key)
    setFolded(next)
  }
  const setView = (next: SpansView) => {
    prefer({ view: next })
    change({ view: next })
  }

  const [text, setText] = useState(parameters.get('q') ?? '')
  const [hits, setHits] = useState<ReadonlyMap<string, number> | undefined>()
  const [searchMs, setSearchMs] = useState(0)
  const pattern = useMemo(() => {
    const found = text === '' || hits === undefined ? undefined : readPattern(text)
    // A regular expression that took the worker a long time would block the page if the page matched it too.
    return found !== undefined && 'expression' in found && searchMs > MARKING_MS ? undefined : found
  }, [text, hits])
  const find = useMemo(() => pattern && ((value: string) => findMarks(value, pattern, 100)), [pattern])
  useHighlights(find, `${selected} ${tab}`)
  const nextHit = (by: 1 | -1) => {
    if (hits === undefined || hits.size === 0) return
    const at = all.findIndex(({ key }) => key === selected)
    // The first hit follows the last one.
    const order = by === 1 ? [...all.slice(at + 1), ...all] : [...all, ...all.slice(0, Math.max(at, 0))].reverse()
    const next = order.find(({ key }) => hits.has(key))
    if (next !== undefined) select(next.key)
  }

  const toFailure = (by: 1 | -1) => {
    const next = nextFailure(all, selected, by)
    if (next === undefined) tell('No step in this trace failed')
    else select(next)
  }

  /** Annotations score the trace, unless the dialog is opened from a span's panel. */
  const [annotating, setAnnotating] = useState<'trace' | 'span' | undefined>()
  const annotate = () => {
    if (may(slug, 'member')) setAnnotating('trace')
  }
  useEffect(() => {
    // Preloaded, because both parts are likely to be used soon.
    const timer = setTimeout(() => Promise.all([loadAnnotate(), loadLater()]).catch(() => {}), 1500)
    return () => clearTimeout(timer)
  }, [])
  const annotation = useDialogPart(loadAnnotate, annotating !== undefined, () => setAnnotating(undefined))
  const list = state.list
  const neighbour = async (by: 1 | -1) => {
    if (list === undefined) return
    try {
      const next = await neighbourOf(slug, list, trace.id, by)
      if (next === undefined)
        tell(by === 1 ? 'This is the last trace in the list' : 'This is the first trace in the list')
      else go(pathOf({ page: 'trace', slug, traceId: next.id }), { replace: true, list: next.list })
    } catch (error) {
      tell(errorMessageOf(error), true)
    }
  }
  useKeys({
    j: () => void neighbour(1),
    k: () => void neighbour(-1),
    f: () => document.getElementById('find')?.focus(),
    n: () => nextHit(1),
    N: () => nextHit(-1),
    e: () => toFailure(1),
    E: () => toFailure(-1),
    m: () => change({ tab: undefined }),
    r: () => change({ tab: 'json' }),
    a: annotate,
    y: () => void copy(location.href, 'Link'),
    '[': () => setFolded(new Set(foldable(roots))),
    ']': () => setFolded(new Set()),
    Escape: () => go(`${pathOf({ page: 'traces', slug })}${list ?? ''}`, { returning: `t-${outline.trace.id}` })
  })
  // The only root's row stands for the trace, so a score given there is the trace's.
  const span = selected === root?.id ? undefined : spans.find(({ id }) => id === selected)
  return (
    <div class="trace-page">
      <TraceHead
        slug={slug}
        outline={outline}
        totals={totalsOf(outline, sums.get(''))}
        selected={selected}
        list={list}
        zone={zone}
        now={isRunning ? now : Date.now()}
        neighbour={by => void neighbour(by)}
        annotate={annotate}
        changed={() => void refresh()}
      />
      {faults.length > 0 && (
        <p class="address-faults" role="status">
          {asLine(faults.join(' '), 400)}
        </p>
      )}
      <PreviewSource.Provider value={previews}>
        <div class="panes">
          <SpansPane
            slug={slug}
            outline={outline}
            isPart={isPart}
            view={view}
            root={root}
            rows={rows}
            selected={selected}
            hits={hits}
            critical={critical}
            sums={sums}
            marks={marks}
            frame={frame}
            zone={zone}
            text={text}
            setView={setView}
            setText={next => {
              setText(next)
              change({ q: next })
            }}
            found={(next, ms) => {
              setSearchMs(ms)
              setHits(next)
            }}
            nextHit={nextHit}
            select={select}
            fold={fold}
          />
          <SpanPanel
            slug={slug}
            outline={outline}
            selected={selected}
            root={root}
            isPart={isPart}
            tab={tab}
            zone={zone}
            setTab={next => change({ tab: next === 'messages' ? undefined : next })}
            select={select}
            annotate={() => setAnnotating('span')}
            changed={() => void refresh()}
          />
        </div>
      </PreviewSource.Provider>
      {annotating !== undefined && annotation !== undefined && (
        <annotation.Annotate
          slug={slug}
          traceId={trace.id}
          span={annotating === 'span' ? span : undefined}
          onClose={() => setAnnotating(undefined)}
          changed={() => void refresh()}
        />
      )}
    </div>
  )
}
