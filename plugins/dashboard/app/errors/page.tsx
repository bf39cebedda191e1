/** A project's failures, grouped by step, type of error and message. Each group leads to its traces. */

import { stepsBetween } from '../charts/series.ts'
import { SparkBars } from '../charts/spark.tsx'
import type { GroupOfFailures } from '../contract.ts'
import { at, read } from '../state/api.ts'
import { useExamined } from '../state/examining.ts'
import { type ListQuery, withTime, writeQuery } from '../state/list-query.ts'
import { useRead } from '../state/load.ts'
import { goSearch, useArrival, usePlace } from '../state/navigation.ts'
import { readOverview, toCounted, writeOverview } from '../state/overview-query.ts'
import { preferences, presentTime } from '../state/preferences.ts'
import { pathOf } from '../state/route.ts'
import { useStore } from '../state/store.ts'
import { COUNTED_RANGES, rangeName } from '../state/time-range.ts'
import { Button, ButtonLink } from '../ui/controls.tsx'
import { Moment } from '../ui/facts.tsx'
import { FilterBar } from '../ui/filter-bar.tsx'
import { formatCount, formatCounted } from '../ui/format.ts'
import { Pending } from '../ui/problem.tsx'
import { LinkedRows, numbers } from '../ui/table.tsx'
import { asLine } from '../ui/text.ts'
import { shortTime, type Zone } from '../ui/time.ts'
import { isExamined, isNew, type LoadedFailures, tracesQueryOf, withFailures } from './failure-list.ts'

export function ErrorsPage({ slug }: { slug: string }) {
  const { search } = usePlace()
  const { zone } = useStore(preferences)
  const { filters, ...time } = readOverview(search)
  const query: ListQuery = { ...time, filters: filters.env ? { env: filters.env } : {} }
  const { value, error, again, more } = useExamined<LoadedFailures>(
    `${slug} ${writeOverview(query, [])} ${zone}`,
    async (known, signal) => {
      const asked = nextOf(toCounted(query, presentTime()), known)
      return withFailures(known, await read(at('p/:slug/errors', { slug }, asked), { signal }))
    },
    isExamined
  )
  const facets = useRead(at('p/:slug/facets', { slug })).value
  useArrival(value !== undefined || error !== undefined)
  const change = (next: ListQuery) => goSearch(writeOverview(next, []))
  return (
    <div class="list-page">
      <div class="head">
        <h1 tabIndex={-1}>Errors</h1>
      </div>
      <FilterBar query={query} facets={facets} only={['env']} ranges={COUNTED_RANGES} change={change} />
      <Pending of={{ value, error, again }} what="the errors" />
      {value !== undefined &&
        (value.groups.length === 0 && isExamined(value) ? (
          <NoFailures slug={slug} query={query} change={change} />
        ) : (
          <Failures slug={slug} list={value} env={query.filters.env} zone={zone} more={more} />
        ))}
    </div>
  )
}

/** A further page is of the same period as the first, although the present has moved on. */
function nextOf(asked: string, list: LoadedFailures | undefined): URLSearchParams {
  const parameters = new URLSearchParams(asked)
  if (list === undefined || list.nextCursor === null) return parameters
  parameters.delete('range')
  for (const name of ['from', 'to'] as const) parameters.set(name, list[name])
  parameters.set('after', list.nextCursor)
  return parameters
}

interface FailuresProps {
  readonly slug: string
  readonly list: LoadedFailures
  readonly env: string | undefined
  readonly zone: Zone
  more(): void
}

function Failures({ slug, list, env, zone, more }: FailuresProps) {
  const { groups, others, reached } = list
  const now = new Date()
  // A failure that a step passed on from its child is the child's.
  const count = groups.reduce((sum, each) => sum + each.count - each.passedOn, 0)
  const fresh = groups.filter(group => isNew(group, list)).length
  return (
    <>
      <p class="soft" role="status">
        {formatCounted(count, 'failure')} in {formatCounted(groups.length + others, 'group')}
        {fresh > 0 && `, ${formatCount(fresh)} new vs. the previous period`}.
        {reached !== null && (
          <>
            {` LoadedInParts back to ${shortTime(reached, zone, now)}; older traces are not counted yet.`}{' '}
            <button type="button" class="link" onClick={more}>
              Examine older traces
            </button>
          </>
        )}
      </p>
      <LinkedRows
        class="failures"
        label="Errors"
        titles={[
          'Step and message',
          'Over time',
          ...numbers('Failures', 'Traces'),
          'First in period',
          'Last seen',
          'Latest'
        ]}
      >
        {groups.map(group => (
          <Row
            key={JSON.stringify([group.kind, group.name, group.type, group.pattern])}
            {...{ slug, group, list, env, zone, now }}
          />
        ))}
      </LinkedRows>
    </>
  )
}

interface RowProps extends Pick<FailuresProps, 'slug' | 'list' | 'env' | 'zone'> {
  readonly group: GroupOfFailures
  readonly now: Date
}

function Row({ slug, group, list, env, zone, now }: RowProps) {
  const { name, kind, type, pattern, count, passedOn, traces, steps, before, firstAt, lastAt, example } = group
  const href = `${pathOf({ page: 'traces', slug })}${tracesQueryOf(group, stepsBetween(list), env)}`
  const span = example.spanId === null ? '' : `?span=${example.spanId}`
  return (
    <tr>
      <td class="of-name">
        <div>
          <span class="failure-step">
            <a class="open" href={href} title="Show the traces">
              {asLine(name, 120)}
            </a>
            <span class="kind">{kind}</span>
            {isNew(group, list) && <span class="new-failure">new</span>}
            {passedOn === count && <span class="soft small">passed on from a failed child</span>}
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
      <td class="of-seen" data-label="First in period">
        <Moment iso={firstAt} zone={zone} now={now} />
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
  const time = query.range === undefined ? 'in this time' : `in the ${rangeName(query.range).toLowerCase()}`
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
        <ButtonLink href={`${pathOf({ page: 'traces', slug })}${writeQuery(query)}`}>Go to the traces</ButtonLink>
      </p>
    </div>
  )
}
