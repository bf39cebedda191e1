/** A project's scores over time. The page of a single score also shows its sources and the traces that it rates. */

import { useMemo } from 'preact/hooks'
import { timeAxis } from '../charts/axis.ts'
import type { Facets, ScoreName } from '../contract.ts'
import { at } from '../state/api.ts'
import { useRead } from '../state/load.ts'
import { goSearch, useArrival, usePlace } from '../state/navigation.ts'
import { preferences } from '../state/preferences.ts'
import { pathOf } from '../state/route.ts'
import {
  isByScore,
  readScoreQuery,
  type ScorePageQuery,
  seriesQuery,
  withChoice,
  withPicks,
  writeScoreQuery
} from '../state/score-query.ts'
import { useStore } from '../state/store.ts'
import { CHART_RANGES, DEFAULT_RANGE, offsetOf, rangeName } from '../state/time-range.ts'
import { ButtonLink } from '../ui/controls.tsx'
import { ChosenFilter } from '../ui/filter-bar.tsx'
import { formatCount } from '../ui/format.ts'
import { Menu } from '../ui/menu.tsx'
import { Pending } from '../ui/problem.tsx'
import { shortTime, type Zone } from '../ui/time.ts'
import { Distribution, Sources } from './distribution.tsx'
import { ScoreChart } from './score-chart.tsx'
import { DisagreementTable, ScoredTraces } from './score-tables.tsx'

export function ScoresPage({ slug }: { slug: string }) {
  const query = readScoreQuery(usePlace().search)
  const { zone } = useStore(preferences)
  const loaded = useRead(at('p/:slug/score-series', { slug }, seriesQuery(query, offsetOf(zone))))
  const series = loaded.value
  const names = useRead(at('p/:slug/score-names', { slug })).value
  const facets = useRead(at('p/:slug/facets', { slug })).value
  useArrival(series !== undefined)
  const base = pathOf({ page: 'scores', slug })
  const change = (next: ScorePageQuery) => goSearch(writeScoreQuery(next))
  const axis = useMemo(() => series && timeAxis(series, zone), [series, zone])
  return (
    <div class="list-page scores-page">
      <div class="head">
        <h1 tabIndex={-1}>{query.name === undefined ? 'Scores' : `Score ${query.name}`}</h1>
        {query.name !== undefined && (
          <div class="head-end">
            <ButtonLink href={`${base}${writeScoreQuery(withPicks({ ...query, name: '' }, {}))}`}>
              All scores
            </ButtonLink>
          </div>
        )}
      </div>
      <ScoreBar query={query} names={names ?? []} facets={facets} zone={zone} change={change} />
      <Pending of={loaded} what="scores" />
      <p class="soft">
        {isByScore(query)
          ? 'Each score is shown at the time it was added.'
          : 'Each score is shown at the time its trace started.'}
        {series !== undefined &&
          series.newest !== null &&
          ` Only the newest ${formatCount(series.newest)} scores in this period are counted.`}
      </p>
      {series !== undefined && series.names.length === 0 && (
        <p class="empty">
          {isByScore(query) ? 'No scores in this period.' : 'No traces that started in this period have scores. '}
          {!isByScore(query) && (
            <a href={`${base}${writeScoreQuery(withChoice(query, { by: 'score' }))}`}>
              Show scores added in this period.
            </a>
          )}{' '}
          Scores come from the API, from evaluators, and from people who choose “Annotate” on a trace’s page.
        </p>
      )}
      {series !== undefined && axis !== undefined && series.names.length > 0 && (
        <div class="figures">
          {series.names.map(score => {
            const { name, dataType } = score
            const key = `${name} ${dataType}`
            const own = { ...query, name }
            const chart = { score, series, axis, query, base, change }
            if (query.name === undefined) {
              return <ScoreChart key={key} {...chart} title={name} href={`${base}${writeScoreQuery(own)}`} />
            }
            return (
              <>
                <ScoreChart
                  key={key}
                  {...chart}
                  title={dataType === 'numeric' ? 'Mean over time' : 'Values over time'}
                  wide
                />
                <Distribution key={`distribution ${key}`} score={score} query={query} base={base} change={change} />
                <Sources key={`sources ${key}`} score={score} query={query} base={base} />
              </>
            )
          })}
          {query.name !== undefined && (
            <>
              {series.names.some(({ sources }) => Object.values(sources).filter(count => count > 0).length > 1) && (
                <DisagreementTable slug={slug} query={query} zone={zone} />
              )}
              <ScoredTraces slug={slug} query={query} base={base} zone={zone} />
            </>
          )}
        </div>
      )}
    </div>
  )
}

interface Props {
  readonly query: ScorePageQuery
  readonly names: readonly ScoreName[]
  readonly facets: Facets | undefined
  readonly zone: Zone
  change(query: ScorePageQuery): void
}

/** Selects the score, environment and time range of the page. */
function ScoreBar({ query, names, facets, zone, change }: Props) {
  const { range: _, from, to, ...rest } = withChoice(query, {})
  const now = new Date()
  const word = (iso: string | undefined, other: string) => (iso === undefined ? other : shortTime(iso, zone, now))
  const isRange = from === undefined && to === undefined
  const range = query.range ?? DEFAULT_RANGE
  const { value: __, min: ___, below: ____, source: _____, ...wide } = { ...rest, ...(query.range && { range }) }
  const time = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
  return (
    <div class="filters">
      <search class="is-open" aria-label="Choose scores">
        <ChosenFilter
          label="Score"
          any="all"
          value={query.name}
          values={[query.name, ...names.map(({ name }) => name)]}
          set={name => change({ ...wide, ...time, name })}
        />
        <ChosenFilter
          label="Environment"
          value={query.env}
          values={[query.env, ...(facets?.environments ?? [])]}
          set={env => change({ ...withChoice(query, { env }) })}
        />
        <label class={`filter ${isByScore(query) ? 'is-set' : ''}`}>
          <span>Time of</span>
          <select
            value={isByScore(query) ? 'score' : 'trace'}
            onChange={event => change(withChoice(query, { by: event.currentTarget.value === 'score' ? 'score' : '' }))}
          >
            <option value="trace">the trace</option>
            <option value="score">the score</option>
          </select>
        </label>
      </search>
      <Menu
        end
        class="time"
        down
        label={isRange ? rangeName(range) : `${word(from, 'the first')} – ${word(to, 'now')}`}
        items={CHART_RANGES.map(each => ({
          label: rangeName(each),
          checked: isRange && each === range,
          act: () => change({ ...rest, range: each })
        }))}
      />
    </div>
  )
}
