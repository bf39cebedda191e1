/** A project's overview: numbers over time, and grouped by model and by name. The page's URL holds the selection. */

import type { ComponentChildren } from 'preact'
import { hasSteps, stepsBetween, wholeOf } from '../charts/series.ts'
import type { Path, ProjectAnswer, SeriesAnswer } from '../contract.ts'
import { type ApiPath, at, read } from '../state/api.ts'
import { COUNTED_FILTERS, type ListQuery, narrowed, withTime, writeQuery } from '../state/list-query.ts'
import { type Loaded, useInterval, useLoad, useRead } from '../state/load.ts'
import { goSearch, useArrival, usePlace } from '../state/navigation.ts'
import { readOverview, readShown, toCounted, writeOverview } from '../state/overview-query.ts'
import { preferences } from '../state/preferences.ts'
import { pathOf } from '../state/route.ts'
import { useStore } from '../state/store.ts'
import { CHART_RANGES } from '../state/time-range.ts'
import { Button, ButtonLink } from '../ui/controls.tsx'
import { Moment } from '../ui/facts.tsx'
import { FilterBar } from '../ui/filter-bar.tsx'
import { formatBytes, formatCount, formatLimit, formatPercent } from '../ui/format.ts'
import { Pending } from '../ui/problem.tsx'
import { offsetName, offsetOf, type Zone, zoneName } from '../ui/time.ts'
import { ViewsMenu } from '../ui/views-menu.tsx'
import { GroupsTable } from './groups-table.tsx'
import { ScoreLines } from './score-lines.tsx'
import { TimeCharts } from './time-charts.tsx'

/** Refresh interval for numbers whose time range ends now. */
const RENEW_MS = 60_000

export function OverviewPage({ slug }: { slug: string }) {
  const { search } = usePlace()
  const { zone } = useStore(preferences)
  const query = readOverview(search)
  const tables = readShown(search)
  const list = pathOf({ page: 'traces', slug })
  const offset = String(offsetOf(zone))
  /** Loads numbers for the same traces as the rest of the page. */
  const useCounted = <P extends Path>(
    addressOf: (search: string) => ApiPath<P>,
    more: Readonly<Record<string, string>> = {},
    of: ListQuery = query
  ) =>
    useLoad(`${addressOf(writeOverview(of, []))} ${offset} ${JSON.stringify(more)}`, signal =>
      read(addressOf(toCounted(of, Date.now(), { offset, ...more })), { signal })
    )
  const seriesAt = (search: string) => at('p/:slug/series', { slug }, search)
  const series = useCounted(seriesAt, { compare: '1' })
  const models = useCounted(seriesAt, { by: 'model' })
  const names = useCounted(seriesAt, { by: 'name' })
  const counts = useCounted(search => at('p/:slug/facet-counts', { slug }, search))
  const { env } = query.filters
  const scores = useCounted(
    search => at('p/:slug/score-series', { slug }, search),
    {},
    { ...query, filters: env ? { env } : {} }
  )
  const facets = useRead(at('p/:slug/facets', { slug })).value
  useInterval(query.to === undefined ? RENEW_MS : 0, () => {
    for (const each of [series, models, names, scores]) each.again()
  })
  useArrival(series.value !== undefined || series.error !== undefined)

  const change = (next: ListQuery, replace = false) => goSearch(writeOverview(next, tables), { replace })
  const show = (name: string, on: boolean) => {
    const others = tables.filter(each => each !== name)
    goSearch(writeOverview(query, on ? [...others, name] : others), { replace: true })
  }
  const groupsBy = (by: 'model' | 'name', groups: typeof models) => {
    const table = { whole: tables.includes(`${by}s`), setWhole: (whole: boolean) => show(`${by}s`, whole) }
    return (
      <Shown of={groups} what={`the ${by}s`}>
        {answer => <GroupsTable by={by} answer={answer} query={query} list={list} {...table} />}
      </Shown>
    )
  }
  return (
    <div class="overview">
      <div class="head">
        <h1 tabIndex={-1}>Overview</h1>
        <div class="head-end">
          <ViewsMenu slug={slug} page="overview" search={writeOverview(query, tables)} />
        </div>
      </div>
      <FilterBar
        query={query}
        facets={facets}
        counts={counts.value}
        only={COUNTED_FILTERS}
        ranges={CHART_RANGES}
        change={change}
      />
      <Shown of={series} what="the numbers">
        {answer =>
          hasSteps(answer) && (
            <>
              <Coverage slug={slug} answer={answer} query={query} zone={zone} list={list} />
              {wholeOf(answer).total.traces === 0 ? (
                <Empty
                  query={query}
                  longest={() => change({ ...withTime(query, { range: '1y' }) })}
                  clear={() => change({ ...query, filters: {} })}
                  list={list}
                />
              ) : (
                <div class="charts">
                  <TimeCharts
                    answer={answer}
                    query={query}
                    zone={zone}
                    list={list}
                    tables={tables}
                    show={show}
                    zoom={time => change(withTime(query, time))}
                  />
                  <Shown of={scores} what="the scores">
                    {answer => (
                      <ScoreLines answer={answer} query={query} zone={zone} page={pathOf({ page: 'scores', slug })} />
                    )}
                  </Shown>
                  {groupsBy('model', models)}
                  {groupsBy('name', names)}
                </div>
              )}
            </>
          )
        }
      </Shown>
    </div>
  )
}

