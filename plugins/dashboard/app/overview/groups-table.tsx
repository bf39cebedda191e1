/** Numbers grouped by model or by name. Each row has a bar and links to its traces. */

import { useId } from 'preact/hooks'
import { rateOf, stepsBetween } from '../charts/series.ts'
import type { TraceGroup as Group, TotalsAnswer } from '../contract.ts'
import { type ListQuery, narrowed, withTime, writeQuery } from '../state/list-query.ts'
import { formatCost, formatCount, formatCounted, formatPercent, formatPercentile, NONE } from '../ui/format.ts'
import { numbers, Titles } from '../ui/table.tsx'
import { asLine } from '../ui/text.ts'

interface Props {
  readonly by: 'model' | 'name'
  readonly answer: TotalsAnswer
  readonly query: ListQuery
  readonly list: string
  readonly whole: boolean
  setWhole(whole: boolean): void
}

const FIRST_ROWS = 8

export function GroupsTable({ by, answer, query, list, whole, setWhole }: Props) {
  const heading = useId()
  const title = `By ${by}`
  const { groups, other } = answer
  /** The last group sums all groups that are not listed separately. */
  const rest = other > 0 ? groups.at(-1) : undefined
  const time = withTime(query, stepsBetween({ ...answer, starts: [] }))
  const shown = whole ? groups : groups.slice(0, FIRST_ROWS)
  const most = Math.max(1, ...groups.map(({ total }) => total.traces))
  return (
    <section class="figure is-table" aria-labelledby={heading}>
      <header>
        <h2 id={heading}>{title}</h2>
        {groups.length > FIRST_ROWS && (
          <button type="button" class="link" aria-pressed={whole} onClick={() => setWhole(!whole)}>
            all {formatCount(groups.length)}
            <span class="unseen">: {title}</span>
          </button>
        )}
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard. */}
      <section class="numbers is-whole" tabIndex={0} aria-label={`${title}, table`}>
        <table>
          <thead>
            <Titles
              of={[by === 'model' ? 'Model' : 'Name', ...numbers('Traces', 'Errors', 'p50', 'p95', 'Tokens', 'Cost')]}
            />
          </thead>
          <tbody>
            {shown.map(group => (
              <tr key={group.key}>
                <th scope="row" class="clip" title={group.key ?? undefined}>
                  {group === rest ? (
                    <span class="soft">{formatCounted(other, 'other')}</span>
                  ) : group.key === null ? (
                    <span class="soft">no {by}</span>
                  ) : (
                    <a href={`${list}${writeQuery(narrowed(time, { [by]: group.key }))}`}>{asLine(group.key, 60)}</a>
                  )}
                </th>
                <Cells group={group} share={group.total.traces / most} />
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </section>
  )
}

function Cells({ group: { total }, share }: { group: Group; share: number }) {
  const { traces, errors, p50, p95, inputTokens, outputTokens, costUsd, priced } = total
  const rate = rateOf(errors, traces)
  return (
    <>
      <td class="number">
        <span class="share" aria-hidden="true">
          <span class="tone-1" style={{ inlineSize: `${(share * 100).toFixed(1)}%` }}>
            <span class="tone-bad" style={{ inlineSize: `${((rate ?? 0) * 100).toFixed(1)}%` }} />
          </span>
        </span>
        <span class="count">{formatCount(traces)}</span>
      </td>
      <td class={errors > 0 ? 'number is-error' : 'number soft'}>{rate === null ? NONE : formatPercent(rate)}</td>
      <td class="number">{formatPercentile(p50)}</td>
      <td class="number">{formatPercentile(p95)}</td>
      <td class="number">{formatCount(inputTokens + outputTokens)}</td>
      <td class="number">{priced === 0 ? NONE : formatCost(costUsd)}</td>
    </>
  )
}
