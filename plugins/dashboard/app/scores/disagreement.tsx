/** Lists traces for which two sources gave different values of the same score. */

import { SHOWN_SOURCES } from '../charts/score-series.ts'
import type { Answer } from '../contract.ts'
import { at, read } from '../state/api.ts'
import { useLoad } from '../state/load.ts'
import { disagreementQuery, type ScorePageQuery } from '../state/score-query.ts'
import { formatCount, formatPercent, formatScore, NONE } from '../ui/format.ts'
import { Problem, Waiting } from '../ui/problem.tsx'
import { numbers, Titles } from '../ui/table.tsx'
import { asLine } from '../ui/text.ts'
import { offsetOf, type Zone } from '../ui/time.ts'
import { TraceRowList } from '../ui/trace-rows.tsx'

export function DisagreementTable({ slug, query, zone }: { slug: string; query: ScorePageQuery; zone: Zone }) {
  const path = at('p/:slug/score-disagreement', { slug }, disagreementQuery(query, offsetOf(zone)))
  const { value, error, again } = useLoad(path, signal => read(path, { signal }))
  return (
    <section class="figure is-wide" aria-labelledby="disagreement">
      <header>
        <h2 id="disagreement">Where sources disagree</h2>
      </header>
      {error !== undefined && <Problem error={error} again={again} />}
      {value === undefined && error === undefined && <Waiting what="where sources disagree" />}
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
                      title={`${SHOWN_SOURCES[b]} less ${SHOWN_SOURCES[a]}: ${formatScore(meanDifference)} on average`}
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
