/** A chart with a heading. The visitor can replace the chart with a table of its numbers. */
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { NONE } from '../ui/format.ts'
import { type ChartProps, Legend, LineChart } from './charts.tsx'

interface FigureProps {
  readonly title: string
  readonly href?: string | undefined
  /** Content beside the heading, such as the total and the previous total. */
  readonly head?: ComponentChildren
  readonly foot?: ComponentChildren
  readonly asTable: boolean
  setAsTable(asTable: boolean): void
  readonly chart: (props: ChartProps) => ComponentChildren
  readonly of: ChartProps
  /** Returns the link of the table's row at an index. By default, rows link like the chart's slots. */
  rowHref?(at: number): string
  /** Header of the table's first column. */
  readonly places?: string
  readonly wide?: boolean
}

export function Figure({
  title,
  href,
  head,
  foot,
  asTable,
  setAsTable,
  chart: Chart,
  of,
  rowHref = of.href,
  places = 'Time',
  wide = false
}: FigureProps) {
  const heading = useId()
  return (
    <section class={wide ? 'figure is-wide' : 'figure'} aria-labelledby={heading}>
      <header>
        <div>
          <h2 id={heading}>{href === undefined ? title : <a href={href}>{title}</a>}</h2>
          {head}
        </div>
        <button type="button" class="link" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          as table<span class="unseen">: {title}</span>
        </button>
      </header>
      {of.series.length > 1 && !asTable && <Legend series={of.series} line={Chart === LineChart} />}
      {asTable ? <NumbersTable {...of} href={rowHref} places={places} /> : <Chart {...of} />}
      {foot}
    </section>
  )
}

function NumbersTable({ title, axis, series, format = String, href, places }: ChartProps & { places: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <section class="numbers" tabIndex={0} aria-label={`${title}, as a table`}>
      <table>
        <thead>
          <tr>
            <th scope="col">
              {places}
              {axis.zone !== undefined && <span class="soft"> {axis.zone}</span>}
            </th>
            {series.map(({ name }) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {axis.names.map((name, i) => (
            <tr key={name}>
              <th scope="row">
                <a href={href(i)}>{name}</a>
              </th>
              {series.map(({ name: of, values }) => {
                const value = values[i] ?? null
                return (
                  <td key={of} class="number">
                    {value === null ? NONE : format(value)}
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
