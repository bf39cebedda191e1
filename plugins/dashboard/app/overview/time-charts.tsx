/** Charts of traces, error rate, latency, tokens and cost: of all traces, or of each group of a split. */

import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { timeAxis } from '../charts/axis.ts'
import { type ChartProps, type ChartSeries, LineChart, StackChart, type Tone } from '../charts/charts.tsx'
import { Figure } from '../charts/figure.tsx'
import { rateOf, stepsBetween, wholeOf } from '../charts/series.ts'
import type { SeriesAnswer, SplitAnswer } from '../contract.ts'
import { type ListQuery, narrowed, withTime, writeQuery } from '../state/list-query.ts'
import { fieldName } from '../state/trace-group.ts'
import { formatCost, formatCount, formatCounted, formatPercent, formatPercentile } from '../ui/format.ts'
import { asLine } from '../ui/text.ts'
import type { Zone } from '../ui/time.ts'
import { METRICS, type Metric } from './changes.ts'
import { type DrawnLine, linesOfCharts } from './split-lines.ts'
import { TotalNumber } from './total-number.tsx'

interface Props {
  readonly answer: SeriesAnswer
  /** The groups to draw; undefined to draw all traces as one. */
  readonly split: SplitAnswer | undefined
  readonly query: ListQuery
  readonly zone: Zone
  /** Address of the trace list, without query string. */
  readonly list: string
  /** Names of the charts shown as tables. */
  readonly tables: readonly string[]
  show(name: string, asTable: boolean): void
  zoom(time: { readonly from: string; readonly to: string }): void
  /** Returns the address that explains a metric's change in the step that starts at a time. */
  explain(metric: Metric, start: string): string
}

export function TimeCharts({ answer, split, query, zone, list, tables, show, zoom, explain }: Props) {
  const series = useMemo(() => (split === undefined ? wholeSeries(answer) : lineSeries(split)), [answer, split])
  const steps = split ?? answer
  const axis = useMemo(() => timeAxis(steps, zone), [steps, zone])
  const { total } = wholeOf(answer)
  const { before, approximate } = answer
  const isOfSteps = split?.by === 'step'
  const listOf = (at: number, status?: string) => {
    const time = withTime(query, stepsBetween(steps, at, at))
    return `${list}${writeQuery(status === undefined ? time : narrowed(time, { status }))}`
  }
  /** Query for the same traces with absolute times, because a relative range would move on while the chart does not. */
  const whole = withTime(query, stepsBetween(answer))
  const percentile = (ms: number | null) => formatPercentile(ms, approximate)
  const figure = (
    metric: Metric,
    title: string,
    chart: typeof StackChart,
    of: Pick<ChartProps, 'series' | 'unit' | 'format'> & { readonly title?: string },
    head: ComponentChildren,
    status?: string
  ) => (
    <Figure
      title={title}
      href={`${list}${writeQuery(status === undefined ? whole : narrowed(whole, { status }))}`}
      head={head}
      asTable={tables.includes(metric)}
      setAsTable={asTable => show(metric, asTable)}
      chart={chart}
      rowHref={at => listOf(at, status)}
      of={{
        title,
        axis,
        ...of,
        href: at => explain(metric, steps.starts[at]!),
        zoom: (first, last) => zoom(stepsBetween(steps, first, last))
      }}
    />
  )
  return (
    <>
      {figure(
        'traces',
        isOfSteps ? 'Steps' : 'Traces',
        StackChart,
        { title: isOfSteps ? 'Steps' : 'Traces and errors', series: series.traces, unit: 'count', format: formatCount },
        <TotalNumber
          value={total.traces}
          before={before?.traces}
          format={isOfSteps ? count => formatCounted(count, 'trace') : formatCount}
        />
      )}
      {figure(
        'errors',
        'Error rate',
        LineChart,
        { series: series.rate, unit: 'share', format: formatPercent },
        <TotalNumber
          points
          value={rateOf(total.errors, total.traces)}
          before={before && rateOf(before.errors, before.traces)}
          format={formatPercent}
        />,
        'error'
      )}
      {figure(
        'latency',
        split === undefined ? 'Latency' : 'Latency, p95',
        LineChart,
        { series: series.latency, unit: 'ms', format: percentile },
        (split === undefined ? (['p50', 'p90', 'p99'] as const) : (['p95'] as const)).map(each => (
          <TotalNumber
            key={each}
            {...(split === undefined && { name: each })}
            value={total[each]}
            before={before?.[each]}
            format={percentile}
          />
        ))
      )}
      {figure(
        'tokens',
        'Tokens',
        StackChart,
        { series: series.tokens, unit: 'count', format: formatCount },
        <TotalNumber
          value={total.inputTokens + total.outputTokens}
          before={before && before.inputTokens + before.outputTokens}
          format={formatCount}
        />
      )}
      {figure(
        'cost',
        'Cost',
        StackChart,
        { series: series.cost, unit: 'usd', format: formatCost },
        <>
          <TotalNumber value={total.costUsd} before={before?.costUsd} format={formatCost} />
          {total.priced < total.traces && (
            <span class="soft small">of the {formatCounted(total.priced, 'trace')} with a known cost</span>
          )}
        </>
      )}
    </>
  )
}

type MetricSeries = Readonly<Record<'traces' | 'rate' | 'latency' | 'tokens' | 'cost', readonly ChartSeries[]>>

function wholeSeries(answer: SeriesAnswer): MetricSeries {
  const whole = wholeOf(answer)
  const { traces, errors } = whole
  return {
    traces: [
      { name: 'succeeded', tone: 1, values: traces.map((count, i) => count - errors[i]!) },
      { name: 'errors', tone: 'bad', values: errors }
    ],
    rate: [{ name: 'error rate', tone: 'bad', values: traces.map((count, i) => rateOf(errors[i]!, count)) }],
    latency: [
      { name: 'p50', tone: 1, values: whole.p50 },
      { name: 'p90', tone: 2, values: whole.p90 },
      { name: 'p99', tone: 3, values: whole.p99 }
    ],
    tokens: [
      { name: 'input', tone: 1, values: whole.inputTokens },
      { name: 'output', tone: 2, values: whole.outputTokens }
    ],
    cost: [{ name: 'cost', tone: 1, values: whole.costUsd }]
  }
}

/** One series for each of the first groups by the chart's number, and one for all others. */
function lineSeries({ lines, by }: SplitAnswer): MetricSeries {
  const charts = linesOfCharts(lines, METRICS)
  const of = (metric: Metric, values: (line: DrawnLine) => readonly (number | null)[] | null) =>
    charts[metric].flatMap(line => {
      const drawn = values(line)
      if (drawn === null) return []
      const name = line.isOther ? 'all others' : line.key === null ? `no ${fieldName(by)}` : asLine(line.key, 40)
      return [{ name, tone: (line.tone ?? 'rest') as Tone, values: drawn }]
    })
  return {
    traces: of('traces', ({ traces }) => traces),
    rate: of('errors', ({ traces, errors }) => traces.map((count, i) => rateOf(errors[i]!, count))),
    latency: of('latency', ({ p95 }) => p95),
    tokens: of('tokens', ({ inputTokens, outputTokens }) => inputTokens.map((count, i) => count + outputTokens[i]!)),
    cost: of('cost', ({ costUsd }) => costUsd)
  }
}
