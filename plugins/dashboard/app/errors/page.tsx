/** A project's failures, grouped by step, type of error and message. Each group leads to its traces. */

import { stepsBetween } from '../charts/series.ts'
import { SparkBars } from '../charts/spark.tsx'
import type { GroupOfFailures } from '../contract.ts'
import { at, read } from '../state/api.ts'
import { type LoadedInParts, useExamined } from '../state/examining.ts'
import { type ListQuery, withTime, writeQuery } from '../state/list-query.ts'
import { useRead } from '../state/load.ts'
import { goSearch, useArrival, usePlace } from '../state/navigation.ts'
import { otherParameters } from '../state/other-parameters.ts'
import { readOverview, toCounted, writeOverview } from '../state/overview-query.ts'
import { preferences, presentTime } from '../state/preferences.ts'
import { pathOf, readParameters } from '../state/route.ts'
import { useStore } from '../state/store.ts'
import { COUNTED_RANGES, rangeName } from '../state/time-range.ts'
import { withParameters } from '../state/trace-group.ts'
import { Button, ButtonLink, LinkButton } from '../ui/controls.tsx'
import { Moment } from '../ui/facts.tsx'
import { FilterBar } from '../ui/filter-bar.tsx'
import { formatCount, formatCounted } from '../ui/format.ts'
import { IgnoredParameters } from '../ui/ignored-parameters.tsx'
import { Pending } from '../ui/problem.tsx'
import { LinkedRows, numbers, type Title } from '../ui/table.tsx'
import { asLine } from '../ui/text.ts'
import { shortTime, type Zone } from '../ui/time.ts'
import {
  countFailures,
  FAILURE_SORTS,
  type FailureHistory,
  type FailureSort,
  firstSeen,
  isExamined,
  isNew,
  keyOfFailure,
  type LoadedFailures,
  readFailureSort,
  sortedFailures,
  tracesQueryOf,
  withEarlier,
  withFailures
} from './failure-list.ts'

/** Maximum number of requests for earlier failures, of some 5,000 traces each, before the visitor is asked. */
const HISTORY_REQUESTS = 12

export function ErrorsPage({ slug }: { slug: string }) {
  const { search } = usePlace()
  const { zone } = useStore(preferences)
  const { filters, ...time } = readOverview(search)
  const query: ListQuery = { ...time, filters: filters.env ? { env: filters.env } : {} }
  const { value, error, again, more } = useExamined<LoadedFailures>(
    `${slug} ${writeOverview(query, [])} ${zone}`,
    async (known, signal) => {
      const asked = nextOf(new URLSearchParams(toCounted(query, presentTime())), known)
      return withFailures(known, await read(at('p/:slug/errors', { slug }, asked), { signal }))
    },
    isExamined
  )
  // Traces before both periods are examined once the list is shown.
  const history = useExamined<FailureHistory>(
    value !== undefined && isExamined(value) && value.groups.length > 0
      ? `${slug} ${query.filters.env} before ${value.from} ${value.to}`
      : undefined,
    async (known, signal) => {
      const asked = nextOf(new URLSearchParams(), value!, known?.nextCursor)
      if (query.filters.env) asked.set('env', query.filters.env)
      asked.set('earlier', '1')
      return withEarlier(known, await read(at('p/:slug/errors', { slug }, asked), { signal }))
    },
    ({ nextCursor }) => nextCursor === null,
    HISTORY_REQUESTS
  )
  const facets = useRead(at('p/:slug/facets', { slug })).value
  useArrival(value !== undefined || error !== undefined)
  const sort = readFailureSort(readParameters(search, ['sort']).sort)
  const addressOf = (next: ListQuery, by = sort) =>
    withParameters(writeOverview(next, []), by === 'count' ? {} : { sort: by })
  const change = (next: ListQuery) => goSearch(addressOf(next))
  return (
    <div class="list-page">
      <div class="head">
        <h1 tabIndex={-1}>Errors</h1>
      </div>
      <FilterBar query={query} facets={facets} only={['env']} ranges={COUNTED_RANGES} change={change} />
      <IgnoredParameters names={otherParameters(search, ['range', 'from', 'to', 'env', 'sort'])} />
      <Pending of={{ value, error, again }} what="the errors" />
      {value !== undefined &&
        (value.groups.length === 0 && isExamined(value) ? (
          <NoFailures slug={slug} query={query} change={change} />
        ) : (
          <Failures
            slug={slug}
            list={value}
            history={history}
            env={query.filters.env}
            sort={sort}
            setSort={next => goSearch(addressOf(query, next), { replace: true })}
            zone={zone}
            more={more}
          />
        ))}
    </div>
  )
}

/** Further pages cover the same period as the first page, although time has passed. */
function nextOf(asked: URLSearchParams, list: LoadedFailures | undefined, after = list?.nextCursor): URLSearchParams {
  if (list === undefined) return asked
  asked.delete('range')
  for (const name of ['from', 'to'] as const) asked.set(name, list[name])
  asked.set('offset', String(list.offset))
  if (after != null) asked.set('after', after)
  return asked
}

interface FailuresProps {
  readonly slug: string
  readonly list: LoadedFailures
  /** Earlier failures, which are loaded after the list. */
  readonly history: LoadedInParts<FailureHistory>
  readonly env: string | undefined
  readonly sort: FailureSort
  readonly zone: Zone
  setSort(sort: FailureSort): void
  more(): void
}

