/** The two kinds of charts. Each slot is a link. A table of the numbers is also available (figure.tsx). */

import type { ComponentChildren } from 'preact'
import { useMemo, useRef, useState } from 'preact/hooks'
import { type Axis, shownTicks } from './axis.ts'
import {
  durationAxis,
  HEIGHT,
  linePaths,
  placeOf,
  shortValue,
  stackedSums,
  stackPaths,
  type Unit,
  type ValueAxis,
  valueAxis
} from './value-axis.ts'

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
  /** Returns the link for the slot at an index. */
  href(at: number): string
  /** Receives a range of slots that the visitor selects. `undefined` disables selection. */
  readonly zoom?: (first: number, last: number) => void
  /** Whether to omit the axis labels, as small charts do. */
  readonly bare?: boolean
}

const toneClass = (tone: Tone) => `tone-${tone}`

/** Draws stacked bars with the first series at the bottom. Negative values are not drawn. */
export function StackChart(props: ChartProps) {
  const { series, unit } = props
  const { axis, paths } = useMemo(() => {
    const lists = series.map(({ values }) => values)
    const axis = valueAxis(stackedSums(lists), unit)
    return { axis, paths: stackPaths(lists, axis) }
  }, [series, unit])
  return (
    <Plot {...props} values={axis}>
      {paths.map((path, i) => (
        <path key={series[i]!.name} class={`bars ${toneClass(series[i]!.tone)}`} d={path} />
      ))}
    </Plot>
  )
}

