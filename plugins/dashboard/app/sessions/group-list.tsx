/** A project's sessions or users, most recently seen first. */

import type { ComponentChildren } from 'preact'
import type { Group, SessionPage, UserPage } from '../contract.ts'
import { at, read } from '../state/api.ts'
import { useLoad, useRead } from '../state/load.ts'
import { goSearch, useArrival, usePlace } from '../state/navigation.ts'
import { preferences } from '../state/preferences.ts'
import { pathOf, readParameters, searchOf } from '../state/route.ts'
import { useStore } from '../state/store.ts'
import { DAY_RANGE_CHOICES } from '../state/time-range.ts'
import { ButtonLink } from '../ui/controls.tsx'
import { Day, Fact, Moment } from '../ui/facts.tsx'
import { ChosenFilter, TypedFilter } from '../ui/filter-bar.tsx'
import { formatCost, formatCount, formatCounted, NONE } from '../ui/format.ts'
import { Pending } from '../ui/problem.tsx'
import { LinkedRows, numbers } from '../ui/table.tsx'
import { asLine } from '../ui/text.ts'
import { shortTime, type Zone } from '../ui/time.ts'

const WORDS = {
  sessions: { title: 'Sessions', one: 'session', field: 'sessionId' },
  users: { title: 'Users', one: 'user', field: 'userId' }
} as const

type GroupKind = keyof typeof WORDS

/**
 * Parameters in the page's URL and in requests: the prefix by which ids are filtered and, for users, the time range of
 * the totals.
 */
const NAMES = ['prefix', 'env', 'range', 'after'] as const
type GroupQuery = Partial<Record<(typeof NAMES)[number], string>>

export const readGroupQuery = (search: string): GroupQuery => readParameters(search, NAMES)
export const writeGroupQuery = (query: GroupQuery): string => searchOf(query, NAMES)

/** Maximum number of cached pages. A cached page is shown at once when the visitor goes back. */
const KEPT = 10
const pages = new Map<string, SessionPage | UserPage>()

export function GroupList({ slug, kind }: { slug: string; kind: GroupKind }) {
  const { search } = usePlace()
  const { zone } = useStore(preferences)
  const query = readGroupQuery(search)
  const { title, one, field } = WORDS[kind]
  const key = at(`p/:slug/${kind}`, { slug }, writeGroupQuery(query))
  const loaded = useLoad(
    key,
    async signal => {
      const page = await read(key, { signal })
      pages.set(key, page)
      for (const old of pages.keys()) if (pages.size > KEPT) pages.delete(old)
      return page
    },
    () => pages.get(key)
  )
  const facets = useRead(at('p/:slug/facets', { slug })).value
  const { value: page } = loaded
  useArrival(page !== undefined)
  const change = (next: GroupQuery) => goSearch(writeGroupQuery(next))
  const { after: _, ...first } = query
  const isFiltered = query.prefix !== undefined || query.env !== undefined
  const base = pathOf({ page: kind, slug })
  return (
    <div class="list-page">
      <div class="head">
        <h1 tabIndex={-1}>{title}</h1>
      </div>
      <div class="filters">
        <search class="is-open" aria-label={`Filter the ${kind}`}>
          <TypedFilter
            label="Begins with"
            value={query.prefix ?? ''}
            set={prefix => change({ ...(query.env && { env: query.env }), prefix })}
          />
          <ChosenFilter
            label="Environment"
            value={query.env}
            values={[...(facets?.environments ?? []), query.env]}
            set={env => change({ ...first, env })}
          />
          {kind === 'users' && <RangeChoice range={query.range} set={range => change({ ...first, range })} />}
          {isFiltered && (
            <button
              type="button"
              class="link"
              onClick={() => change(query.range === undefined ? {} : { range: query.range })}
            >
              Clear
            </button>
          )}
        </search>
      </div>
      {kind === 'sessions' && query.env !== undefined && (
        <p class="soft">Each {one} that has a trace in this environment; the numbers are those of all its traces.</p>
      )}
      <Pending of={loaded} what={kind} />
      {page !== undefined && 'countedFrom' in page && page.countedFrom !== null && (
        <p class="soft">
          Traces are counted back to {shortTime(page.countedFrom, zone, new Date())} so far; older ones follow.
        </p>
      )}
      {page !== undefined && page.groups.length === 0 && page.nextCursor === null && (
        <p class="empty">
          {query.after !== undefined ? (
            `No other ${one} was seen earlier.`
          ) : isFiltered ? (
            `No ${one} is like this.`
          ) : (
            <>
              No trace is of a {one}
              {kind === 'users' && ' in this time'}. Applications name it as <code>{field}</code> of a trace.
            </>
          )}
        </p>
      )}
      {page !== undefined && page.groups.length > 0 && (
        <GroupTable slug={slug} kind={kind} groups={page.groups} zone={zone} />
      )}
      {page !== undefined && (page.groups.length > 0 || page.nextCursor !== null || query.after !== undefined) && (
        <nav class="pager" aria-label="Pages of the list">
          <span class="soft" role="status">
            {formatCounted(page.groups.length, one)} on this page
          </span>
          {query.after !== undefined && <ButtonLink href={`${base}${writeGroupQuery(first)}`}>First page</ButtonLink>}
          {page.nextCursor !== null && (
            <ButtonLink href={`${base}${writeGroupQuery({ ...query, after: page.nextCursor })}`}>
              seen earlier →
            </ButtonLink>
          )}
        </nav>
      )}
    </div>
  )
}

