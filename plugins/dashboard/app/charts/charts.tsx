/** The three kinds of charts. Each slot is a link. The numbers are also available as a table (figure.tsx). */
import { useMemo } from 'preact/hooks'
import type { Axis } from './axis.ts'
import { linePaths, stackedSums, stackPaths } from './paths.ts'
import { Plot } from './plot.tsx'
import { shortValue, type Unit, valueAxis } from './value-axis.ts'

/** Numbered colours and colours with a meaning. Line charts also use distinct dash patterns. */
export type Tone = 1 | 2 | 3 | 4 | 5 | 6 | 'bad' | 'rest'

/** One value per slot; null if the slot has no value. */
export interface ChartSeries {
  readonly name: string
  readonly values: readonly (number | null)[]
  readonly tone: Tone
}

export interface ChartProps {
  /** Describes the chart to screen readers. */
  readonly title: string
  readonly axis: Axis
  readonly series: readonly ChartSeries[]
  readonly unit: Unit
  /** Formats a value in full. By default, values are formatted like ticks. */
  readonly format?: (value: number) => string
  /** Returns the link for the slot at this index. */
  href(at: number): string
  /** Receives a range of slots that the visitor selects. `undefined` disables selection. */
  readonly zoom?: (first: number, last: number) => void
  /** Whether to omit the axis labels, for small charts. */
  readonly bare?: boolean
}

export const toneClass = (tone: Tone) => `tone-${tone}`

/** Draws one bar per slot for the first series. */
export function BarChart(props: ChartProps) {
  return <StackChart {...props} series={props.series.slice(0, 1)} />
}

/** Draws stacked bars with the first series at the bottom. Negative values are not drawn. */
export function StackChart(props: ChartProps) {
  const { series, unit } = props
  const { axis, paths } = useMemo(() => {
    const lists = series.map(({ values }) => values)
    const axis = valueAxis(stackedSums(lists), unit)
    return { axis, paths: stackPaths(lists, axis) }
  }, [series, unit])
  return (
    <Framed {...props} values={axis}>
      {paths.map((path, i) => (
        <path key={series[i]!.name} class={`bars ${toneClass(series[i]!.tone)}`} d={path} />
      ))}
    </Framed>
  )
}

export function LineChart(props: ChartProps) {
  const { series, unit } = props
  const { axis, paths } = useMemo(() => {
    const axis = valueAxis(
      series.flatMap(({ values }) => values),
      unit
    )
    return { axis, paths: series.map(({ values }) => linePaths(values, axis)) }
  }, [series, unit])
  return (
    <Framed {...props} values={axis}>
      {paths.map(({ line, points }, i) => (
        <g key={series[i]!.name} class={toneClass(series[i]!.tone)}>
          <path class="line" d={line} />
          <path class="line points" d={points} />
        </g>
      ))}
    </Framed>
  )
}

function Framed({
  title,
  axis,
  series,
  unit,
  format = value => shortValue(value, unit),
  href,
  zoom,
  bare = false,
  values,
  children
}: ChartProps & Pick<Parameters<typeof Plot>[0], 'children'> & { values: ReturnType<typeof valueAxis> }) {
  const said = (at: number) =>
    series.map(({ name, values, tone }) => {
      const value = values[at] ?? null
      return { name, tone: toneClass(tone), value: value === null ? 'none' : format(value) }
    })
  return (
    <Plot title={title} axis={axis} unit={unit} said={said} href={href} zoom={zoom} {...(!bare && { values })}>
      {children}
    </Plot>
  )
}

/** Names and colours of the series, hidden from screen readers. */
export function Legend({
  series,
  line = false
}: {
  series: readonly Pick<ChartSeries, 'name' | 'tone'>[]
  line?: boolean
}) {
  return (
    <span class="legend">
      {series.map(({ name, tone }) => (
        <span key={name}>
          {line ? (
            <svg class="swatch-line" viewBox="0 0 24 4" aria-hidden="true">
              <path class={`line ${toneClass(tone)}`} d="M0 2h24" />
            </svg>
          ) : (
            <i class={`swatch ${toneClass(tone)}`} />
          )}{' '}
          {name}
        </span>
      ))}
    </span>
  )
}
