/** The page of a trace. The outline loads first, then the selected span's body. The page's URL holds the selection. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { TRACE_ROW } from '../content/bodies.ts'
import { ancestorsOf, firstSpan, foldable, growTree, visibleRows } from '../content/span-tree.ts'
import type { Outline } from '../contract.ts'
import { at, errorMessageOf } from '../state/api.ts'
import { useKeys } from '../state/keys.ts'
import { usePart } from '../state/lazy-part.ts'
import { neighbourOf } from '../state/list-pages.ts'
import { useInterval, useLoad } from '../state/load.ts'
import { go, goSearch, useArrival, usePlace } from '../state/navigation.ts'
import { fetchOutline } from '../state/outline.ts'
import { prefer, preferences } from '../state/preferences.ts'
import { pathOf, searchOf } from '../state/route.ts'
import { may } from '../state/session.ts'
import { useStore } from '../state/store.ts'
import { copy, tell } from '../state/toasts.ts'
import { formatCounted } from '../ui/format.ts'
import { Pending, Problem, Waiting } from '../ui/problem.tsx'
import { asLine } from '../ui/text.ts'
import { describeLeftOut } from './left-out.ts'
import { findMarks, readPattern } from './search.ts'
import { SearchBox } from './search-box.tsx'
import { SpanPanel, TABS, type Tab, useHighlights } from './span-panel.tsx'
import { TraceHead } from './trace-head.tsx'
import { TreeView } from './tree-view.tsx'
import { criticalPath, frameOf } from './waterfall.ts'

interface Props {
  readonly slug: string
  readonly traceId: string
}

const RUNNING_MS = 1000
/** Maximum duration of a regular-expression search whose matches are also highlighted in the texts. */
const MARKING_MS = 200
const loadAnnotate = () => import('./annotate.tsx')
const loadLogView = () => import('./log-view.tsx')

export function TraceView({ slug, traceId }: Props) {
  const path = at('p/:slug/traces/:traceId/outline', { slug, traceId })
  const { value, error, again } = useLoad(path, signal => fetchOutline({ slug, traceId }, { signal }))
  const [newer, setNewer] = useState<{ path: string; outline: Outline } | undefined>()
  const outline = newer?.path === path ? newer.outline : value
  const asking = useRef(false)
  const [gone, setGone] = useState<unknown>()
  const refresh = async () => {
    // At most one request waits for an unreachable server, instead of one per second.
    if (outline === undefined || asking.current) return
    asking.current = true
    try {
      const answer = await fetchOutline({ slug, traceId }, { version: outline.version })
      if (answer !== undefined) setNewer({ path, outline: answer })
    } catch (error) {
      // The trace may have been deleted.
      setGone(error)
    } finally {
      asking.current = false
    }
  }
  const retry = () => {
    setGone(undefined)
    again()
  }
  useEffect(() => {
    document.title = outline === undefined ? 'Trace · spoor' : `${outline.trace.name} · spoor`
  }, [outline?.trace.name])
  useArrival(outline !== undefined)
  if (outline === undefined || gone !== undefined) {
    return (
      <div class="narrow">
        <h1 tabIndex={-1}>Trace</h1>
        {error === undefined && gone === undefined ? (
          <Waiting what="the trace" />
        ) : (
          <Problem error={gone ?? error} again={retry} />
        )}
        <p>
          <a href={pathOf({ page: 'traces', slug })}>Go to the traces</a>
        </p>
      </div>
    )
  }
  return <Opened key={traceId} slug={slug} outline={outline} refresh={refresh} />
}

interface OpenedProps {
  readonly slug: string
  readonly outline: Outline
  refresh(): Promise<void>
}

