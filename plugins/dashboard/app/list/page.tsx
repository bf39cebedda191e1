/** The trace list. The page's URL holds filters, sort order and page; the visitor's preferences hold the columns. */

import { useMemo, useState } from 'preact/hooks'
import type { TracePage } from '../contract.ts'
import { at } from '../state/api.ts'
import { useKeys } from '../state/keys.ts'
import { styled, usePart } from '../state/lazy-part.ts'
import { keepPage, knownPage, loadPage } from '../state/list-pages.ts'
import {
  countFilters,
  firstPage,
  isCounted,
  keptFromRanking,
  type ListQuery,
  readQuery,
  withSort,
  writeQuery
} from '../state/list-query.ts'
import { useLoad, useRead } from '../state/load.ts'
import { goSearch, serverAddress, useArrival, usePlace } from '../state/navigation.ts'
import { prefer, preferences } from '../state/preferences.ts'
import { pathOf } from '../state/route.ts'
import { projectOf } from '../state/session.ts'
import { useStore } from '../state/store.ts'
import { copy } from '../state/toasts.ts'
import { Button, ButtonLink, Icon } from '../ui/controls.tsx'
import { FilterBar } from '../ui/filter-bar.tsx'
import { formatCounted } from '../ui/format.ts'
import { Menu } from '../ui/menu.tsx'
import { Pending } from '../ui/problem.tsx'
import { offsetOf, shortTime, type Zone } from '../ui/time.ts'
import { chooseColumns, DEFAULT_COLUMNS } from './columns.ts'
import { curlOfFirstTrace, otlpVariables } from './first-trace.ts'
import { useLive } from './live.ts'
import { Selection, useSelection } from './selection-bar.tsx'
import { SortMenuItems, TraceTable } from './trace-table.tsx'

// Traces are rendered without waiting for these modules.
const loadCounts = () => import('./facet-counts.ts')
const loadSparkline = () => styled(import('./sparkline.tsx'))
const loadViewsMenu = () => import('../ui/views-menu.tsx')
const loadColumnsDialog = () => import('./columns-dialog.tsx')

export function ListPage({ slug }: { slug: string }) {
  const { search } = usePlace()
  const query = readQuery(search)
  const { zone, columns: chosen } = useStore(preferences)
  const base = pathOf({ page: 'traces', slug })
  const loaded = useLoad(
    `${slug} ${search}`,
    async signal => {
      const answer = await loadPage(slug, query, signal)
      keepPage(slug, search, answer)
      return answer
    },
    () => knownPage(slug, search)
  )
  const page = loaded.value
  const facets = useRead(at('p/:slug/facets', { slug })).value
  const scoreNames = useRead(at('p/:slug/score-names', { slug })).value
  const isLoaded = page !== undefined
  const counted = isCounted(query)
  const { part: facetCounts } = usePart(loadCounts, isLoaded)
  const { part: sparkline } = usePart(loadSparkline, isLoaded)
  const { part: viewsMenu } = usePart(loadViewsMenu, isLoaded)
  const offset = String(offsetOf(zone))
  const counts = useLoad(
    facetCounts && counted ? `counts ${slug} ${offset} ${writeQuery({ ...firstPage(query), cols: [] })}` : undefined,
    signal => facetCounts!.readCounts(slug, query, offset, signal)
  ).value
  const live = useLive(slug, search, query, page)
  const traces = live.traces
  const [dialog, setDialog] = useState(false)
  const { part: columnsDialog } = usePart(loadColumnsDialog, dialog)
  const selection = useSelection(traces)
  useArrival(isLoaded)

  const names = query.cols ?? chosen[slug] ?? DEFAULT_COLUMNS
  const columns = chooseColumns(names)
  const change = (next: ListQuery) => goSearch(writeQuery(next))
  const sort = (by: ListQuery['sort']) => change(withSort(query, by))
  const choose = (next: readonly string[]) => {
    prefer({ columns: { ...preferences.get().columns, [slug]: next } })
    if (query.cols !== undefined) goSearch(writeQuery({ ...query, cols: next }), { replace: true })
  }
  useKeys({
    j: () => moveRow(1),
    k: () => moveRow(-1),
    x: event => {
      const id = currentRow()
      if (id !== undefined) selection.select(id, event.shiftKey)
    },
    X: () => {
      const id = currentRow()
      if (id !== undefined) selection.select(id, true)
    },
    Escape: () => selection.clear()
  })

  const context = {
    slug,
    query,
    zone,
    now: new Date(),
    base,
    search,
    longestMs: Math.max(0, ...traces.map(({ durationMs }) => durationMs ?? 0))
  }
  // Memoised, so that new filter counts do not re-render fifty rows.
  const table = useMemo(
    () =>
      traces.length > 0 && (
        <TraceTable
          traces={traces}
          columns={columns}
          context={context}
          excerpts={live.excerpts}
          selected={selection.ids}
          fresh={live.fresh}
          query={query}
          select={selection.select}
          selectAll={selection.all}
          sort={sort}
        />
      ),
    [traces, names.join(), zone, base, search, selection.ids, live.fresh]
  )
  const isFirst = query.after === undefined && query.before === undefined
  // A page of search results may be empty while older traces remain to be searched.
  const isEmpty = page !== undefined && traces.length === 0 && page.nextCursor === null
  return (
    <div class="list-page">
      <div class="head">
        <h1 tabIndex={-1}>Traces</h1>
        <div class="head-end">
          {isFirst && query.sort === 'newest' && (
            <button type="button" class={`live ${live.on ? 'is-on' : ''}`} aria-pressed={live.on} onClick={live.toggle}>
              <Icon name="live" /> Live
            </button>
          )}
          {viewsMenu === undefined ? (
            <button type="button" class="plain" disabled>
              Views <Icon name="down" />
            </button>
          ) : (
            <viewsMenu.ViewsMenu slug={slug} page="traces" search={writeQuery({ ...firstPage(query), cols: names })} />
          )}
          <Menu end down label="Sort" items={SortMenuItems(query, sort, keptFromRanking(query))} />
          <button type="button" class="plain" onClick={() => setDialog(true)}>
            Columns
          </button>
        </div>
      </div>
      <FilterBar
        query={query}
        facets={facets}
        counts={counts}
        settings={projectOf(slug)?.search ? undefined : pathOf({ page: 'settings', slug, tab: 'project' })}
        change={change}
      />
      {counted && (
        <div class="spark">
          {sparkline !== undefined && (
            <sparkline.Sparkline slug={slug} query={query} zone={zone} base={base} change={change} />
          )}
        </div>
      )}
      <Pending of={loaded} what="traces" />
      {isEmpty &&
        (countFilters(query) === 0 && isFirst && query.sort === 'newest' ? (
          <NoTraces slug={slug} keys={pathOf({ page: 'settings', slug, tab: 'keys' })} />
        ) : (
          <NoneLeft clear={() => change({ filters: {}, sort: 'newest' })} />
        ))}
      {page?.search !== undefined && <p class="soft">{howFar(page.search, zone)}</p>}
      {live.waiting > 0 && (
        <button type="button" class="arrived" onClick={live.show}>
          {live.waiting} new
        </button>
      )}
      {table}
      {page !== undefined && !isEmpty && (
        <nav class="pager" aria-label="Pages of the list">
          <span class="soft" role="status">
            {formatCounted(traces.length, 'trace')} on this page
          </span>
          <PageLink label="Newest" to={isFirst ? undefined : firstPage(query)} base={base} />
          <PageLink
            label={query.sort === 'newest' ? '← newer' : '← before'}
            to={page.prevCursor === null || isFirst ? undefined : { ...firstPage(query), before: page.prevCursor }}
            base={base}
          />
          <PageLink
            label={query.sort === 'newest' ? 'older →' : 'next →'}
            to={page.nextCursor === null ? undefined : { ...firstPage(query), after: page.nextCursor }}
            base={base}
          />
        </nav>
      )}
      <Selection slug={slug} traces={traces} selection={selection} changed={loaded.again} />
      {dialog && columnsDialog !== undefined && (
        <columnsDialog.ColumnsDialog
          chosen={columns.map(({ name }) => name)}
          scores={(scoreNames ?? []).map(({ name }) => name)}
          choose={choose}
          onClose={() => setDialog(false)}
        />
      )}
    </div>
  )
}

