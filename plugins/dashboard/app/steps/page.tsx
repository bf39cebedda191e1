/** The steps of all traces, newest or slowest first. The page's URL holds filters, time and order. */

import type { ListedStep, StepPage } from '../contract.ts'
import { at, read } from '../state/api.ts'
import { useExamined } from '../state/examining.ts'
import { fieldOf } from '../state/filter-text.ts'
import {
  type Filters,
  firstPage,
  ignoredParameters,
  type ListQuery,
  listedTime,
  narrowed,
  withoutFilters,
  withSort,
  withTime,
  writeQuery
} from '../state/list-query.ts'
import { useLoad, useRead } from '../state/load.ts'
import { goSearch, useArrival, usePlace } from '../state/navigation.ts'
import { preferences, presentTime } from '../state/preferences.ts'
import { pathOf } from '../state/route.ts'
import { useStore } from '../state/store.ts'
import { tell } from '../state/toasts.ts'
import { ButtonLink, Icon, LinkButton, StatusIcon } from '../ui/controls.tsx'
import { DurationMeter } from '../ui/duration-meter.tsx'
import { Moment } from '../ui/facts.tsx'
import { ChosenFilter, FilterFrame, TypedFilter } from '../ui/filter-bar.tsx'
import { formatCost, formatCount, formatCounted, NONE } from '../ui/format.ts'
import { IgnoredParameters } from '../ui/ignored-parameters.tsx'
import { NoMatches } from '../ui/no-matches.tsx'
import { Pending } from '../ui/problem.tsx'
import { LinkedRows, numbers, type Title } from '../ui/table.tsx'
import { asLine } from '../ui/text.ts'
import { shortTime, type Zone } from '../ui/time.ts'
import { TimeMenu } from '../ui/time-menu.tsx'
import {
  isDone,
  readStepQuery,
  readTypedDuration,
  STEPS_SHOWN,
  stepParameters,
  typedDuration,
  withSteps
} from './step-list.ts'

export function StepsPage({ slug }: { slug: string }) {
  const { zone } = useStore(preferences)
  const { search } = usePlace()
  const query = readStepQuery(search)
  const { sort, after } = query
  const { value, error, again, more } = useExamined<StepPage>(
    `${slug} ${zone} ${writeQuery(query)}`,
    async (known, signal) => {
      const asked = stepParameters(query, presentTime(), known?.nextCursor ?? after)
      return withSteps(known, await read(at('p/:slug/spans', { slug }, asked), { signal }), sort)
    },
    list => isDone(list, sort)
  )
  useArrival(value !== undefined || error !== undefined)
  const change = (next: ListQuery) => goSearch(writeQuery(firstPage(next)))
  return (
    <div class="list-page">
      <div class="head">
        <h1 tabIndex={-1}>Steps</h1>
      </div>
      <StepFilters slug={slug} query={query} change={change} />
      <IgnoredParameters names={ignoredParameters(search, readStepQuery)} />
      <Pending of={{ value, error, again }} what="the steps" />
      {value !== undefined && (
        <>
          <Reach list={value} query={query} zone={zone} more={more} />
          {value.spans.length > 0 ? (
            <StepTable slug={slug} list={value} query={query} zone={zone} change={change} />
          ) : (
            value.nextCursor === null && <NoMatches what="steps" query={query} hint={value.hint} change={change} />
          )}
          <Pager slug={slug} list={value} query={query} />
        </>
      )}
    </div>
  )
}

interface FiltersProps {
  readonly slug: string
  readonly query: ListQuery
  change(query: ListQuery): void
}

const choicesOf = (filter: 'kind' | 'stepStatus') => Object.keys(fieldOf(filter)!.choices!)

function StepFilters({ slug, query, change }: FiltersProps) {
  const { filters, sort } = query
  const facets = useRead(at('p/:slug/facets', { slug })).value
  const time = writeQuery({ ...withTime(query, query), filters: {}, sort: 'newest' })
  const names = useLoad(`names ${slug} ${time}`, signal => {
    const asked = new URLSearchParams({ field: 'step', ...listedTime(query, presentTime()) })
    return read(at('p/:slug/suggestions', { slug }, asked), { signal })
  }).value?.values
  const set = (name: keyof Filters, value: string | undefined) => change(narrowed(query, { [name]: value }))
  const { minDuration } = filters
  return (
    <FilterFrame
      label="Filter the steps"
      count={Object.keys(filters).length}
      time={<TimeMenu query={query} change={change} />}
      clear={() => change(withoutFilters(query))}
    >
      <ChosenFilter label="Kind" value={filters.kind} values={choicesOf('kind')} set={kind => set('kind', kind)} />
      <TypedFilter
        label="Name"
        value={filters.step ?? ''}
        known={names?.map(({ value }) => value)}
        counted={names && new Map(names.map(({ value, traces }) => [value, traces]))}
        set={name => set('step', name)}
      />
      <ChosenFilter
        label="Status"
        value={filters.stepStatus}
        values={choicesOf('stepStatus')}
        set={status => set('stepStatus', status)}
      />
      <TypedFilter
        label="Model"
        value={filters.model ?? ''}
        known={facets?.models}
        set={model => set('model', model)}
      />
      <ChosenFilter
        label="Environment"
        value={filters.env}
        values={[...(facets?.environments ?? []), filters.env]}
        set={env => set('env', env)}
      />
      <TypedFilter
        label="Duration at least"
        value={minDuration === undefined ? '' : typedDuration(minDuration)}
        placeholder="2s, 500ms"
        set={typed => {
          const ms = readTypedDuration(typed)
          if (ms === undefined && typed !== '') tell('Enter a duration such as 2s, 500ms or 1min.', true)
          else set('minDuration', ms)
        }}
      />
      <label class={`filter ${sort === 'newest' ? '' : 'is-set'}`}>
        <span>Sort by</span>
        <select
          value={sort}
          onChange={event => change(withSort(query, event.currentTarget.value as ListQuery['sort']))}
        >
          <option value="newest">Newest</option>
          <option value="slowest">Slowest</option>
        </select>
      </label>
    </FilterFrame>
  )
}

