/** Tables of traces: traces that have the score, and traces for which two sources gave different values. */

import { useLayoutEffect, useRef } from 'preact/hooks'
import { SHOWN_SOURCES } from '../charts/series.ts'
import type { Answer } from '../contract.ts'
import { at } from '../state/api.ts'
import { useRead } from '../state/load.ts'
import {
  disagreementQuery,
  hasPicks,
  type ScorePageQuery,
  scoredQuery,
  withPicks,
  writeScoreQuery
} from '../state/score-query.ts'
import { offsetOf } from '../state/time-range.ts'
import { ButtonLink } from '../ui/controls.tsx'
import { Moment } from '../ui/facts.tsx'
import { formatCount, formatPercent, formatScore, NONE } from '../ui/format.ts'
import { Pending } from '../ui/problem.tsx'
import { numbers, Titles } from '../ui/table.tsx'
import { asLine } from '../ui/text.ts'
import type { Zone } from '../ui/time.ts'
import { TraceRowList } from '../ui/trace-rows.tsx'

interface Props {
  readonly slug: string
  readonly query: ScorePageQuery
  readonly base: string
  readonly zone: Zone
}

function pickedWords({ value, min, below, source }: ScorePageQuery): string {
  const words = [
    ...(value === undefined ? [] : [`with the value ${asLine(value, 60)}`]),
    ...(min === undefined ? [] : [`from ${min}`]),
    ...(below === undefined ? [] : [`below ${below}`]),
    ...(source === undefined ? [] : [`given by ${SHOWN_SOURCES[source as keyof typeof SHOWN_SOURCES] ?? source}`])
  ]
  return words.join(', ')
}

export function ScoredTraces({ slug, query, base, zone }: Props) {
  const path = at('p/:slug/scored-traces', { slug }, scoredQuery(query, offsetOf(zone)))
  const loaded = useRead(path)
  const { value } = loaded
  const heading = useRef<HTMLHeadingElement>(null)
  const isPicked = hasPicks(query)
  useLayoutEffect(() => {
    // After selecting a bar, the visitor expects to see the bar's traces.
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
      <Pending of={loaded} what="scores" />
      {value !== undefined && rows.length === 0 && (
        <p class="soft">
          {value.nextCursor === null
            ? 'No scores match in this period.'
            : 'No match among the scores examined; older scores may match.'}
        </p>
      )}
      {rows.length > 0 && (
        <TraceRowList slug={slug} label="Scored traces" titles={['Score', 'By', 'Given']} rows={rows} zone={zone} />
      )}
      {value !== undefined && (value.nextCursor !== null || query.after !== undefined) && (
        <nav class="pager" aria-label="Pages of the list">
          <span />
          {query.after !== undefined && (
            <ButtonLink href={`${base}${writeScoreQuery({ ...query, after: '' })}`}>Newest</ButtonLink>
          )}
          {value.nextCursor !== null && (
            <ButtonLink href={`${base}${writeScoreQuery({ ...query, after: value.nextCursor })}`}>Older →</ButtonLink>
          )}
        </nav>
      )}
    </section>
  )
}

/** Lists traces for which two sources gave different values of the same score. */
export function DisagreementTable({ slug, query, zone }: { slug: string; query: ScorePageQuery; zone: Zone }) {
  const loaded = useRead(at('p/:slug/score-disagreement', { slug }, disagreementQuery(query, offsetOf(zone))))
  const { value } = loaded
  return (
    <section class="figure is-wide" aria-labelledby="disagreement">
      <header>
        <h2 id="disagreement">Where sources disagree</h2>
      </header>
      <Pending of={loaded} what="disagreements" />
      {value !== undefined &&
        (value.pairs.length === 0 ? (
          <p class="soft">No trace has this score from two sources.</p>
        ) : (
          <Pairs slug={slug} answer={value} zone={zone} />
        ))}
    </section>
  )
}

function Pairs({
  slug,
  answer,
  zone
}: {
  slug: string
  answer: Answer<'GET', 'p/:slug/score-disagreement'>
  zone: Zone
}) {
  const { pairs, differences } = answer
  const traces = new Map(answer.traces.map(trace => [trace.id, trace]))
  const hasNumbers = pairs.some(({ dataType }) => dataType === 'numeric')
  const rows = differences.flatMap(({ traceId, spanId, values }, i) => {
    const trace = traces.get(traceId)
    if (trace === undefined) return []
    const given = Object.entries(values).map(([source, value]) => (
      <span key={source} class="score">
        <span class="soft">{SHOWN_SOURCES[source as keyof typeof SHOWN_SOURCES]}</span> {asLine(formatScore(value), 24)}
      </span>
    ))
    return [
      {
        key: `d-${i}-${traceId}`,
        trace,
        cells: [<span class="scores">{given}</span>, spanId === null ? 'trace' : 'step']
      }
    ]
  })
  return (
    <>
      <table class="shares">
        <thead>
          <Titles of={['Sources', ...numbers('Both', 'Differ', ...(hasNumbers ? ['Mean difference'] : []))]} />
        </thead>
        <tbody>
          {pairs.map(({ a, b, dataType, both, differing, meanDistance, meanDifference }) => (
            <tr key={`${a} ${b} ${dataType}`}>
              <th scope="row">
                {SHOWN_SOURCES[a]} and {SHOWN_SOURCES[b]}
              </th>
              <td class="number">{formatCount(both)}</td>
              <td class="number">
                {formatCount(differing)} ({formatPercent(differing / both)})
              </td>
              {hasNumbers && (
                <td class="number">
                  {meanDistance === null || meanDifference === null ? (
                    NONE
                  ) : (
                    <span
                      title={`${SHOWN_SOURCES[b]} minus ${SHOWN_SOURCES[a]}: ${formatScore(meanDifference)} on average`}
                    >
                      {formatScore(meanDistance)}
                    </span>
                  )}
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > 0 && (
        <TraceRowList
          slug={slug}
          label="Traces whose scores differ"
          titles={['Scores', 'Of']}
          rows={rows}
          zone={zone}
        />
      )}
    </>
  )
}
