/** A project's scores: each over time, and for a single score its sources and the traces that it rates. */

import { useMemo } from 'preact/hooks'
import { timeAxis } from '../charts/axis.ts'
import { at, read } from '../state/api.ts'
import { useLoad } from '../state/load.ts'
import { goSearch, useArrival, usePlace } from '../state/place.ts'
import { preferences } from '../state/preferences.ts'
import { pathOf } from '../state/route.ts'
import { readScoreQuery, type ScorePageQuery, seriesQuery, withPicks, writeScoreQuery } from '../state/score-query.ts'
import { useStore } from '../state/store.ts'
import { formatCount } from '../ui/format.ts'
import { Problem, Waiting } from '../ui/problem.tsx'
import { offsetOf } from '../ui/time.ts'
import { DisagreementTable } from './disagreement.tsx'
import { Distribution, Sources } from './distribution.tsx'
import { ScoreBar } from './score-bar.tsx'
import { ScoreChart } from './score-chart.tsx'
import { ScoredTraces } from './scored-traces.tsx'

export function ScoresPage({ slug }: { slug: string }) {
  const query = readScoreQuery(usePlace().search)
  const { zone } = useStore(preferences)
  const path = at('p/:slug/score-series', { slug }, seriesQuery(query, offsetOf(zone)))
  const { value: series, error, again } = useLoad(path, signal => read(path, { signal }))
  const names = useLoad(`scores ${slug}`, signal => read(at('p/:slug/score-names', { slug }), { signal })).value
  const facets = useLoad(`facets ${slug}`, signal => read(at('p/:slug/facets', { slug }), { signal })).value
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
            <a class="button" href={`${base}${writeScoreQuery(withPicks({ ...query, name: '' }, {}))}`}>
              All scores
            </a>
          </div>
        )}
      </div>
      <ScoreBar query={query} names={names ?? []} facets={facets} zone={zone} change={change} />
      {error !== undefined && <Problem error={error} again={again} />}
      {series === undefined && error === undefined && <Waiting what="scores" />}
      {series !== undefined && series.newest !== null && (
        <p class="soft">Of this time the newest {formatCount(series.newest)} scores are counted.</p>
      )}
      {series !== undefined && series.names.length === 0 && (
        <p class="empty">
          No score was given in this time. Scores are given by the API, by evaluators, and by people: “Annotate” on the
          page of a trace.
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