function Opened({ slug, outline, refresh }: OpenedProps) {
  const { search, state } = usePlace()
  const { zone, view: preferred } = useStore(preferences)
  const parameters = new URLSearchParams(search)
  const { trace, spans } = outline
  const isRunning = trace.status === 'running'
  const [now, setNow] = useState(Date.now())
  useInterval(isRunning ? RUNNING_MS : 0, () => {
    setNow(Date.now())
    void refresh()
  })

  const roots = useMemo(() => growTree(spans), [spans])
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set())
  const rows = useMemo(() => visibleRows(roots, folded), [roots, folded])
  const critical = useMemo(() => criticalPath(spans), [spans])
  const frame = useMemo(() => frameOf(trace, spans, now), [trace, spans, isRunning ? now : 0])
  const leftOut = describeLeftOut(trace.metadata)
  const first = useMemo(() => firstSpan(roots, trace.status === 'error') ?? TRACE_ROW, [roots])
  const asked = parameters.get('span')?.toLowerCase()
  const isKnown = asked === TRACE_ROW || asked?.startsWith('missing:') || spans.some(({ id }) => id === asked)
  const selected = asked !== undefined && isKnown ? asked : first
  const tab: Tab = TABS.find(each => each === parameters.get('tab')) ?? 'messages'
  const view =
    parameters.get('view') === 'log' || parameters.get('view') === 'tree' ? parameters.get('view')! : preferred

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
  const setView = (next: 'tree' | 'log') => {
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
    const order = visibleRows(roots, new Set()).map(({ key }) => key)
    const found = order.filter(key => hits.has(key))
    const at = order.indexOf(selected)
    const next = by === 1 ? found.find(key => order.indexOf(key) > at) : found.findLast(key => order.indexOf(key) < at)
    select(next ?? (by === 1 ? found[0]! : found.at(-1)!))
  }

  /** Annotations judge the trace, unless the dialog is opened from a span's panel. */
  const [annotating, setAnnotating] = useState<'trace' | 'span' | undefined>()
  const annotate = () => {
    if (may(slug, 'member')) setAnnotating('trace')
  }
  useEffect(() => {
    // Preloaded, because both parts are likely to be used soon.
    const timer = setTimeout(() => Promise.all([loadAnnotate(), loadLogView()]).catch(() => {}), 1500)
    return () => clearTimeout(timer)
  }, [])
  const { part: annotation } = usePart(loadAnnotate, annotating !== undefined)
  const log = usePart(loadLogView, view === 'log')
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
    m: () => change({ tab: undefined }),
    r: () => change({ tab: 'json' }),
    a: annotate,
    y: () => void copy(location.href, 'Link'),
    '[': () => setFolded(new Set(foldable(roots))),
    ']': () => setFolded(new Set()),
    Escape: () => go(`${pathOf({ page: 'traces', slug })}${list ?? ''}`, { returning: `t-${outline.trace.id}` })
  })
  const span = spans.find(({ id }) => id === selected)
  return (
    <div class="trace-page">
      <TraceHead
        slug={slug}
        outline={outline}
        selected={selected}
        list={list}
        zone={zone}
        now={isRunning ? now : Date.now()}
        neighbour={by => void neighbour(by)}
        annotate={annotate}
        changed={() => void refresh()}
      />
      <div class="panes">
        <section class="pane" aria-label="Spans of the trace">
          <div class="pane-bar">
            <strong>{formatCounted(spans.length, 'span')}</strong>
            {leftOut !== undefined && (
              <span
                class="soft left-out"
                title="The trace had more spans than it has places for. Their tokens, cost and failures count."
              >
                {asLine(leftOut, 200)}
              </span>
            )}
            <fieldset class="switch" aria-label="View">
              {(['tree', 'log'] as const).map(each => (
                <button key={each} type="button" aria-pressed={view === each} onClick={() => setView(each)}>
                  {each === 'tree' ? 'Tree' : 'Log'}
                </button>
              ))}
            </fieldset>
            <SearchBox
              slug={slug}
              outline={outline}
              text={text}
              setText={next => {
                setText(next)
                change({ q: next })
              }}
              found={(next, ms) => {
                setSearchMs(ms)
                setHits(next)
              }}
              next={nextHit}
            />
          </div>
          {view === 'log' && log.part === undefined ? (
            <Pending of={log} what="the log" />
          ) : view === 'log' && log.part !== undefined ? (
            <log.part.LogView
              slug={slug}
              outline={outline}
              selected={selected}
              hits={hits}
              zone={zone}
              select={select}
            />
          ) : (
            <TreeView
              outline={outline}
              rows={rows}
              selected={selected}
              hits={hits}
              critical={critical}
              frame={frame}
              select={select}
              fold={fold}
            />
          )}
        </section>
        <SpanPanel
          slug={slug}
          outline={outline}
          selected={selected}
          tab={tab}
          zone={zone}
          setTab={next => change({ tab: next === 'messages' ? undefined : next })}
          select={select}
          annotate={() => setAnnotating('span')}
          changed={() => void refresh()}
        />
      </div>
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