/** Minimum number of unindexed traces for which a notice is shown. Fewer traces take only a second or two to index. */
const MANY_WAITING = 1000

function howFar(
  { reached, backTo, isFilled, waiting, partlyIndexed }: NonNullable<TracePage['search']>,
  zone: Zone
): string {
  const day = (iso: string) => shortTime(iso, zone, new Date())
  return [
    reached !== null && `Searched back to ${day(reached)}; older ones are on the next page.`,
    waiting >= MANY_WAITING && 'So much is being recorded that the newest traces are not found yet.',
    !isFilled && `${backTo === null ? 'Earlier traces' : `Traces before ${day(backTo)}`} are still being indexed.`,
    partlyIndexed > 0 &&
      `Errors, tool calls and metadata of ${formatCounted(partlyIndexed, 'trace')} are still being indexed.`
  ]
    .filter(Boolean)
    .join(' ')
}

function PageLink({ label, to, base }: { label: string; to: ListQuery | undefined; base: string }) {
  if (to === undefined) return null
  return <ButtonLink href={`${base}${writeQuery(to)}`}>{label}</ButtonLink>
}

function currentRow(): string | undefined {
  const link = document.activeElement?.closest('tr')?.querySelector<HTMLElement>('a.open')
  return link?.id.slice(2)
}

function moveRow(by: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>('.traces a.open')]
  const at = links.findIndex(link => link.closest('tr')?.contains(document.activeElement))
  const next = links[at === -1 ? (by === 1 ? 0 : links.length - 1) : at + by]
  next?.focus()
  next?.closest('tr')?.scrollIntoView({ block: 'nearest' })
}

/** Shown for an empty list: how to record a first trace, or why the list is empty. */
function NoTraces({ slug, keys }: { slug: string; keys: string }) {
  const address = serverAddress()
  return (
    <div class="empty">
      <h2>No trace yet</h2>
      <p>
        Record one with a key of this project (<a href={keys}>make one here</a>). It appears by itself.
      </p>
      <Code text={curlOfFirstTrace(address, new Date())} />
      <p>Applications that send OpenTelemetry need no code for it, only where and with which key:</p>
      <Code text={otlpVariables(address)} />
      <p>
        The <a href="../docs">guide</a> has more, for TypeScript, Python and others. Where the server runs,{' '}
        <code>spoor demo --project {slug}</code> records examples.
      </p>
    </div>
  )
}

function Code({ text }: { text: string }) {
  return (
    <div class="code">
      <Button onClick={() => copy(text, 'Command')}>
        <Icon name="copy" /> Copy
      </Button>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard. */}
      <pre tabIndex={0}>{text}</pre>
    </div>
  )
}

function NoneLeft({ clear }: { clear(): void }) {
  return (
    <div class="empty">
      <h2>No traces match</h2>
      <p>
        <Button onClick={clear}>Clear filters</Button>
      </p>
    </div>
  )
}
