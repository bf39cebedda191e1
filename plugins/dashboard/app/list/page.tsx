/** The trace list. The page's URL holds filters, sort order and page; the visitor's preferences hold the columns. */

import { useMemo, useState } from 'preact/hooks'
import { at, read } from '../state/api.ts'
import { useKeys } from '../state/keys.ts'
import { styled, useDialogPart, usePart } from '../state/lazy-part.ts'
import { forgetPages, keepPage, knownPage, loadPage } from '../state/list-pages.ts'
import {
  firstPage,
  ignoredParameters,
  isCounted,
  type ListQuery,
  readQuery,
  toServer,
  withSort,
  writeQuery
} from '../state/list-query.ts'
import { useLoad, useRead } from '../state/load.ts'
import { goSearch, useArrival, usePlace } from '../state/navigation.ts'
import { prefer, preferences, presentTime } from '../state/preferences.ts'
import { pathOf } from '../state/route.ts'
import { may, projectOf } from '../state/session.ts'
import { useStore } from '../state/store.ts'
import { offsetOf } from '../state/time-range.ts'
import { ButtonLink, Icon } from '../ui/controls.tsx'
import { formatCount, formatCounted } from '../ui/format.ts'
import { IgnoredParameters } from '../ui/ignored-parameters.tsx'
import { Menu } from '../ui/menu.tsx'
import { Pending } from '../ui/problem.tsx'
import type { MatchAction } from './all-matches-dialog.tsx'
import { COMPACT, chooseColumns, DEFAULT_COLUMNS, MOST_METADATA, metadataOfColumn } from './columns.ts'
import { FilterBox } from './filter-box.tsx'
import { useLive } from './live.ts'
import { useSelection } from './selection.ts'
import { SortMenuItems, TraceTable } from './trace-table.tsx'

// Traces are rendered without waiting for these modules.
const loadSparkline = () => styled(import('./sparkline.tsx'))
const loadViewsMenu = () => import('../ui/views-menu.tsx')
const loadColumnsDialog = () => import('./columns-dialog.tsx')
const loadSelectionBar = () => import('./selection-bar.tsx')
const loadNoTraces = () => import('./no-traces.tsx')
const loadNoMatches = () => import('../ui/no-matches.tsx')
const loadNotes = () => import('./list-notes.tsx')
const loadAllMatches = () => import('./all-matches-dialog.tsx')

