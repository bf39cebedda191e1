/** Charts of the numbers in one response: traces and errors, error rate, latency, tokens and cost. */

import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { timeAxis } from '../charts/axis.ts'
import { type ChartProps, type ChartSeries, LineChart, StackChart } from '../charts/charts.tsx'
import { Figure } from '../charts/figure.tsx'
import { changeOf, rateOf, stepsBetween, wholeOf } from '../charts/series.ts'
import type { SeriesAnswer } from '../contract.ts'
import { type ListQuery, narrowed, withTime, writeQuery } from '../state/list-query.ts'
import { formatCost, formatCount, formatCounted, formatPercent, formatPercentile } from '../ui/format.ts'
import type { Zone } from '../ui/time.ts'

interface Props {
  readonly answer: SeriesAnswer
  readonly query: ListQuery
  readonly zone: Zone
  /** Address of the trace list, without query string. */
  readonly list: string
  /** Names of the charts shown as tables. */
  readonly tables: readonly string[]
  show(name: string, asTable: boolean): void
  zoom(time: { readonly from: string; readonly to: string }): void
}

export function TimeCharts({ answer, query, zone, list, tables, show, zoom }: Props) {
  const shape = useMemo(() => shapeOf(answer, zone), [answer, zone])
  const { axis, total, before, series } = shape
  const listOf = (at: number, status?: string) => {
    const time = withTime(query, stepsBetween(answer, at, at))
    return `${list}${writeQuery(status === undefined ? time : narrowed(time, { status }))}`
  }
  /** Query for the same traces with absolute times, because a relative range would move on while the chart does not. */
  const whole = withTime(query, stepsBetween(answer))
  const figure = (
    title: string,
    chart: typeof StackChart,
    of: Pick<ChartProps, 'series' | 'unit' | 'format'> & { readonly title?: string },
    head: ComponentChildren,
    { name = title.toLowerCase(), status }: { readonly name?: string; readonly status?: string } = {}
  ) => (
    <Figure
      title={title}
      href={`${list}${writeQuery(status === undefined ? whole : narrowed(whole, { status }))}`}
      head={head}
      asTable={tables.includes(name)}
      setAsTable={asTable => show(name, asTable)}
      chart={chart}
      of={{
        title,
        axis,
        ...of,
        href: at => listOf(at, status),
        zoom: (first, last) => zoom(stepsBetween(answer, first, last))
      }}
    />
  )
  return (
    <>
      {figure(
        'Traces',
        StackChart,
        { title: 'Traces and errors', series: series.traces, unit: 'count', format: formatCount },
        <TotalNumber value={total.traces} before={before?.traces} format={formatCount} />
      )}
      {figure(
        'Error rate',
        LineChart,
        { series: series.rate, unit: 'share', format: formatPercent },
        <TotalNumber
          points
          value={rateOf(total.errors, total.traces)}
          before={before && rateOf(before.errors, before.traces)}
          format={formatPercent}
        />,
        { name: 'errors', status: 'error' }
      )}
      {figure(
        'Latency',
        LineChart,
        { series: series.latency, unit: 'ms', format: formatPercentile },
        (['p50', 'p90', 'p99'] as const).map(each => (
          <TotalNumber key={each} name={each} value={total[each]} before={before?.[each]} format={formatPercentile} />
        ))
      )}
      {figure(
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
        'Cost',
        StackChart,
        { series: series.cost, unit: 'usd', format: formatCost },
        <>
          <TotalNumber value={total.costUsd} before={before?.costUsd} format={formatCost} />
          {total.priced < total.traces && (
            <span class="soft small">of the {formatCounted(total.priced, 'trace')} whose cost is known</span>
          )}
        </>
      )}
    </>
  )
}

function shapeOf(answer: SeriesAnswer, zone: Zone) {
  const { before } = answer
  const whole = wholeOf(answer)
  const { traces, errors, total } = whole
  const series = {
    traces: [
      { name: 'without error', tone: 1, values: traces.map((count, i) => count - errors[i]!) },
      { name: 'errors', tone: 'bad', values: errors }
    ],
    rate: [{ name: 'error rate', tone: 'bad', values: traces.map((count, i) => rateOf(errors[i]!, count)) }],
    latency: [
      { name: 'p50', tone: 1, values: whole.p50 },
      { name: 'p90', tone: 2, values: whole.p90 },
      { name: 'p99', tone: 3, values: whole.p99 }
    ],
    tokens: [
      { name: 'in', tone: 1, values: whole.inputTokens },
      { name: 'out', tone: 2, values: whole.outputTokens }
    ],
    cost: [{ name: 'cost', tone: 1, values: whole.costUsd }]
  } satisfies Record<string, readonly ChartSeries[]>
  return { axis: timeAxis(answer, zone), total, before, series }
}

interface TotalProps {
  readonly value: number | null
  readonly before: number | null | undefined
  format(value: number): string
  /** Label of the number, if several numbers are shown side by side. */
  readonly name?: string
  /** Whether to show the change in percentage points, because the value is a share. */
  readonly points?: boolean
}

/** A number and its change from the previous period. */
function TotalNumber({ value, before, format, name, points = false }: TotalProps) {
  if (value === null) return null
  return (
    <span class="total">
      {name !== undefined && <span class="soft">{name} </span>}
      <b>{format(value)}</b>
      {before !== null && before !== undefined && (
        <span class="soft small" title={`${format(before)} in the period before`}>
          {' '}
          {points ? pointsBetween(value, before) : ratioBetween(value, before)}
        </span>
      )}
    </span>
  )
}

/** Returns an empty string if only the previous value is zero, because no ratio exists. */
function ratioBetween(value: number, before: number): string {
  const change = changeOf(value, before)
  if (change === null) return value === before ? '±0' : ''
  // From a tenfold increase on, a factor is easier to read than a percentage.
  if (change >= 9) return `×${Math.round(change + 1)}`
  return signed(change, formatPercent(Math.abs(change)))
}

function pointsBetween(value: number, before: number): string {
  const change = (value - before) * 100
  return signed(change, `${Math.abs(change).toFixed(1)} points`, 0.05)
}

function signed(change: number, size: string, least = 0.0005): string {
  return Math.abs(change) < least ? '±0' : `${change > 0 ? '+' : '−'}${size}`
}
