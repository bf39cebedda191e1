import type { ComponentChildren } from 'preact'
import type { Outline } from '../contract.ts'
import { preferences } from '../state/preferences.ts'
import { pathOf } from '../state/route.ts'
import { useStore } from '../state/store.ts'
import { formatCost, formatCount, formatDuration, NONE } from '../ui/format.ts'
import { StatusIcon } from '../ui/icons.tsx'
import { numbers, Titles } from '../ui/table.tsx'
import { asLine } from '../ui/text.ts'
import { fullTime, offsetName, shortTime, type Zone } from '../ui/time.ts'
import { formatChange, formatShare } from './format-change.ts'

interface Props {
  readonly slug: string
  readonly a: Outline
  readonly b: Outline
  swap(): void
}

type Trace = Outline['trace']

/** The totals to compare. A running trace's tokens and cost are not known. */
const TOTALS: readonly [title: string, of: (trace: Trace) => number | null, format: (value: number) => string][] = [
  ['Latency', trace => trace.durationMs, formatDuration],
  ['Tokens', trace => (isRunning(trace) ? null : trace.usage.totalTokens), formatCount],
  ['Cost', trace => (isRunning(trace) ? null : trace.costUsd), formatCost],
  ['Spans', trace => trace.spanCount, formatCount],
  ['Errors', trace => trace.errorCount, formatCount]
]

const isRunning = ({ status }: Trace) => status === 'running'

export function CompareHead({ slug, a, b, swap }: Props) {
  const { zone } = useStore(preferences)
  return (
    <header class="trace-head">
      <div class="trace-line">
        <h1 tabIndex={-1}>Compare</h1>
        <span class="soft small">Times are {zone === 'utc' ? 'UTC' : offsetName(new Date())}</span>
        <div class="trace-tools">
          <button type="button" onClick={swap}>
            Swap A and B
          </button>
        </div>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard. */}
      <section class="totals-box" tabIndex={0} aria-label="Totals">
        <table class="totals">
          <thead>
            <Titles of={['Trace', 'Started', 'Model', 'Status', ...numbers(...TOTALS.map(([title]) => title))]} />
          </thead>
          <tbody>
            <Side slug={slug} letter="A" trace={a.trace} zone={zone} />
            <Side slug={slug} letter="B" trace={b.trace} zone={zone} />
            <tr class="is-difference">
              <th scope="row" colSpan={4}>
                Difference, B less A
              </th>
              {TOTALS.map(([title, of, format]) => (
                <Cell key={title} title={title}>
                  {formatChange(of(a.trace), of(b.trace), format)}{' '}
                  <small>{formatShare(of(a.trace), of(b.trace))}</small>
                </Cell>
              ))}
            </tr>
          </tbody>
        </table>
      </section>
    </header>
  )
}

function Side({ slug, letter, trace, zone }: { slug: string; letter: 'A' | 'B'; trace: Trace; zone: Zone }) {
  return (
    <tr>
      <th scope="row">
        <span class="side">{letter}</span>{' '}
        <a href={pathOf({ page: 'trace', slug, traceId: trace.id })} title={trace.name}>
          {asLine(trace.name, 80)}
        </a>
      </th>
      <td data-title="Started">
        <time dateTime={trace.startedAt} title={fullTime(trace.startedAt, zone)}>
          {shortTime(trace.startedAt, zone, new Date())}
        </time>
      </td>
      <td data-title="Model">{trace.model === null ? NONE : asLine(trace.model, 40)}</td>
      <td data-title="Status">
        <StatusIcon status={trace.status} />
      </td>
      {TOTALS.map(([title, of, format]) => {
        const value = of(trace)
        return (
          <Cell key={title} title={title}>
            {value === null ? NONE : format(value)}
          </Cell>
        )
      })}
    </tr>
  )
}

function Cell({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <td class="number" data-title={title}>
      {children}
    </td>
  )
}