interface ShownProps<T> {
  readonly of: Loaded<T>
  readonly what: string
  children(value: T): ComponentChildren
}

/** Shows the response once it has arrived. If a refresh fails, the previous response stays visible beside the error. */
function Shown<T>({ of, what, children }: ShownProps<T>) {
  return (
    <>
      <Pending of={of} what={what} />
      {of.value !== undefined && children(of.value)}
    </>
  )
}

interface CoverageProps {
  readonly slug: string
  readonly answer: SeriesAnswer
  readonly query: ListQuery
  readonly zone: Zone
  readonly list: string
}

/** Shows which traces the numbers cover, since when traces are counted, the time zone, and the stored size. */
function Coverage({ slug, answer, query, zone, list }: CoverageProps) {
  const stored = useRead(at('p/:slug', { slug })).value
  const { running, countedFrom, step, offset, before, from } = answer
  const times = zone === 'utc' ? 'Times are UTC' : `Times are local, ${offsetName(new Date())}`
  return (
    <p class="overview-facts">
      <span>Traces that have ended, by when they started.</span>
      {running > 0 && (
        <a href={`${list}${writeQuery(narrowed(withTime(query, stepsBetween(answer)), { status: 'running' }))}`}>
          {formatCount(running)} running
        </a>
      )}
      {before !== null && (
        <span>
          {before.traces === 0 ? 'There is nothing of the period before.' : '± is against the period before.'}
        </span>
      )}
      <span>
        {step === 'day' && offset !== offsetOf(zone) ? `${times}; days are those of ${zoneName(offset)}.` : `${times}.`}
      </span>
      {countedFrom !== null && Date.parse(countedFrom) > Date.parse(from) && (
        <b title="What is older is still being counted">
          Counted back to <Moment iso={countedFrom} zone={zone} />
        </b>
      )}
      {stored !== undefined && <Storage project={stored} />}
    </p>
  )
}

function Storage({ project }: { project: ProjectAnswer }) {
  const { slug, estimatedBytes, storage } = project
  const { limitBytes, level } = storage
  const share = limitBytes === 0 ? 1 : estimatedBytes / limitBytes
  return (
    <a class={level === 'ok' ? 'stored' : 'stored is-error'} href={pathOf({ page: 'settings', slug, tab: 'project' })}>
      {formatBytes(estimatedBytes)} of {formatLimit(limitBytes)} stored ({formatPercent(share)})
      {level !== 'ok' && <b>: {level === 'critical' ? 'full' : 'nearly full'}</b>}
    </a>
  )
}

interface EmptyProps {
  readonly query: ListQuery
  readonly list: string
  longest(): void
  clear(): void
}

/** Shown if no trace matches, with links that widen the selection. */
function Empty({ query, list, longest, clear }: EmptyProps) {
  const isFiltered = Object.keys(query.filters).length > 0
  return (
    <div class="empty">
      <h2>No trace{isFiltered && ' like this'} ended in this time</h2>
      <p class="buttons">
        {query.range !== '1y' && <Button onClick={longest}>Show a year</Button>}
        {isFiltered && <Button onClick={clear}>Clear filters</Button>}
        <ButtonLink href={list}>Go to the traces</ButtonLink>
      </p>
    </div>
  )
}
