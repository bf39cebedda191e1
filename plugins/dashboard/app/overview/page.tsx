/** A project's overview: numbers over time, and grouped by model and by name. The page's URL holds the selection. */

import type { ComponentChildren } from 'preact'
import { hasSteps, stepsBetween, wholeOf } from '../charts/series.ts'
import type { Path, ProjectAnswer, SeriesAnswer, SplitAnswer } from '../contract.ts'
import { type ApiPath, at, read } from '../state/api.ts'
import { COUNTED_FILTERS, type ListQuery, narrowed, withTime, writeQuery } from '../state/list-query.ts'
import { type Loaded, useInterval, useLoad, useRead } from '../state/load.ts'
import { goSearch, useArrival, usePlace } from '../state/navigation.ts'
import { otherParameters } from '../state/other-parameters.ts'
import { readOverview, readShown, toCounted, writeOverview } from '../state/overview-query.ts'
import { preferences, presentTime } from '../state/preferences.ts'
import { pathOf, readParameters } from '../state/route.ts'
import { useStore } from '../state/store.ts'
import { COUNTED_RANGES, offsetOf } from '../state/time-range.ts'
import { ANY_TAG, fieldName, readSplitField, SPLIT_FIELDS, withParameters } from '../state/trace-group.ts'
import { Button, ButtonLink } from '../ui/controls.tsx'
import { Moment } from '../ui/facts.tsx'
import { FilterBar } from '../ui/filter-bar.tsx'
import { formatBytes, formatCount, formatLimit, formatPercent } from '../ui/format.ts'
import { IgnoredParameters } from '../ui/ignored-parameters.tsx'
import { Pending } from '../ui/problem.tsx'
import { SplitField } from '../ui/split-field.tsx'
import { timesIn, type Zone, zoneName } from '../ui/time.ts'
import { ViewsMenu } from '../ui/views-menu.tsx'
import { METRICS } from './changes.ts'
import { ChangesDialog } from './changes-dialog.tsx'
import { readRank } from './group-ranks.ts'
import { GroupsTable } from './groups-table.tsx'
import { ScoreLines } from './score-lines.tsx'
import { TimeCharts } from './time-charts.tsx'

/** The parameters that the page reads. */
const PARAMETERS = [...COUNTED_FILTERS, 'range', 'from', 'to', 'table', 'by', 'rank', 'of', 'at']
/** Parameters of a request that is not sent. */
const NOT_ASKED = {}
/** Refresh interval for numbers whose time range ends now. */
const RENEW_MS = 60_000

export function OverviewPage({ slug }: { slug: string }) {
  const { search } = usePlace()
  const { zone } = useStore(preferences)
  const query = readOverview(search)
  const tables = readShown(search)
  const list = pathOf({ page: 'traces', slug })
  /** Loads numbers for the same traces as the rest of the page. */
  const useCounted = <P extends Path>(
    pathOfSearch: (search: string) => ApiPath<P>,
    more: Readonly<Record<string, string>> = {},
    of: ListQuery = query
  ) =>
    useLoad(
      more === NOT_ASKED ? undefined : `${pathOfSearch(writeOverview(of, []))} ${zone} ${JSON.stringify(more)}`,
      signal => read(pathOfSearch(toCounted(of, presentTime(), more)), { signal })
    )
  const seriesAt = (search: string) => at('p/:slug/series', { slug }, search)
  const by = readSplitField(search)
  const series = useCounted(seriesAt, { compare: '1', exact: '1' })
  // Without a choice, the tables show the two fields by which traces usually differ.
  const [first, second] = by === undefined ? ['model', 'name'] : [by === ANY_TAG ? undefined : by, undefined]
  const firstGroups = useCounted(seriesAt, first === undefined ? NOT_ASKED : { by: first, compare: '1' })
  const secondGroups = useCounted(seriesAt, second === undefined ? NOT_ASKED : { by: second, compare: '1' })
  const counts = useCounted(search => at('p/:slug/facet-counts', { slug }, search))
  const { env } = query.filters
  const scores = useCounted(
    search => at('p/:slug/score-series', { slug }, search),
    { by: 'trace' },
    { ...query, filters: env ? { env } : {} }
  )
  const facets = useRead(at('p/:slug/facets', { slug })).value
  useInterval(query.to === undefined ? RENEW_MS : 0, () => {
    for (const each of [series, firstGroups, secondGroups, scores]) each.again()
  })
  useArrival(series.value !== undefined || series.error !== undefined)

  const rank = readRank(readParameters(search, ['rank']).rank)
  const addressOf = (next: ListQuery, shown = tables, split = by, sorted = rank) =>
    withParameters(writeOverview(next, shown), {
      ...(split !== undefined && { by: split }),
      ...(sorted !== undefined && { rank: sorted })
    })
  const own = addressOf(query)
  const change = (next: ListQuery, replace = false) => goSearch(addressOf(next), { replace })
  const show = (name: string, on: boolean) => {
    const others = tables.filter(each => each !== name)
    goSearch(addressOf(query, on ? [...others, name] : others), { replace: true })
  }
  const table = (groups: typeof firstGroups, field: string | undefined) =>
    field !== undefined && (
      <Shown of={groups} what={`the numbers by ${fieldName(field)}`}>
        {answer =>
          !hasSteps(answer) && (
            <GroupsTable
              answer={answer}
              query={query}
              list={list}
              comparing={pathOf({ page: 'groups', slug })}
              steps={pathOf({ page: 'steps', slug })}
              rank={rank}
              setRank={next => goSearch(addressOf(query, tables, by, next), { replace: true })}
              whole={tables.includes(`${field.replace(/[^a-z]/g, '-')}s`)}
              setWhole={whole => show(`${field.replace(/[^a-z]/g, '-')}s`, whole)}
            />
          )
        }
      </Shown>
    )
  const split = by !== undefined && firstGroups.value && !hasSteps(firstGroups.value) ? firstGroups.value : undefined
  return (
    <div class="overview">
      <div class="head">
        <h1 tabIndex={-1}>Overview</h1>
        <div class="head-end">
          <div class="filters split-choice">
            <SplitField
              {...{ slug, label: 'Split by', by: by ?? '', fields: SPLIT_FIELDS, none: 'nothing' }}
              set={next => goSearch(addressOf(query, tables, next || undefined))}
            />
            {by === ANY_TAG && <span class="soft small">Tags such as prompt:v2 have the key prompt.</span>}
          </div>
          <ViewsMenu slug={slug} page="overview" search={own} />
        </div>
      </div>
      <FilterBar
        query={query}
        facets={facets}
        counts={counts.value}
        only={COUNTED_FILTERS}
        ranges={COUNTED_RANGES}
        change={change}
      />
      <IgnoredParameters names={otherParameters(search, PARAMETERS)} />
      <Shown of={series} what="the numbers">
        {answer =>
          hasSteps(answer) && (
            <>
              <Coverage slug={slug} answer={answer} query={query} zone={zone} list={list} />
              {wholeOf(answer).total.traces === 0 ? (
                <Empty
                  slug={slug}
                  query={query}
                  longest={() => change({ ...withTime(query, { range: '1y' }) })}
                  clear={() => change({ ...query, filters: {} })}
                  list={list}
                />
              ) : (
                <div class="charts">
                  <TimeCharts
                    answer={answer}
                    split={split?.missing === null ? split : undefined}
                    query={query}
                    zone={zone}
                    list={list}
                    tables={tables}
                    show={show}
                    zoom={time => change(withTime(query, time))}
                    explain={(of, at) => `${pathOf({ page: 'overview', slug })}${withParameters(own, { of, at })}`}
                  />
                  <Shown of={scores} what="the scores">
                    {answer => (
                      <ScoreLines answer={answer} query={query} zone={zone} page={pathOf({ page: 'scores', slug })} />
                    )}
                  </Shown>
                  {table(firstGroups, first)}
                  {table(secondGroups, second)}
                </div>
              )}
              <Explained
                {...{ slug, search, query, by, zone, list }}
                answer={split ?? answer}
                close={() => goSearch(own)}
              />
            </>
          )
        }
      </Shown>
    </div>
  )
}

