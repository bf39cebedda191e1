/** A project's sessions or users, sorted by when they were last seen or by a sum. */

import type { ComponentChildren } from 'preact'
import type { Group, ListedSession, SessionPage, UserPage } from '../contract.ts'
import { at, read } from '../state/api.ts'
import { useLoad, useRead } from '../state/load.ts'
import { goSearch, useArrival, usePlace } from '../state/navigation.ts'
import { otherParameters } from '../state/other-parameters.ts'
import { preferences } from '../state/preferences.ts'
import { pathOf, readParameters, searchOf } from '../state/route.ts'
import { useStore } from '../state/store.ts'
import { DAY_RANGE_CHOICES } from '../state/time-range.ts'
import { ButtonLink } from '../ui/controls.tsx'
import { Day, Fact, Moment } from '../ui/facts.tsx'
import { ChosenFilter, TypedFilter } from '../ui/filter-bar.tsx'
import {
  formatCost,
  formatCount,
  formatCounted,
  formatDuration,
  formatMean,
  formatPercent,
  NONE
} from '../ui/format.ts'
import { IgnoredParameters } from '../ui/ignored-parameters.tsx'
import { Pending } from '../ui/problem.tsx'
import { LinkedRows, numbers, type Title } from '../ui/table.tsx'
import { asLine } from '../ui/text.ts'
import { shortTime, type Zone } from '../ui/time.ts'
import { groupCount } from './group-count.ts'

const WORDS = {
  sessions: { title: 'Sessions', one: 'session', field: 'sessionId' },
  users: { title: 'Users', one: 'user', field: 'userId' }
} as const

type GroupKind = keyof typeof WORDS

/** Parameters in the page's URL and in requests. */
const NAMES = ['prefix', 'env', 'range', 'sort', 'after'] as const
export type GroupQuery = Partial<Record<(typeof NAMES)[number], string | undefined>>

/** Sort orders of the lists, with the titles of their columns. */
const SORT_TITLES = { last: 'Last seen', traces: 'Traces', errors: 'Errors', tokens: 'Tokens', cost: 'Cost' } as const
type GroupSortName = keyof typeof SORT_TITLES
const sortOf = ({ sort }: GroupQuery): GroupSortName =>
  sort !== undefined && sort in SORT_TITLES ? (sort as GroupSortName) : 'last'

/** The page's default range, and the choice of all time, which requests omit. */
const USUAL = '7d'
const ALL = 'all'

/** Returns the server's query. */
const askedBy = (query: GroupQuery): string => {
  const { range = USUAL, ...rest } = query
  return writeGroupQuery({ ...rest, ...(range !== ALL && { range }) })
}

export const readGroupQuery = (search: string): GroupQuery => readParameters(search, NAMES)
export const writeGroupQuery = (query: GroupQuery): string => searchOf(query, NAMES)

/** Maximum number of cached pages. A cached page is shown immediately when the visitor goes back. */
const KEPT = 10
const pages = new Map<string, SessionPage | UserPage>()

