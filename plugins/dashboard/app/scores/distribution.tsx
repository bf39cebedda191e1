/** The distribution of a score's values and sources. Each number links to the traces that it counts. */

import { BarChart } from '../charts/charts.tsx'
import { Figure } from '../charts/figure.tsx'
import { SHOWN_SOURCES, type Source } from '../charts/score-series.ts'
import type { ScoreOverTime } from '../contract.ts'
import { type ScorePageQuery, withPicks, writeScoreQuery } from '../state/score-query.ts'
import { formatCount, formatPercent } from '../ui/format.ts'
import { numbers, Titles } from '../ui/table.tsx'
import { asLine } from '../ui/text.ts'
import { barsOf, histogramAxis } from './score-bars.ts'

interface Props {
  readonly score: ScoreOverTime
  readonly query: ScorePageQuery
  readonly base: string
  change(query: ScorePageQuery): void
}

export function Distribution({ score, query, base, change }: Props) {
  const bars = barsOf(score)
  const hrefOf = (picks: (typeof bars)[number]['picks']) => `${base}${writeScoreQuery(withPicks(query, picks ?? {}))}`
  if (score.dataType !== 'numeric') {
    const rows = bars.map(({ name, count, picks }) => ({ name, count, href: picks && hrefOf(picks) }))
    return <Shares title="Values" first="Value" rows={rows} />
  }
  return (
    <Figure
      title="Values"
      asTable={query.table !== undefined}
      setAsTable={asTable => {
        const { table: _, ...rest } = query
        change(asTable ? { ...rest, table: '1' } : rest)
      }}
      chart={BarChart}
      places="Values"
      of={{
        title: `${score.name}: how often each value was given`,
        axis: histogramAxis(bars),
        series: [{ name: 'scores', values: bars.map(({ count }) => count), tone: 3 }],
        unit: 'count',
        format: formatCount,
        href: at => hrefOf(bars[at]?.picks)
      }}
    />
  )
}

export function Sources({ score, query, base }: Omit<Props, 'change'>) {
  const rows = (Object.keys(SHOWN_SOURCES) as Source[])
    .filter(source => score.sources[source] > 0)
    .map(source => ({
      name: SHOWN_SOURCES[source],
      count: score.sources[source],
      href: `${base}${writeScoreQuery(withPicks(query, { source }))}`
    }))
  return <Shares title="Given by" first="Source" rows={rows} />
}

interface Row {
  readonly name: string
  readonly count: number
  readonly href: string | undefined
}

function Shares({ title, first, rows }: { title: string; first: string; rows: readonly Row[] }) {
  const all = rows.reduce((sum, { count }) => sum + count, 0)
  return (
    <section class="figure">
      <header>
        <h2>{title}</h2>
      </header>
      <table class="shares">
        <thead>
          <Titles of={[first, ...numbers('Scores', 'Share')]} />
        </thead>
        <tbody>
          {rows.map(({ name, count, href }) => (
            <tr key={name}>
              <th scope="row">{href === undefined ? name : <a href={href}>{asLine(name, 60)}</a>}</th>
              <td class="number">{formatCount(count)}</td>
              <td class="number">
                <span class="meter" aria-hidden="true">
                  <span style={{ inlineSize: `${((count / all) * 100).toFixed(1)}%` }} />
                </span>{' '}
                {formatPercent(count / all)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