function Failures({ slug, list, history, env, sort, zone, setSort, more }: FailuresProps) {
  const { groups, reached } = list
  const now = new Date()
  const counts = countFailures(list)
  const fresh = groups.filter(each => each.count > each.passedOn && isNew(each, list, history.value)).length
  const column = (name: FailureSort, kind?: 'number'): Title => ({
    title: FAILURE_SORTS[name],
    ...(sort === name ? { is: kind ? 'sorted number' : 'sorted' } : kind && { is: kind }),
    sort: () => setSort(name)
  })
  const knownSince = history.value?.reached
  return (
    <>
      <p class="soft" role="status">
        {formatCounted(counts.failures, 'failure')} in {formatCounted(counts.groups, 'group')}
        {fresh > 0 && `, ${formatCount(fresh)} new`}.{counts.passedOn > 0 && ` ${repeating(counts.passedOn)}`}
        {reached !== null && (
          <>
            {` Counted back to ${shortTime(reached, zone, now)}; older traces are not included yet.`}{' '}
            <LinkButton onClick={more}>Count older traces</LinkButton>
          </>
        )}
        {knownSince && (
          <>
            {` “First seen” covers traces back to ${shortTime(knownSince, zone, now)}.`}{' '}
            <LinkButton onClick={history.more}>Search older traces</LinkButton>
          </>
        )}
      </p>
      <LinkedRows
        class="failures"
        label="Errors"
        titles={[
          ...['Step and message', 'Over time'],
          column('count', 'number'),
          ...numbers('Traces'),
          column('first'),
          column('last'),
          'Latest'
        ]}
      >
        {sortedFailures(list, sort, history.value).map(group => (
          <Row key={keyOfFailure(group)} {...{ slug, group, list, env, zone, now }} history={history.value} />
        ))}
      </LinkedRows>
    </>
  )
}

const repeating = (groups: number): string =>
  groups === 1
    ? '1 more group only repeats a child’s failures.'
    : `${groups} more groups only repeat a child’s failures.`

interface RowProps extends Pick<FailuresProps, 'slug' | 'list' | 'env' | 'zone'> {
  readonly group: GroupOfFailures
  readonly history: FailureHistory | undefined
  readonly now: Date
}

function Row({ slug, group, list, history, env, zone, now }: RowProps) {
  const { name, kind, type, pattern, count, passedOn, traces, steps, before, lastAt, example } = group
  const href = `${pathOf({ page: 'traces', slug })}${tracesQueryOf(group, stepsBetween(list), env)}`
  const span = example.spanId === null ? '' : `?span=${example.spanId}`
  return (
    <tr>
      <td class="of-name">
        <div>
          <span class="failure-step">
            <a class="open" href={href} title="Show traces">
              {asLine(name, 120)}
            </a>
            <span class="kind">{kind}</span>
            {isNew(group, list, history) && (
              <span class="new-failure" title={history?.reached ? undefined : 'Not seen in any earlier trace'}>
                {history?.reached ? `new since ${shortTime(history.reached, zone, now)}` : 'new'}
              </span>
            )}
            {passedOn === count && <span class="soft small">repeats a child’s failure</span>}
          </span>
          <span class="failure-message" title={example.message === null ? undefined : asLine(example.message, 500)}>
            {type !== null && <b>{asLine(type, 80)} </b>}
            {pattern === null ? type === null && 'No message was recorded.' : asLine(pattern, 300)}
          </span>
        </div>
      </td>
      <td class="of-spark" data-label="Over time">
        <SparkBars counts={steps} length={list.starts.length} tone="bad" />
      </td>
      <td class="number" data-label="Failures">
        {formatCount(count)} {before > 0 && <small title="In the previous period">before: {formatCount(before)}</small>}
      </td>
      <td class="number" data-label="Traces">
        {formatCount(traces)}
      </td>
      <td class="of-seen" data-label="First seen">
        <Moment iso={firstSeen(group, history)} zone={zone} now={now} />
      </td>
      <td class="of-seen" data-label="Last seen">
        <Moment iso={lastAt} zone={zone} now={now} />
      </td>
      <td data-label="Latest">
        <a href={`${pathOf({ page: 'trace', slug, traceId: example.traceId })}${span}`}>
          Open<span class="unseen"> the latest trace with {asLine(name, 60)}</span>
        </a>
      </td>
    </tr>
  )
}

interface EmptyProps {
  readonly slug: string
  readonly query: ListQuery
  change(query: ListQuery): void
}

/** Shown if nothing failed, with links that widen the selection. */
function NoFailures({ slug, query, change }: EmptyProps) {
  const time = query.range === undefined ? 'in this period' : `in the ${rangeName(query.range).toLowerCase()}`
  return (
    <div class="empty">
      <h2>Nothing failed {time}</h2>
      <p>
        A step counts as failed if its status is <code>error</code>. A trace with this status and no failed step counts
        as well. Failures are grouped by step, type of error and message.
      </p>
      <p class="buttons">
        {query.range !== '90d' && (
          <Button onClick={() => change(withTime(query, { range: '90d' }))}>Show the last 90 days</Button>
        )}
        {query.filters.env !== undefined && (
          <Button onClick={() => change({ ...query, filters: {} })}>Clear filters</Button>
        )}
        <ButtonLink href={`${pathOf({ page: 'traces', slug })}${writeQuery(query)}`}>Go to traces</ButtonLink>
      </p>
    </div>
  )
}
