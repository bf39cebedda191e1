/** The numbers of two groups of traces, and their differences. */

import type { ComponentChildren } from 'preact'
import { rateOf } from '../charts/series.ts'
import type { GroupPair } from '../contract.ts'
import { formatCost, formatCount, formatDuration, formatPercent, NONE } from '../ui/format.ts'
import { numbers, Titles } from '../ui/table.tsx'
import { mayBeChance, shareSample } from './difference.ts'

interface TableProps {
  readonly pair: GroupPair
  readonly labels: { readonly a: string; readonly b: string }
  readonly hrefs: { readonly a: string; readonly b: string }
}

type Total = GroupPair['a']['total']

const perTrace = (value: number, traces: number) => (traces === 0 ? null : value / traces)
const wholeTokens = (tokens: number) => formatCount(Math.round(tokens))

const ROWS: readonly {
  readonly title: string
  readonly of: (total: Total) => number | null
  readonly format: (value: number) => string
}[] = [
  { title: 'p50 duration', of: ({ p50 }) => p50, format: formatDuration },
  { title: 'p95 duration', of: ({ p95 }) => p95, format: formatDuration },
  {
    title: 'Input tokens per trace',
    of: ({ inputTokens, traces }) => perTrace(inputTokens, traces),
    format: wholeTokens
  },
  {
    title: 'Output tokens per trace',
    of: ({ outputTokens, traces }) => perTrace(outputTokens, traces),
    format: wholeTokens
  },
  { title: 'Cost per trace', of: ({ costUsd, priced }) => perTrace(costUsd, priced), format: formatCost },
  { title: 'Cost', of: ({ costUsd, priced }) => (priced === 0 ? null : costUsd), format: formatCost }
]

export function MetricsTable({ pair: { a, b }, labels, hrefs }: TableProps) {
  const rates = [a, b].map(({ total }) => rateOf(total.errors, total.traces))
  const isChance = mayBeChance(shareSample(a.total.errors, a.total.traces), shareSample(b.total.errors, b.total.traces))
  const [rateA = null, rateB = null] = rates
  const difference = `${pointsBetween(rateA, rateB)}${rateA !== rateB && isChance ? ', may be chance' : ''}`
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <section class="numbers is-whole metrics" tabIndex={0} aria-label="Table of the two groups">
      <table>
        <thead>
          <Titles of={['Per group', ...numbers(`A: ${labels.a}`, `B: ${labels.b}`, 'Difference')]} />
        </thead>
        <tbody>
          <Row
            title="Traces"
            cells={[
              <a href={hrefs.a}>{formatCount(a.total.traces)}</a>,
              <a href={hrefs.b}>{formatCount(b.total.traces)}</a>,
              changeBetween(a.total.traces, b.total.traces)
            ]}
          />
          <Row
            title="Error rate"
            cells={[...rates.map(rate => (rate === null ? NONE : formatPercent(rate))), difference]}
          />
          {ROWS.map(({ title, of, format }) => {
            const [first, second] = [of(a.total), of(b.total)]
            const shown = [first, second].map(value => (value === null ? NONE : format(value)))
            return <Row key={title} title={title} cells={[...shown, changeBetween(first, second)]} />
          })}
        </tbody>
      </table>
    </section>
  )
}

function Row({ title, cells }: { title: string; cells: readonly ComponentChildren[] }) {
  return (
    <tr>
      <th scope="row">{title}</th>
      {cells.map(cell => (
        <td class="number">{cell}</td>
      ))}
    </tr>
  )
}

function changeBetween(a: number | null, b: number | null): string {
  if (a === null || b === null || a === 0) return NONE
  const change = b / a - 1
  return Math.abs(change) < 0.0005 ? '±0' : `${change > 0 ? '+' : '−'}${formatPercent(Math.abs(change))}`
}

function pointsBetween(a: number | null, b: number | null): string {
  if (a === null || b === null) return NONE
  const points = (b - a) * 100
  return Math.abs(points) < 0.05 ? '±0' : `${points > 0 ? '+' : '−'}${Math.abs(points).toFixed(1)} points`
}