export function ListPage({ slug }: { slug: string }) {
  const { search } = usePlace()
  const query = readQuery(search)
  const ignored = ignoredParameters(search)
  const { zone, columns: chosen, keys } = useStore(preferences)
  const base = pathOf({ page: 'traces', slug })
  const offset = offsetOf(zone)
  const names = query.cols ?? chosen[slug] ?? DEFAULT_COLUMNS
  const columns = chooseColumns(names)
  const metadata = columns.flatMap(({ name }) => metadataOfColumn(name) ?? []).slice(0, MOST_METADATA)
  const loaded = useLoad(
    `${slug} ${offset} ${search} ${metadata}`,
    async signal => {
      const answer = await loadPage(slug, query, signal, metadata)
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
  const { part: sparkline } = usePart(loadSparkline, isLoaded)
  const { part: viewsMenu } = usePart(loadViewsMenu, isLoaded)
  const whole = { ...firstPage(query), cols: [] }
  const isWhole = page !== undefined && page.nextCursor === null && page.prevCursor === null
  const counting = useLoad(isLoaded && !isWhole ? `total ${slug} ${offset} ${writeQuery(whole)}` : undefined, signal =>
    read(at('p/:slug/trace-count', { slug }, toServer(whole, presentTime())), { signal })
  )
  const total = counting.value
  const refresh = () => {
    loaded.again()
    counting.again()
  }
  const live = useLive(slug, search, query, page, metadata)
  const traces = live.traces
  const [dialog, setDialog] = useState(false)
  const columnsDialog = useDialogPart(loadColumnsDialog, dialog, () => setDialog(false))
  const [action, setAction] = useState<MatchAction | undefined>()
  const allMatches = useDialogPart(loadAllMatches, action !== undefined, () => setAction(undefined))
  const selection = useSelection(traces)
  const { part: selectionBar } = usePart(loadSelectionBar, selection.ids.size > 0)
  useArrival(isLoaded)

  const isCompact = names.includes(COMPACT)
  const change = (next: ListQuery) => goSearch(writeQuery(next))
  const sort = (by: ListQuery['sort']) => change(withSort(query, by))
  const choose = (next: readonly string[]) => {
    forgetPages()
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
    details: live.details,
    metadata: live.metadata,
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
          isCompact={isCompact}
          selected={selection.ids}
          fresh={live.fresh}
          query={query}
          select={selection.select}
          selectAll={selection.all}
          sort={sort}
        />
      ),
    [traces, names.join(), zone, base, search, selection.ids, live.fresh, live.details, live.metadata]
  )
  const isFirst = query.after === undefined && query.before === undefined
  // A page of search results may be empty while older traces remain to be searched.
  const isEmpty = page !== undefined && traces.length === 0 && page.nextCursor === null
  const isNew = isEmpty && facets?.names.length === 0
  const { part: noTraces } = usePart(loadNoTraces, isNew)
  const { part: noMatches } = usePart(loadNoMatches, isEmpty)
  const isPartial = page !== undefined && (page.reached !== null || page.index !== null || query.sort !== 'newest')
  const { part: notes } = usePart(loadNotes, isPartial)
  return (
    <div class="list-page">
      <div class="head">
        <h1 tabIndex={-1}>
          Traces
          {page !== undefined && (
            <span class="soft total">
              {isWhole ? formatCount(traces.length) : total && total.traces > 0 && countOf(total)}
            </span>
          )}
        </h1>
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
          <Menu end down label="Sort" items={SortMenuItems(query, sort)} />
          <button type="button" class="plain" onClick={() => setDialog(true)}>
            Columns
          </button>
          <Menu
            end
            name="All matches"
            label={<Icon name="more" />}
            items={[
              { label: 'Download all matches as CSV', act: () => setAction('csv') },
              { label: 'Download all matches as NDJSON', act: () => setAction('ndjson') },
              ...(may(slug, 'owner')
                ? (['line', { label: 'Delete all matches…', act: () => setAction('delete') }] as const)
                : [])
            ]}
          />
        </div>
      </div>
      <FilterBox
        slug={slug}
        query={query}
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
      <IgnoredParameters names={ignored} />
      <Pending of={loaded} what="traces" />
      {isEmpty &&
        facets !== undefined &&
        (isNew
          ? noTraces && <noTraces.NoTraces slug={slug} keys={pathOf({ page: 'settings', slug, tab: 'keys' })} />
          : noMatches && <noMatches.NoMatches what="traces" query={query} hint={page.hint} change={change} />)}
      {isPartial &&
        (notes ? (
          <notes.ListNotes {...{ slug, page, query, zone, base, refresh }} />
        ) : (
          query.sort !== 'newest' && <p class="far">&nbsp;</p>
        ))}
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
            {total && total.traces > traces.length && `, ${countOf(total)} in total`}
          </span>
          <PageLink label="First page" to={isFirst ? undefined : firstPage(query)} base={base} />
          <PageLink
            label={query.sort === 'newest' ? '← Newer' : '← Previous'}
            to={page.prevCursor === null || isFirst ? undefined : { ...firstPage(query), before: page.prevCursor }}
            base={base}
          />
          <PageLink
            label={query.sort === 'newest' ? 'Older →' : 'Next →'}
            to={page.nextCursor === null ? undefined : { ...firstPage(query), after: page.nextCursor }}
            base={base}
          />
        </nav>
      )}
      {keys && traces.length > 0 && (
        <p class="soft small key-hint">
          <kbd>j</kbd> <kbd>k</kbd> next and previous row · <kbd>Enter</kbd> open · <kbd>x</kbd> select
          {' · '}
          <kbd>?</kbd> all shortcuts
        </p>
      )}
      {selectionBar && (
        <selectionBar.Selection slug={slug} traces={traces} selection={selection} changed={loaded.again} />
      )}
      {columnsDialog !== undefined && (
        <columnsDialog.ColumnsDialog
          chosen={columns.map(({ name }) => name)}
          scores={(scoreNames ?? []).map(({ name }) => name)}
          isCompact={isCompact}
          slug={slug}
          choose={choose}
          onClose={() => setDialog(false)}
        />
      )}
      {action !== undefined && allMatches !== undefined && (
        <allMatches.AllMatchesDialog
          slug={slug}
          query={query}
          action={action}
          onClose={() => setAction(undefined)}
          changed={loaded.again}
        />
      )}
    </div>
  )
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

/** Formats a number of traces, which is counted up to a limit. */
const countOf = ({ traces, isMore }: { traces: number; isMore: boolean }): string =>
  `${formatCount(traces)}${isMore ? '+' : ''}`