interface TableProps {
  readonly slug: string
  readonly kind: GroupKind
  readonly groups: readonly Group[]
  readonly zone: Zone
}

export function GroupTable({ slug, kind, groups, zone }: TableProps) {
  const title = kind === 'sessions' ? 'Sessions' : 'Users'
  const now = new Date()
  const hrefOf = (id: string) =>
    pathOf(kind === 'sessions' ? { page: 'session', slug, sessionId: id } : { page: 'user', slug, userId: id })
  return (
    <LinkedRows
      class="groups"
      label={title}
      titles={[
        title.slice(0, -1),
        ...numbers('Traces', 'Errors', 'Tokens', 'Cost'),
        'First',
        { title: 'Last', is: 'sorted' }
      ]}
    >
      {groups.map(({ id, traces, isMore = false, errors, inputTokens, outputTokens, costUsd, firstAt, lastAt }) => (
        <tr key={id}>
          <td class="of-name">
            <a id={`g-${id}`} class="open" href={hrefOf(id)} title={id}>
              {asLine(id, 80)}
            </a>
          </td>
          <td
            class="number"
            data-label="Traces"
            title={isMore ? `The newest ${formatCount(traces)} are added up` : undefined}
          >
            {formatCount(traces)}
            {isMore && '+'}
          </td>
          <td class="number" data-label="Errors">
            {errors === 0 ? <span class="soft">{NONE}</span> : <span class="is-error">{formatCount(errors)}</span>}
          </td>
          <td class="number" data-label="Tokens">
            {formatCount(inputTokens + outputTokens)}
          </td>
          <td class="number" data-label="Cost">
            {costUsd === null ? <span class="soft">{NONE}</span> : formatCost(costUsd)}
          </td>
          <td data-label="First">
            {kind === 'users' ? <Day iso={firstAt} /> : <Moment iso={firstAt} zone={zone} now={now} />}
          </td>
          <td data-label="Last">
            <Moment iso={lastAt} zone={zone} now={now} />
          </td>
        </tr>
      ))}
    </LinkedRows>
  )
}

/** The server's default range. */
const USUAL = '30d'

const RANGE_NAMES = { '7d': '7 days', '30d': '30 days', '90d': '90 days', '1y': 'year' } as const

/** Selects the time range over which users' totals are computed. */
export function RangeChoice({ range = USUAL, set }: { range?: string | undefined; set(range: string): void }) {
  return (
    <label class={`filter ${range === USUAL ? '' : 'is-set'}`}>
      <span>Totals for the last</span>
      <select value={range} onChange={event => set(event.currentTarget.value)}>
        {DAY_RANGE_CHOICES.map(each => (
          <option key={each} value={each}>
            {RANGE_NAMES[each]}
          </option>
        ))}
      </select>
    </label>
  )
}

interface FactsProps {
  readonly sums: Omit<Group, 'isMore'>
  readonly running?: number
  /** Whether only the day of the first trace is known, not its time. */
  readonly byDay?: boolean
  readonly zone: Zone
  readonly now: Date
  readonly children?: ComponentChildren
}

export function GroupFacts({ sums, running = 0, byDay = false, zone, now, children }: FactsProps) {
  const { traces, errors, inputTokens, outputTokens, costUsd, firstAt, lastAt } = sums
  return (
    <dl class="trace-facts">
      <Fact name="Traces">
        {formatCount(traces)} {running > 0 && <small>{formatCount(running)} running</small>}
      </Fact>
      <Fact name="Errors">
        <span class={errors > 0 ? 'is-error' : ''}>{formatCount(errors)}</span>
      </Fact>
      <Fact name="Tokens">
        {formatCount(inputTokens + outputTokens)}{' '}
        {inputTokens + outputTokens > 0 && (
          <small>
            {formatCount(inputTokens)} in, {formatCount(outputTokens)} out
          </small>
        )}
      </Fact>
      <Fact name="Cost">{formatCost(costUsd)}</Fact>
      <Fact name="First">{byDay ? <Day iso={firstAt} /> : <Moment iso={firstAt} zone={zone} now={now} />}</Fact>
      <Fact name="Last">
        <Moment iso={lastAt} zone={zone} now={now} />
      </Fact>
      {children}
    </dl>
  )
}
