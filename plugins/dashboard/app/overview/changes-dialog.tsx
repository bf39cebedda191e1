/** Explains one step of a chart: which groups changed most since the step before, by each field. */

import { useState } from 'preact/hooks'
import { timeAxis } from '../charts/axis.ts'
import { changeOf, hasSteps, stepsBetween, wholeOf } from '../charts/series.ts'
import type { SeriesAnswer, SplitAnswer } from '../contract.ts'
import { at, read } from '../state/api.ts'
import { type ListQuery, narrowed, withTime, writeQuery } from '../state/list-query.ts'
import { useLoad } from '../state/load.ts'
import { toCounted, writeOverview } from '../state/overview-query.ts'
import { presentTime } from '../state/preferences.ts'
import { fieldName, groupFilters, SPLIT_FIELDS, tagKeyOf, withParameters } from '../state/trace-group.ts'
import { ButtonLink } from '../ui/controls.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { formatCost, formatCount, formatPercent, formatPercentile, NONE } from '../ui/format.ts'
import { Pending } from '../ui/problem.tsx'
import { numbers, Titles } from '../ui/table.tsx'
import { asLine } from '../ui/text.ts'
import type { Zone } from '../ui/time.ts'
import { type GroupChange, groupChanges, type Metric, metricOf, sortSplits } from './changes.ts'
import { TotalNumber } from './total-number.tsx'

const TITLES: Readonly<Record<Metric, string>> = {
  traces: 'Traces',
  errors: 'Error rate',
  latency: 'Latency, p95',
  tokens: 'Tokens',
  cost: 'Cost'
}
const MOST_ROWS = 6

interface Props {
  readonly slug: string
  /** The chart's response, which has the step, and its query. */
  readonly answer: Pick<SeriesAnswer, 'from' | 'to' | 'starts' | 'step' | 'offset'>
  readonly query: ListQuery
  readonly step: number
  readonly metric: Metric
  /** The field by which the charts are split, if it is a tag's. */
  readonly by: string | undefined
  readonly zone: Zone
  readonly list: string
  onClose(): void
}

export function ChangesDialog({ slug, answer, query, step, metric, by, zone, list, onClose }: Props) {
  const [chosen, setChosen] = useState<string>()
  // The end of a step is exclusive in requests, and inclusive in lists.
  const time = { from: answer.starts[step]!, to: answer.starts[step + 1] ?? answer.to }
  const asked = withTime(query, time)
  const fields = [...SPLIT_FIELDS, ...(by !== undefined && tagKeyOf(by) ? [by] : [])]
  const loaded = useLoad(`${slug} ${writeOverview(asked, [])} ${fields} ${answer.offset}`, async signal => {
    const of = (more: object) =>
      read(
        at(
          'p/:slug/series',
          { slug },
          toCounted(asked, { ...presentTime(), offset: answer.offset }, { compare: '1', ...more })
        ),
        { signal }
      )
    const whole = await of({ exact: '1' })
    const splits: SplitAnswer[] = []
    for (const field of fields) {
      const split = await of({ by: field })
      if (!hasSteps(split)) splits.push(split)
    }
    return { whole: hasSteps(whole) ? whole : undefined, splits }
  })
  const { value } = loaded
  const sorted = value === undefined ? [] : sortSplits(value.splits, metric)
  const split = sorted.find(each => each.by === chosen) ?? sorted[0]
  const listQuery = withTime(query, stepsBetween(answer, step, step))
  const format = formatOf(metric, value?.whole?.approximate ?? false)
  return (
    <Dialog wide title={`${TITLES[metric]}: ${timeAxis(answer, zone).names[step]}`} onClose={onClose}>
      <div class="changes">
        <Pending of={loaded} what="the changes" />
        {value?.whole !== undefined && (
          <p>
            <TotalNumber
              value={metricOf(wholeOf(value.whole).total, metric)}
              before={value.whole.before && metricOf(value.whole.before, metric)}
              format={format}
              points={metric === 'errors'}
            />{' '}
            <span class="soft">compared with the {STEP_NAMES[answer.step]} before</span>
          </p>
        )}
        {split !== undefined && (
          <>
            <p class="buttons">
              {sorted.map(each => (
                <button
                  type="button"
                  key={each.by}
                  aria-pressed={each.by === split.by}
                  onClick={() => setChosen(each.by)}
                >
                  {fieldName(each.by)}
                </button>
              ))}
            </p>
            <ChangesTable split={split} metric={metric} format={format} address={`${list}${writeQuery(listQuery)}`} />
          </>
        )}
        <p class="buttons">
          <ButtonLink
            href={`${list}${writeQuery(metric === 'errors' ? narrowed(listQuery, { status: 'error' }) : listQuery)}`}
          >
            Show traces
          </ButtonLink>
        </p>
      </div>
    </Dialog>
  )
}

const STEP_NAMES = { minute5: 'five minutes', hour: 'hour', day: 'day' } as const

type Format = (value: number) => string

const formatOf = (metric: Metric, approximate: boolean): Format =>
  ({
    traces: formatCount,
    errors: formatPercent,
    latency: (ms: number) => formatPercentile(ms, approximate),
    tokens: formatCount,
    cost: formatCost
  })[metric]

interface TableProps {
  readonly split: SplitAnswer
  readonly metric: Metric
  readonly format: Format
  /** Address of the list of the step's traces. */
  readonly address: string
}

function ChangesTable({ split, metric, format, address }: TableProps) {
  const { by } = split
  const sizeOf = ({ now, before }: GroupChange) => Math.abs((now ?? 0) - (before ?? 0))
  // The groups that explain most are listed, and the largest difference comes first.
  const changes = groupChanges(split, metric)
    .slice(0, MOST_ROWS)
    .sort((a, b) => sizeOf(b) - sizeOf(a))
  if (changes.length === 0) return <p class="soft">No data by {fieldName(by)}.</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <section class="numbers is-whole" tabIndex={0} aria-label={`Largest changes by ${fieldName(by)}`}>
      <table>
        <thead>
          <Titles of={[`Largest changes by ${fieldName(by)}`, ...numbers('Before', 'Now', 'Change')]} />
        </thead>
        <tbody>
          {changes.map(({ group: { key, kind, isOther }, now, before }) => (
            <tr key={`${key} ${kind} ${isOther}`}>
              <th scope="row" class="clip">
                {key === null ? (
                  <span class="soft">{isOther ? 'all others' : `no ${fieldName(by)}`}</span>
                ) : (
                  <a href={withParameters(address, groupFilters(by, key, kind))}>{asLine(key, 60)}</a>
                )}
              </th>
              <td class="number">{before === null ? NONE : format(before)}</td>
              <td class="number">{now === null ? NONE : format(now)}</td>
              <td class="number">{differenceOf(metric, now, before, format)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function differenceOf(metric: Metric, now: number | null, before: number | null, format: Format): string {
  if (now === null || before === null) return NONE
  const sign = now > before ? '+' : now < before ? '−' : '±'
  if (metric === 'errors') return `${sign}${Math.abs((now - before) * 100).toFixed(1)} points`
  const size = `${sign}${format(Math.abs(now - before)).replace('≈ ', '')}`
  const change = changeOf(now, before)
  return change === null ? size : `${size} (${change > 0 ? '+' : '−'}${formatPercent(Math.abs(change))})`
}
