/** Scores over time, one row per name. */

import { useMemo } from 'preact/hooks'
import { timeAxis } from '../charts/axis.ts'
import { type ChartSeries, LineChart, StackChart, type Tone } from '../charts/charts.tsx'
import { stepsBetween } from '../charts/series.ts'
import type { ScoreOverTime, ScoreSeries } from '../contract.ts'
import { type ListQuery, withTime, writeQuery } from '../state/list-query.ts'
import { formatCount, formatCounted, formatMean, formatPercent } from '../ui/format.ts'
import { asLine } from '../ui/text.ts'
import type { Zone } from '../ui/time.ts'
import { sharesOf, summaryOf } from './score-summary.ts'

interface Props {
  readonly answer: ScoreSeries
  readonly query: ListQuery
  readonly zone: Zone
  /** Address of the scores page, without query string. */
  readonly page: string
}

const MOST_NAMES = 6
const MOST_VALUES = 5

export function ScoreLines({ answer, query, zone, page }: Props) {
  const { names, newest } = answer
  const axis = useMemo(() => timeAxis(answer, zone), [answer, zone])
  const shown = names.slice(0, MOST_NAMES)
  // The scores page supports only the environment filter.
  const { env } = query.filters
  const kept = { ...query, filters: env === undefined ? {} : { env } }
  const hrefOf = (name: string, to: ListQuery) => {
    const search = writeQuery(to)
    return `${page}${search === '' ? '?' : `${search}&`}name=${encodeURIComponent(name)}`
  }
  const isNarrower = Object.keys(query.filters).some(name => name !== 'env')
  return (
    <section class="figure" aria-labelledby="scores-heading">
      <header>
        <div>
          <h2 id="scores-heading">
            <a href={`${page}${writeQuery(kept)}`}>Scores</a>
          </h2>
          {isNarrower && <span class="soft small">of all traces in this period</span>}
          {newest !== null && <span class="soft small">of the newest {formatCount(newest)}</span>}
        </div>
        {names.length > shown.length && (
          <a class="link" href={`${page}${writeQuery(kept)}`}>
            all {formatCount(names.length)}
            <span class="unseen"> scores</span>
          </a>
        )}
      </header>
      {shown.length === 0 && <p class="soft">No scores in this period.</p>}
      <ul class="score-lines">
        {shown.map(group => (
          <li key={`${group.dataType} ${group.name}`}>
            <a href={hrefOf(group.name, kept)} title={group.name}>
              <span class="clip">{asLine(group.name, 40)}</span>
            </a>
            <span>
              {summaryOf(group)} <span class="soft small">{formatCounted(group.count, 'score')}</span>
            </span>
            <div class="score-trend">
              <ScoreChart
                group={group}
                axis={axis}
                href={at => hrefOf(group.name, withTime(kept, stepsBetween(answer, at, at)))}
              />
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}

interface ScoreChartProps {
  readonly group: ScoreOverTime
  readonly axis: ReturnType<typeof timeAxis>
  href(at: number): string
}

function ScoreChart({ group, axis, href }: ScoreChartProps) {
  const { name, dataType, mean } = group
  const series = useMemo<readonly ChartSeries[]>(
    () =>
      dataType === 'categorical'
        ? sharesOf(group, MOST_VALUES).map(({ name, values }, i) => ({
            name,
            values,
            tone: (name === 'others' ? 'rest' : i + 1) as Tone
          }))
        : [{ name: dataType === 'boolean' ? 'yes' : 'mean', values: mean, tone: 2 }],
    [group]
  )
  const common = { title: `Scores ${asLine(name, 40)}`, axis, series, href, bare: true }
  if (dataType === 'categorical') return <StackChart {...common} unit="count" format={formatCount} />
  if (dataType === 'boolean') return <LineChart {...common} unit="share" format={formatPercent} />
  return <LineChart {...common} unit="number" format={formatMean} />
}
