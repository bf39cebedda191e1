/** The distribution of a score's values and sources. Each number links to the traces that it counts. */

import { type Axis, placesAxis } from '../charts/axis.ts'
import { StackChart } from '../charts/charts.tsx'
import { Figure } from '../charts/figure.tsx'
import { SHOWN_SOURCES, type Source } from '../charts/series.ts'
import type { ScoreOverTime } from '../contract.ts'
import { type ScorePageQuery, type ScorePicks, withPicks, withTable, writeScoreQuery } from '../state/score-query.ts'
import { formatCount, formatPercent, formatScore } from '../ui/format.ts'
import { numbers, Titles } from '../ui/table.tsx'
import { asLine } from '../ui/text.ts'

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
      setAsTable={asTable => change(withTable(query, asTable))}
      chart={StackChart}
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

interface Bar {
  readonly name: string
  readonly count: number
  /** Undefined for the bar that sums several values. */
  readonly picks: ScorePicks | undefined
}

const sum = (counts: readonly number[]) => counts.reduce((total, each) => total + each, 0)

/** Returns a numeric score's histogram, or any other score's values, most frequent first. */
function barsOf({ dataType, histogram, shares, other }: ScoreOverTime): Bar[] {
  if (dataType === 'numeric') {
    return histogram.map(({ from, to, count }) =>
      from === to
        ? { name: formatScore(from), count, picks: { value: String(from) } }
        : { name: `${formatScore(from)} – ${formatScore(to)}`, count, picks: { min: String(from), below: String(to) } }
    )
  }
  const values = Object.entries(shares).map(([value, counts]) => ({
    name: dataType === 'boolean' ? formatScore(value === 'true') : value,
    count: sum(counts),
    picks: { value }
  }))
  const rest = sum(other)
  return rest === 0 ? values : [...values, { name: 'other values', count: rest, picks: undefined }]
}

/** Builds the axis of a histogram. Each bar has its full name; ticks show where bars start. */
function histogramAxis(bars: readonly Bar[]): Axis {
  const names = bars.map(({ name }) => name)
  return { ...placesAxis(names.map(name => name.split(' – ')[0]!)), names }
}