interface ExplainedProps {
  readonly slug: string
  readonly search: string
  readonly answer: SeriesAnswer | SplitAnswer
  readonly query: ListQuery
  readonly by: string | undefined
  readonly zone: Zone
  readonly list: string
  close(): void
}

/** Shows the dialog that explains a chart's step, if the address names the step. */
function Explained({ search, answer, close, ...rest }: ExplainedProps) {
  const { of, at } = readParameters(search, ['of', 'at'])
  const metric = METRICS.find(each => each === of)
  const step = at === undefined ? -1 : answer.starts.indexOf(at)
  if (metric === undefined || step < 0) return null
  return <ChangesDialog {...rest} answer={answer} metric={metric} step={step} onClose={close} />
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
  const times = timesIn(zone)
  return (
    <p class="overview-facts">
      <span>Completed traces, by start time.</span>
      {running > 0 && (
        <a href={`${list}${writeQuery(narrowed(withTime(query, stepsBetween(answer)), { status: 'running' }))}`}>
          {formatCount(running)} running
        </a>
      )}
      {before !== null && (
        <span>{before.traces === 0 ? 'No earlier data to compare.' : '± vs. the previous period.'}</span>
      )}
      <span>
        {step === 'day' && offset !== offsetOf(zone) ? `${times}; days are in ${zoneName(offset)}.` : `${times}.`}
      </span>
      {countedFrom !== null && Date.parse(countedFrom) > Date.parse(from) && (
        <b title="Older traces are still being counted">
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
  readonly slug: string
  readonly query: ListQuery
  readonly list: string
  longest(): void
  clear(): void
}

/** Shown if no trace matches: links that widen the selection and, if the project is empty, how to begin. */
function Empty({ slug, query, list, longest, clear }: EmptyProps) {
  const isFiltered = Object.keys(query.filters).length > 0
  const newest = useRead(at('p/:slug/traces', { slug }, new URLSearchParams({ limit: '1' }))).value
  if (newest !== undefined && newest.traces.length === 0) {
    return (
      <div class="empty">
        <h2>No traces yet</h2>
        <p>This page shows how many traces there are, how many fail, how long they take and what they cost.</p>
        <p class="buttons">
          <ButtonLink href={list}>Record your first trace</ButtonLink>
          <ButtonLink href={pathOf({ page: 'settings', slug, tab: 'keys' })}>Create a key</ButtonLink>
        </p>
      </div>
    )
  }
  return (
    <div class="empty">
      <h2>{isFiltered ? 'No traces match these filters in this period' : 'No traces ended in this period'}</h2>
      <p class="buttons">
        {query.range !== '1y' && <Button onClick={longest}>Show the last year</Button>}
        {isFiltered && <Button onClick={clear}>Clear filters</Button>}
        <ButtonLink href={list}>Go to traces</ButtonLink>
      </p>
    </div>
  )
}
