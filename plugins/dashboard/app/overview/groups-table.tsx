/** The numbers of each group, with their changes from the previous period. Each row links to its traces. */

import { useId } from 'preact/hooks'
import { rateOf, stepsBetween } from '../charts/series.ts'
import type { SplitAnswer, SplitRow } from '../contract.ts'
import { type ListQuery, withTime, writeQuery } from '../state/list-query.ts'
import { fieldName, groupFilters, withParameters, writeTraceGroup } from '../state/trace-group.ts'
import { formatCost, formatCount, formatCounted, formatPercent, formatPercentile, NONE } from '../ui/format.ts'
import { type Title, Titles } from '../ui/table.tsx'
import { asLine } from '../ui/text.ts'
import { RANKS, type RankColumn, rankedRows, usualRank } from './group-ranks.ts'
import { ChangeNumber } from './total-number.tsx'

interface Props {
  readonly answer: SplitAnswer
  readonly query: ListQuery
  readonly list: string
  /** Address of the page that compares two groups, without query string. */
  readonly comparing: string
  /** Address of the page of steps, without query string. */
  readonly steps: string
  readonly whole: boolean
  setWhole(whole: boolean): void
  /** The column by which the visitor sorts the tables; undefined for the usual one. */
  readonly rank: RankColumn | undefined
  setRank(rank: RankColumn): void
}

const FIRST_ROWS = 8

const RANK_TITLES: Readonly<Record<RankColumn, string>> = {
  traces: 'Traces',
  rate: 'Error rate',
  p50: 'p50',
  p95: 'p95',
  tokens: 'Tokens',
  cost: 'Cost'
}

export function GroupsTable(props: Props) {
  const { answer, query, list, comparing, steps, whole, setWhole, setRank } = props
  const heading = useId()
  const { groups, others, by } = answer
  const title = `By ${fieldName(by)}`
  const time = withTime(query, stepsBetween(answer))
  const rank = props.rank ?? usualRank(by, groups)
  const ranked = rankedRows(groups, rank)
  const shown = whole ? ranked : ranked.slice(0, FIRST_ROWS)
  const most = Math.max(1, ...groups.map(({ total }) => total.traces))
  const isOfSteps = by === 'step'
  const keys = groups.flatMap(({ key }) => (key === null ? [] : [key]))
  /** Each group is compared with the largest group, and the largest with the second largest. */
  const compareWith = (key: string) => (keys[0] === key ? keys[1] : keys[0])
  // The list of steps has only the environment in common with the overview: its model is the step's, not the trace's.
  const { env } = query.filters
  const stepQuery = writeQuery({ ...time, filters: env === undefined ? {} : { env }, sort: 'slowest' })
  const slowestOf = (key: string, kind: string | null) =>
    withParameters(`${steps}${stepQuery}`, groupFilters(by, key, kind))
  const addressOf = (key: string) => {
    const other = compareWith(key)
    if (isOfSteps || other === undefined) return undefined
    const [a, b] = [writeTraceGroup({ by, key: other }), writeTraceGroup({ by, key })]
    return withParameters(`${comparing}${writeQuery(query)}`, { a, b })
  }
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
      {groups.length === 0 ? (
        <p class="soft">{reasonOf(answer)}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
        <section class="numbers is-whole" tabIndex={0} aria-label={`${title}, table`}>
          <table>
            <thead>
              <Titles
                of={[
                  capitalised(fieldName(by)),
                  ...RANKS.map(
                    (each): Title => ({
                      title: each === 'traces' && isOfSteps ? 'Steps' : RANK_TITLES[each],
                      is: each === rank ? 'sorted number' : 'number',
                      sort: () => setRank(each)
                    })
                  ),
                  isOfSteps ? 'Slowest' : 'Compare'
                ]}
              />
            </thead>
            <tbody>
              {shown.map(group => {
                const { key, kind, isOther, total } = group
                const href = key === null ? undefined : addressOf(key)
                return (
                  <tr key={`${key} ${kind} ${isOther}`}>
                    <th scope="row" class="clip" title={key ?? undefined}>
                      {isOther ? (
                        <span class="soft">{formatCounted(others, 'other')}</span>
                      ) : key === null ? (
                        <span class="soft">no {fieldName(by)}</span>
                      ) : (
                        <a href={withParameters(`${list}${writeQuery(time)}`, groupFilters(by, key, kind))}>
                          {asLine(key, 60)}
                        </a>
                      )}
                      {kind !== null && <span class="kind">{kind}</span>}
                    </th>
                    <Cells group={group} share={total.traces / most} approximate={answer.approximate} />
                    {isOfSteps && key !== null ? (
                      <td>
                        <a href={slowestOf(key, kind)}>
                          Slowest<span class="unseen"> {asLine(key, 60)}</span>
                        </a>
                      </td>
                    ) : (
                      <td>
                        {href !== undefined && (
                          <a href={href}>
                            Compare<span class="unseen"> {asLine(key ?? '', 60)}</span>
                          </a>
                        )}
                      </td>
                    )}
                  </tr>
                )
              })}
            </tbody>
          </table>
        </section>
      )}
    </section>
  )
}

/** Returns why a table has no rows. */
function reasonOf({ missing, by }: SplitAnswer): string {
  const field = fieldName(by)
  if (missing === 'filters') {
    return `The filters match over 20,000 traces, too many to split by ${field}. Clear them or shorten the period.`
  }
  if (missing === 'sums') {
    return (
      `Totals by ${field} are not stored, and the period has more than 20,000 traces. Shorten the period, or store ` +
      `them with spoor project update SLUG --usage-tags ${by.replace('tag:', '')}.`
    )
  }
  return `No traces match.`
}

const capitalised = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

function Cells({ group, share, approximate }: { group: SplitRow; share: number; approximate: boolean }) {
  const { total, before } = group
  const { traces, errors, p50, p95, inputTokens, outputTokens, costUsd, priced } = total
  const rate = rateOf(errors, traces)
  const percentile = (ms: number | null) => formatPercentile(ms, approximate)
  return (
    <>
      <td class="number">
        <span class="share" aria-hidden="true">
          <span class="tone-1" style={{ inlineSize: `${(share * 100).toFixed(1)}%` }}>
            <span class="tone-bad" style={{ inlineSize: `${((rate ?? 0) * 100).toFixed(1)}%` }} />
          </span>
        </span>
        <span class="count">{formatCount(traces)}</span>{' '}
        <ChangeNumber value={traces} before={before?.traces} format={formatCount} />
      </td>
      <td class={errors > 0 ? 'number is-error' : 'number soft'}>
        {rate === null ? NONE : formatPercent(rate)}{' '}
        <ChangeNumber
          points
          value={rate}
          before={before && rateOf(before.errors, before.traces)}
          format={formatPercent}
        />
      </td>
      <td class="number">
        {percentile(p50)} <ChangeNumber value={p50} before={before?.p50} format={percentile} />
      </td>
      <td class="number">
        {percentile(p95)} <ChangeNumber value={p95} before={before?.p95} format={percentile} />
      </td>
      <td class="number">
        {formatCount(inputTokens + outputTokens)}{' '}
        <ChangeNumber
          value={inputTokens + outputTokens}
          before={before && before.inputTokens + before.outputTokens}
          format={formatCount}
        />
      </td>
      <td class="number">
        {priced === 0 ? (
          NONE
        ) : (
          <>
            {formatCost(costUsd)}{' '}
            <ChangeNumber
              value={costUsd}
              before={before && before.priced > 0 ? before.costUsd : null}
              format={formatCost}
            />
          </>
        )}
      </td>
    </>
  )
}