export function GroupList({ slug, kind }: { slug: string; kind: GroupKind }) {
  const { search } = usePlace()
  const { zone } = useStore(preferences)
  const query = readGroupQuery(search)
  const { title, one, field } = WORDS[kind]
  const key = at(`p/:slug/${kind}`, { slug }, askedBy(query))
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
  const sort = sortOf(query)
  const isFiltered = query.prefix !== undefined || query.env !== undefined
  const base = pathOf({ page: kind, slug })
  return (
    <div class="list-page">
      <div class="head">
        <h1 tabIndex={-1}>{title}</h1>
      </div>
      <div class="filters">
        <search class="is-open" aria-label={`Filter the ${kind}`}>
          <TypedFilter label="ID starts with" value={query.prefix ?? ''} set={prefix => change({ ...first, prefix })} />
          <ChosenFilter
            label="Environment"
            value={query.env}
            values={[...(facets?.environments ?? []), query.env]}
            set={env => change({ ...first, env })}
          />
          <RangeChoice all={kind === 'sessions'} range={query.range} set={range => change({ ...first, range })} />
          <label class={`filter ${sort === 'last' ? '' : 'is-set'}`}>
            <span>Sort by</span>
            <select
              value={sort}
              onChange={event => {
                const { value } = event.currentTarget
                change({ ...first, sort: value === 'last' ? '' : value })
              }}
            >
              {Object.entries(SORT_TITLES).map(([name, title]) => (
                <option key={name} value={name}>
                  {title}
                </option>
              ))}
            </select>
          </label>
          {isFiltered && (
            <button type="button" class="link" onClick={() => change({ ...first, prefix: '', env: '' })}>
              Clear
            </button>
          )}
        </search>
      </div>
      <p class="soft">
        {kind === 'sessions' && sort === 'last' ? (
          <>
            Sessions with a trace in this period{query.env !== undefined && ' and environment'}. The numbers cover all
            their traces.{' '}
          </>
        ) : (
          page?.since == null && 'The numbers cover this period. '
        )}
        {query.range !== ALL && DAYS_COUNTED}
      </p>
      <IgnoredParameters names={otherParameters(search, NAMES)} />
      <Pending of={loaded} what={kind} />
      {page !== undefined && page.since !== null && (
        <p class="soft">The numbers cover the newest 20,000 traces, since {shortTime(page.since, zone, new Date())}.</p>
      )}
      {page !== undefined && 'countedFrom' in page && page.countedFrom !== null && (
        <p class="soft">
          Older traces are still being counted: the numbers start at {shortTime(page.countedFrom, zone, new Date())}.
        </p>
      )}
      {page !== undefined && page.groups.length === 0 && page.nextCursor === null && (
        <p class="empty">
          {query.after !== undefined ? (
            `No more ${kind}.`
          ) : isFiltered ? (
            `No ${kind} match these filters in this period.`
          ) : (
            <>
              No {kind} in this period. A trace belongs to a {one} if the application sets its <code>{field}</code>.
            </>
          )}
        </p>
      )}
      {page !== undefined && page.groups.length > 0 && (
        <GroupTable
          {...{ slug, kind, sort, zone }}
          groups={page.groups}
          scope={kind === 'users' ? writeGroupQuery({ range: query.range, env: query.env }) : ''}
          setSort={by => change({ ...first, sort: by === 'last' ? '' : by })}
        />
      )}
      {page !== undefined && (page.groups.length > 0 || page.nextCursor !== null || query.after !== undefined) && (
        <nav class="pager" aria-label="Pages of the list">
          <span class="soft" role="status">
            {groupCount(page.groups.length, one, sort === 'last' ? undefined : SORT_TITLES[sort].toLowerCase())}
          </span>
          {query.after !== undefined && <ButtonLink href={`${base}${writeGroupQuery(first)}`}>First page</ButtonLink>}
          {page.nextCursor !== null && (
            <ButtonLink href={`${base}${writeGroupQuery({ ...query, after: page.nextCursor })}`}>Older →</ButtonLink>
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
  readonly sort?: GroupSortName
  setSort?(sort: GroupSortName): void
  /** Query string of the rows' links: the period and environment that a user's page has as well. */
  readonly scope?: string
  /** Whether sessions are those of one user, who need not be named in each row. */
  readonly ofOneUser?: boolean
  readonly zone: Zone
}

export function GroupTable(props: TableProps) {
  const { slug, kind, groups, sort = 'last', setSort, scope = '', ofOneUser = false, zone } = props
  const title = kind === 'sessions' ? 'Sessions' : 'Users'
  const isOfSessions = kind === 'sessions'
  const now = new Date()
  // A list that is sorted by a sum knows only the traces of its period.
  const firstTitle = sort === 'last' ? 'First seen' : 'First in period'
  const hrefOf = (id: string) =>
    pathOf(isOfSessions ? { page: 'session', slug, sessionId: id } : { page: 'user', slug, userId: id }) + scope
  const column = (name: GroupSortName): Title => ({
    title: SORT_TITLES[name],
    is: `${name === sort ? 'sorted' : ''}${name === 'last' ? '' : ' number'}`.trim() as 'sorted' | 'number',
    ...(setSort && { sort: () => setSort(name) })
  })
  return (
    <LinkedRows
      class="groups"
      label={title}
      titles={[
        title.slice(0, -1),
        ...(isOfSessions && !ofOneUser ? ['Users'] : []),
        column('traces'),
        column('errors'),
        ...(isOfSessions ? numbers('Duration') : []),
        column('tokens'),
        column('cost'),
        ...(isOfSessions ? ['Scores'] : []),
        firstTitle,
        column('last')
      ]}
    >
      {groups.map(group => {
        const { id, traces, isMore = false, errors, inputTokens, outputTokens, costUsd, firstAt, lastAt } = group
        const session = 'question' in group ? group : undefined
        return (
          <tr key={id}>
            <td class="of-name">
              <div>
                <a id={`g-${id}`} class="open" href={hrefOf(id)} title={id}>
                  {asLine(session?.question ?? id, 80)}
                </a>
                {session !== undefined && session.question !== null && (
                  <small class="soft clip">{asLine(id, 60)}</small>
                )}
              </div>
            </td>
            {session !== undefined && !ofOneUser && (
              <td class="of-users" data-label="Users">
                {session.users.length === 0 ? (
                  <span class="soft">{NONE}</span>
                ) : (
                  session.users.map(user => asLine(user, 30)).join(', ')
                )}
              </td>
            )}
            <td
              class="number"
              data-label="Traces"
              title={isMore ? `Totals cover only the newest ${formatCount(traces)}` : undefined}
            >
              {formatCount(traces)}
              {isMore && '+'}
            </td>
            <td class="number" data-label="Errors">
              {errors === 0 ? <span class="soft">{NONE}</span> : <span class="is-error">{formatCount(errors)}</span>}
            </td>
            {session !== undefined && (
              <td class="number" data-label="Duration">
                {session.durationMs > 0 ? formatDuration(session.durationMs) : <span class="soft">{NONE}</span>}
              </td>
            )}
            <td class="number" data-label="Tokens">
              {inputTokens + outputTokens > 0 ? (
                formatCount(inputTokens + outputTokens)
              ) : (
                <span class="soft">{NONE}</span>
              )}
            </td>
            <td class="number" data-label="Cost">
              {costUsd === null ? <span class="soft">{NONE}</span> : formatCost(costUsd)}
            </td>
            {session !== undefined && (
              <td class="of-scores" data-label="Scores">
                <SessionScores scores={session.scores} />
              </td>
            )}
            <td class="of-seen" data-label={firstTitle}>
              {isOfSessions || sort !== 'last' ? <Moment iso={firstAt} zone={zone} now={now} /> : <Day iso={firstAt} />}
            </td>
            <td class="of-seen" data-label="Last seen">
              <Moment iso={lastAt} zone={zone} now={now} />
            </td>
          </tr>
        )
      })}
    </LinkedRows>
  )
}

function SessionScores({ scores }: Pick<ListedSession, 'scores'>) {
  if (scores.length === 0) return <span class="soft">{NONE}</span>
  return (
    <span class="scores">
      {scores.map(({ name, dataType, count, average, value }) => (
        <span key={`${dataType} ${name}`} class="score" title={formatCounted(count, 'score')}>
          <span class="soft">{asLine(name, 24)}</span>{' '}
          {average === null
            ? asLine(value ?? NONE, 24)
            : dataType === 'boolean'
              ? `${formatPercent(average)} yes`
              : formatMean(average)}
        </span>
      ))}
    </span>
  )
}

/** How a period is counted, next to the choice of a period. */
export const DAYS_COUNTED = 'Periods are whole UTC days, including today.'

const RANGE_NAMES = { '7d': '7 days', '30d': '30 days', '90d': '90 days', '1y': '1 year' } as const

interface RangeProps {
  readonly range?: string | undefined
  /** Whether to offer all time. */
  readonly all?: boolean
  set(range: string): void
}

/** Selects the time range. */
export function RangeChoice({ range = USUAL, all = false, set }: RangeProps) {
  return (
    <label class={`filter ${range === USUAL ? '' : 'is-set'}`}>
      <span>Period</span>
      <select value={range} onChange={event => set(event.currentTarget.value)}>
        {DAY_RANGE_CHOICES.map(each => (
          <option key={each} value={each}>
            {RANGE_NAMES[each]}
          </option>
        ))}
        {all && <option value={ALL}>All time</option>}
      </select>
    </label>
  )
}

interface FactsProps {
  readonly sums: Omit<UserPage['groups'][number], 'isMore'>
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
      <Fact name="First seen">{byDay ? <Day iso={firstAt} /> : <Moment iso={firstAt} zone={zone} now={now} />}</Fact>
      <Fact name="Last seen">
        <Moment iso={lastAt} zone={zone} now={now} />
      </Fact>
      {children}
    </dl>
  )
}
