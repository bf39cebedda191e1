/** A score over time: the mean of a numeric score, or the count of each value of any other score. */

import type { Axis } from '../charts/axis.ts'
import { type ChartProps, type ChartSeries, LineChart, StackChart, type Tone } from '../charts/charts.tsx'
import { Figure } from '../charts/figure.tsx'
import type { ScoreOverTime, ScoreSeries } from '../contract.ts'
import { type ScorePageQuery, withStep, withTable, writeScoreQuery } from '../state/score-query.ts'
import { formatCount, formatCounted, formatMean, formatPercent, formatScore } from '../ui/format.ts'
import { asLine } from '../ui/text.ts'

interface Props {
  readonly score: ScoreOverTime
  readonly series: ScoreSeries
  readonly axis: Axis
  readonly query: ScorePageQuery
  readonly base: string
  readonly title: string
  /** Link from the heading to the page of this score. */
  readonly href?: string
  readonly wide?: boolean
  change(query: ScorePageQuery): void
}

const TONES: readonly Tone[] = [3, 2, 4, 5, 6, 1]

/** Returns the counts of the most frequent values, and the total count of the remaining values. */
export function chartShares({ shares, other, dataType }: ScoreOverTime): ChartSeries[] {
  const values = Object.entries(shares)
  const rest = values.slice(TONES.length).map(([, counts]) => counts)
  const others = other.map((each, i) => rest.reduce((sum, counts) => sum + counts[i]!, each))
  const shown = values.slice(0, TONES.length).map(([value, counts], i) => ({
    name: dataType === 'boolean' ? formatScore(value === 'true') : asLine(value, 40),
    values: counts,
    tone: TONES[i]!
  }))
  return others.some(each => each > 0) ? [...shown, { name: 'other values', values: others, tone: 'rest' }] : shown
}

/**
 * Returns a summary of a score's values. The summary is empty for a categorical score with several values, because the
 * legend shows them.
 */
export function averageOf(score: ScoreOverTime): string {
  const { dataType, average } = score
  if (average === null) {
    const [only, ...others] = dataType === 'categorical' ? chartShares(score) : []
    return only === undefined || others.length > 0 ? '' : `all ${only.name}`
  }
  return dataType === 'boolean' ? `${formatPercent(average)} yes` : `mean ${formatMean(average)}`
}

export function ScoreChart({ score, series, axis, query, base, title, href, wide = false, change }: Props) {
  const isNumeric = score.dataType === 'numeric'
  const of: ChartProps = {
    title: isNumeric ? `${title}: the mean over time` : `${title}: how often each value was given over time`,
    axis,
    series: isNumeric ? [{ name: 'mean', values: score.mean, tone: 3 }] : chartShares(score),
    unit: isNumeric ? 'number' : 'count',
    format: isNumeric ? formatMean : formatCount,
    href: at => `${base}${writeScoreQuery({ ...withStep(query, series, at), name: score.name })}`,
    zoom: (first, last) =>
      change({ ...withStep(query, series, last), from: withStep(query, series, first).from!, name: score.name })
  }
  return (
    <Figure
      title={title}
      href={href}
      head={
        <span class="soft">{[formatCounted(score.count, 'score'), averageOf(score)].filter(Boolean).join(', ')}</span>
      }
      asTable={query.table !== undefined}
      setAsTable={asTable => change(withTable(query, asTable))}
      chart={isNumeric ? LineChart : StackChart}
      of={of}
      wide={wide}
    />
  )
}
