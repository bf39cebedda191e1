/** Traces that have the score, newest score first. With a selected bar, only its traces. */
import { useLayoutEffect, useRef } from 'preact/hooks'
import { SHOWN_SOURCES } from '../charts/score-series.ts'
import { at, read } from '../state/api.ts'
import { useLoad } from '../state/load.ts'
import { hasPicks, type ScorePageQuery, scoredQuery, withPicks, writeScoreQuery } from '../state/score-query.ts'
import { Moment } from '../ui/facts.tsx'
import { formatScore } from '../ui/format.ts'
import { Problem, Waiting } from '../ui/problem.tsx'
import { asLine } from '../ui/text.ts'
import { offsetOf, type Zone } from '../ui/time.ts'
import { TraceRowList } from '../ui/trace-rows.tsx'

interface Props {
  readonly slug: string
  readonly query: ScorePageQuery
  readonly base: string
  readonly zone: Zone
}

function pickedWords({ value, min, below, source }: ScorePageQuery): string {
  const words = [
    ...(value === undefined ? [] : [`of the value ${asLine(value, 60)}`]),
    ...(min === undefined ? [] : [`from ${min}`]),
    ...(below === undefined ? [] : [`below ${below}`]),
    ...(source === undefined ? [] : [`given by ${SHOWN_SOURCES[source as keyof typeof SHOWN_SOURCES] ?? source}`])
  ]
  return words.join(', ')
}

export function ScoredTraces({ slug, query, base, zone }: Props) {
  const path = at('p/:slug/scored-traces', { slug }, scoredQuery(query, offsetOf(zone)))
  const { value, error, again } = useLoad(path, signal => read(path, { signal }))
  const heading = useRef<HTMLHeadingElement>(null)
  const isPicked = hasPicks(query)
  useLayoutEffect(() => {
    // After selecting a bar, the visitor wants to see its traces.
    if (isPicked) heading.current?.scrollIntoView({ block: 'start' })
  }, [path])
  const now = new Date()
  const traces = new Map(value?.traces.map(trace => [trace.id, trace]))
  const rows = (value?.scores ?? []).flatMap(score => {
    const trace = traces.get(score.traceId)
    if (trace === undefined) return []
    const cells = [
      <span class="score" title={score.comment ?? undefined}>
        {asLine(formatScore(score.value), 40)}
      </span>,
      SHOWN_SOURCES[score.source],
      <Moment iso={score.createdAt} zone={zone} now={now} />
    ]
    return [{ key: score.id, trace, cells }]
  })
  return (
    <section class="figure is-wide" aria-labelledby="scored">
      <header>
        <h2 id="scored" ref={heading}>
          Scores {isPicked ? pickedWords(query) : 'and their traces'}
        </h2>
        {isPicked && <a href={`${base}${writeScoreQuery(withPicks(query, {}))}`}>All values</a>}
      </header>
      {error !== undefined && <Problem error={error} again={again} />}
      {value === undefined && error === undefined && <Waiting what="scores" />}
      {value !== undefined && rows.length === 0 && (
        <p class="soft">
          {value.nextCursor === null
            ? 'There is no such score in this time.'
            : 'None among those that were looked at; older ones may be.'}
        </p>
      )}
      {rows.length > 0 && (
        <TraceRowList slug={slug} label="Scored traces" titles={['Score', 'By', 'Given']} rows={rows} zone={zone} />
      )}
      {value !== undefined && (value.nextCursor !== null || query.after !== undefined) && (
        <nav class="pager" aria-label="Pages of the list">
          <span />
          {query.after !== undefined && (
            <a class="button" href={`${base}${writeScoreQuery({ ...query, after: '' })}`}>
              Newest
            </a>
          )}
          {value.nextCursor !== null && (
            <a class="button" href={`${base}${writeScoreQuery({ ...query, after: value.nextCursor })}`}>
              older →
            </a>
          )}
        </nav>
      )}
    </section>
  )
}
