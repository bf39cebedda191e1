/** Traces over time. Each bar links to its time range, and dragging selects a new range. */

import { useMemo } from 'preact/hooks'
import { timeAxis } from '../charts/axis.ts'
import { type ChartSeries, StackChart } from '../charts/charts.tsx'
import { hasSteps, stepsBetween, wholeOf } from '../charts/series.ts'
import type { SeriesAnswer, Step } from '../contract.ts'
import { at, errorMessageOf, read } from '../state/api.ts'
import { type ListQuery, withTime, writeQuery } from '../state/list-query.ts'
import { useInterval, useLoad } from '../state/load.ts'
import { toCounted } from '../state/overview-query.ts'
import { presentTime } from '../state/preferences.ts'
import { ALL_TIME, DEFAULT_RANGE, rangeName } from '../state/time-range.ts'
import { formatCount, formatCounted } from '../ui/format.ts'
import type { Zone } from '../ui/time.ts'

interface Props {
  readonly slug: string
  readonly query: ListQuery
  readonly zone: Zone
  /** Address of the list, without query string. */
  readonly base: string
  change(query: ListQuery): void
}

/** Range of the chart if the list covers all time. */
const OF_ALL_TIME = '1y'
const RENEW_MS = 60_000
const STEPS: Readonly<Record<Step, string>> = { minute5: 'by five minutes', hour: 'by hour', day: 'by day' }

export function Sparkline({ slug, query, zone, base, change }: Props) {
  const { range = DEFAULT_RANGE, from, to } = query
  const isCustom = from !== undefined || to !== undefined
  const shown = range === ALL_TIME ? { ...query, range: OF_ALL_TIME } : query
  const key = `${slug} ${writeQuery({ ...shown, sort: 'newest' })} ${zone}`
  const { value, error, again } = useLoad(key, signal =>
    read(at('p/:slug/series', { slug }, toCounted(shown, presentTime())), { signal })
  )
  useInterval(to === undefined ? RENEW_MS : 0, again)
  const drawn = useMemo(() => (value && hasSteps(value) ? shapeOf(value, zone) : undefined), [value, zone])
  if (error !== undefined) return <p class="soft small">No chart: {errorMessageOf(error)}</p>
  if (value === undefined || drawn === undefined) return null
  const { axis, series, traces, errors } = drawn
  const time = isCustom ? 'Selected range' : rangeName(shown.range ?? range)
  return (
    <>
      <StackChart
        bare
        title="Traces over time"
        axis={axis}
        series={series}
        unit="count"
        format={formatCount}
        href={at => `${base}${writeQuery(withTime(query, stepsBetween(value, at, at)))}`}
        zoom={(first, last) => change(withTime(query, stepsBetween(value, first, last)))}
      />
      <p class="soft small">
        {time}, {STEPS[value.step]} ({axis.zone}): {formatCounted(traces, 'completed trace')}
        {errors > 0 && <span class="is-error">, {formatCounted(errors, 'error')}</span>}
      </p>
    </>
  )
}

function shapeOf(answer: SeriesAnswer, zone: Zone) {
  const { traces, errors, total } = wholeOf(answer)
  const series: readonly ChartSeries[] = [
    { name: 'succeeded', tone: 1, values: traces.map((count, i) => count - errors[i]!) },
    { name: 'errors', tone: 'bad', values: errors }
  ]
  return { axis: timeAxis(answer, zone), series, traces: total.traces, errors: total.errors }
}