interface ListProps {
  readonly list: StepPage
  readonly query: ListQuery
  readonly zone: Zone
}

/** Shows which traces were examined, if not all traces in the period. */
function Reach({ list: { reached, nextCursor }, query, zone, more }: ListProps & { more(): void }) {
  if (reached === null || nextCursor === null) return null
  const isSlowest = query.sort === 'slowest'
  return (
    <p class="soft far" role="status">
      {`Searched back to ${shortTime(reached, zone, new Date())}${isSlowest ? '; older steps may be slower' : ''}. `}
      {isSlowest && <LinkButton onClick={more}>Search older traces</LinkButton>}
    </p>
  )
}

interface TableProps extends ListProps {
  readonly slug: string
  change(query: ListQuery): void
}

function StepTable({ slug, list: { spans }, query, zone, change }: TableProps) {
  const now = new Date()
  const longestMs = Math.max(0, ...spans.map(({ durationMs }) => durationMs))
  const column = (title: string, sort: 'newest' | 'slowest', kind: 'number' | undefined): Title => ({
    title,
    ...(query.sort === sort ? { is: kind ? 'sorted number' : 'sorted' } : kind && { is: kind }),
    sort: () => change(withSort(query, sort))
  })
  return (
    <LinkedRows
      class="steps"
      label="Steps"
      titles={[
        ...['Step', 'Status', 'Trace', 'Model'],
        column('Started', 'newest', undefined),
        column('Duration', 'slowest', 'number'),
        ...numbers('Tokens', 'Cost')
      ]}
    >
      {spans.map(step => [
        <StepRow key={`${step.traceId} ${step.id}`} {...{ slug, step, zone, now, longestMs }} />,
        step.error !== null && (
          <tr key={`${step.traceId} ${step.id} error`} class="excerpt">
            <td colSpan={8}>
              <div class="clip is-error">
                <Icon name="error" />{' '}
                {asLine(
                  [step.error.type, step.error.message].filter(Boolean).join(': ') || 'No message was recorded.',
                  200
                )}
              </div>
            </td>
          </tr>
        )
      ])}
    </LinkedRows>
  )
}

interface RowProps {
  readonly slug: string
  readonly step: ListedStep
  readonly zone: Zone
  readonly now: Date
  readonly longestMs: number
}

function StepRow({ slug, step, zone, now, longestMs }: RowProps) {
  const { traceId, id, name, kind, status, traceName, model, startedAt, durationMs, usage, costUsd } = step
  const trace = pathOf({ page: 'trace', slug, traceId })
  const tokens = usage?.totalTokens ?? null
  return (
    <tr>
      <td class="of-name">
        <a id={`s-${traceId}-${id}`} class="open" href={`${trace}?span=${id}`}>
          {asLine(name, 120)}
        </a>
        <span class="kind">{kind}</span>
      </td>
      <td class="of-status">
        <StatusIcon status={status} />
      </td>
      <td class="of-trace" data-label="Trace">
        <a class="narrow-to" href={trace}>
          {asLine(traceName, 60)}
        </a>
      </td>
      <td class="of-model" data-label="Model">
        {model === null ? <span class="soft">{NONE}</span> : asLine(model, 60)}
      </td>
      <td class="of-started">
        <Moment iso={startedAt} zone={zone} now={now} />
      </td>
      <td class="number" data-label="Duration">
        <DurationMeter ms={durationMs} longestMs={longestMs} />
      </td>
      <td class="number" data-label="Tokens">
        {tokens === null ? <span class="soft">{NONE}</span> : formatCount(tokens)}
      </td>
      <td class="number" data-label="Cost">
        {costUsd === null ? <span class="soft">{NONE}</span> : formatCost(costUsd)}
      </td>
    </tr>
  )
}

function Pager({ slug, list, query }: { slug: string; list: StepPage; query: ListQuery }) {
  const { spans, nextCursor } = list
  const base = pathOf({ page: 'steps', slug })
  const isSlowest = query.sort === 'slowest'
  if (spans.length === 0 && nextCursor === null && query.after === undefined) return null
  return (
    <nav class="pager" aria-label="Pages of the list">
      <span class="soft" role="status">
        {isSlowest && spans.length >= STEPS_SHOWN
          ? `The ${spans.length} slowest steps`
          : `${formatCounted(spans.length, 'step')}${isSlowest ? '' : ' on this page'}`}
      </span>
      {query.after !== undefined && <ButtonLink href={`${base}${writeQuery(firstPage(query))}`}>First page</ButtonLink>}
      {!isSlowest && nextCursor !== null && (
        <ButtonLink href={`${base}${writeQuery({ ...query, after: nextCursor })}`}>Older →</ButtonLink>
      )}
    </nav>
  )
}