export function LineChart(props: ChartProps) {
  const { series, unit } = props
  const { axis, paths } = useMemo(() => {
    const lists = series.map(({ values }) => values)
    const axis = unit === 'ms' ? durationAxis(lists.flat()) : valueAxis(lists.flat(), unit)
    return { axis, paths: lists.map(values => linePaths(values, axis)) }
  }, [series, unit])
  return (
    <Plot {...props} values={axis}>
      {paths.map(({ line, points }, i) => (
        <g key={series[i]!.name} class={toneClass(series[i]!.tone)}>
          <path class="line" d={line} />
          <path class="line points" d={points} />
        </g>
      ))}
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

interface PlotProps extends ChartProps {
  readonly values: ValueAxis
  /** The drawing, one unit wide per slot. */
  readonly children: ComponentChildren
}

const percent = (share: number) => `${(share * 100).toFixed(3)}%`

/**
 * The frame of a chart: its axes, and one link that covers the drawing. The link leads to the slot selected by pointer
 * or arrow keys, so even 168 slots need only one Tab stop and one element.
 */
function Plot(props: PlotProps) {
  const { title, axis, series, values, unit, href, zoom, bare = false, children } = props
  const { format = value => shortValue(value, unit) } = props
  const size = axis.names.length
  const [at, setAt] = useState<number | undefined>()
  /** The slot where a range selection started. */
  const [from, setFrom] = useState<number | undefined>()
  const [spoken, setSpoken] = useState('')
  const link = useRef<HTMLAnchorElement>(null)
  const dragged = useRef(false)
  // The number of slots may have decreased since the last render.
  const current = Math.min(at ?? size - 1, size - 1)
  const range = from === undefined || from === current ? undefined : [Math.min(from, current), Math.max(from, current)]
  const name = range === undefined ? axis.names[current]! : `${axis.names[range[0]!]} to ${axis.names[range[1]!]}`
  const said = (place: number, { values }: ChartSeries) => {
    const value = values[place] ?? null
    return value === null ? 'none' : format(value)
  }
  const words = (place: number) =>
    `${axis.names[place]}: ${series.map(each => `${each.name} ${said(place, each)}`).join(', ')}`
  const leave = () => {
    setAt(undefined)
    setFrom(undefined)
    setSpoken('')
  }
  const choose = () => {
    if (range === undefined || zoom === undefined) return false
    leave()
    zoom(range[0]!, range[1]!)
    return true
  }
  const placeUnder = (event: PointerEvent) => {
    const { left, width } = link.current!.getBoundingClientRect()
    return Math.max(0, Math.min(size - 1, Math.floor(((event.clientX - left) / width) * size)))
  }
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && (range !== undefined || at !== undefined)) {
      event.preventDefault()
      return leave()
    }
    if (event.key === 'Enter' && range !== undefined) {
      event.preventDefault()
      return void choose()
    }
    const jump = Math.max(1, Math.round(size / 10))
    const steps: Record<string, number> = {
      ArrowLeft: current - 1,
      ArrowRight: current + 1,
      PageUp: current - jump,
      PageDown: current + jump,
      Home: 0,
      End: size - 1
    }
    const step = steps[event.key]
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    const next = Math.max(0, Math.min(size - 1, step))
    setFrom(event.shiftKey && zoom !== undefined ? (from ?? current) : undefined)
    setAt(next)
    setSpoken(words(next))
  }
  return (
    <div class={bare ? 'plot is-bare' : 'plot'}>
      {!bare && (
        <div class="plot-values" aria-hidden="true">
          {values.ticks.map(tick => (
            <span key={tick} style={{ insetBlockEnd: percent(placeOf(tick, values)) }}>
              {shortValue(tick, unit)}
            </span>
          ))}
        </div>
      )}
      <div class="plot-area">
        <svg viewBox={`0 0 ${Math.max(1, size)} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={title}>
          {!bare &&
            values.ticks.map(tick => {
              const y = (1 - placeOf(tick, values)) * HEIGHT
              return <line key={tick} class="plot-grid" x1="0" x2={size} y1={y} y2={y} />
            })}
          {children}
        </svg>
        {size > 0 && (
          <>
            {(at !== undefined || range !== undefined) && (
              <span
                class={range === undefined ? 'plot-mark' : 'plot-mark is-range'}
                style={{
                  insetInlineStart: percent((range?.[0] ?? current) / size),
                  inlineSize: percent(range === undefined ? 1 / size : (range[1]! - range[0]! + 1) / size)
                }}
              />
            )}
            <a
              ref={link}
              class="plot-link"
              href={href(current)}
              draggable={false}
              onPointerMove={event => setAt(placeUnder(event))}
              onPointerDown={event => {
                dragged.current = false
                const place = placeUnder(event)
                setAt(place)
                if (zoom === undefined || event.button !== 0) return
                setFrom(place)
                link.current!.setPointerCapture(event.pointerId)
              }}
              onPointerUp={() => {
                dragged.current = choose()
                setFrom(undefined)
              }}
              onPointerCancel={leave}
              onPointerLeave={event => {
                if (event.buttons === 0) leave()
              }}
              onBlur={leave}
              onClick={event => {
                if (dragged.current) event.preventDefault()
                dragged.current = false
              }}
              onKeyDown={press}
            >
              <span class="unseen">{`${title}. ${words(current)}. Move with the arrow keys.`}</span>
            </a>
            {at !== undefined && (
              <div
                class="plot-said"
                aria-hidden="true"
                style={{
                  insetInlineStart: percent((current + 0.5) / size),
                  translate: `${-((current + 0.5) / size) * 100}% 0`
                }}
              >
                <b>{name}</b>
                {range === undefined
                  ? series.map(each => (
                      <span key={each.name}>
                        <i class={`swatch ${toneClass(each.tone)}`} />
                        {each.name} <span class="number">{said(current, each)}</span>
                      </span>
                    ))
                  : 'Release, or press Enter, to zoom in'}
              </div>
            )}
          </>
        )}
        <span class="unseen" role="status">
          {spoken}
        </span>
      </div>
      {!bare && (
        <>
          <span class="plot-zone" aria-hidden="true">
            {axis.zone}
          </span>
          <div class="plot-places" aria-hidden="true">
            {shownTicks(axis).map(({ at: place, text, isBefore }) => (
              <span
                key={place}
                class={isBefore ? 'is-before' : undefined}
                style={
                  isBefore ? { insetInlineEnd: percent(1 - place / size) } : { insetInlineStart: percent(place / size) }
                }
              >
                {text}
              </span>
            ))}
          </div>
        </>
      )}
    </div>
  )
}
