/**
 * The query of a trace list. The page's URL holds the whole query, so that back, forward, reload and a copied link show
 * the same list. The URL uses short names; requests to the server use the API's names.
 */
import { readParameters, searchOf } from './route.ts'
import { isInstant, rangeMs } from './time-range.ts'

export const SORTS = ['newest', 'slowest', 'costliest'] as const
export type ListSort = (typeof SORTS)[number]

/** Maps each filter's name in the URL to its name in the API. */
export const FILTERS = {
  q: 'q',
  status: 'status',
  name: 'name',
  model: 'model',
  tag: 'tag',
  env: 'environment',
  session: 'sessionId',
  user: 'userId'
} as const
export type Filter = keyof typeof FILTERS
export const FILTER_NAMES = Object.keys(FILTERS) as readonly Filter[]

/** The URL's other parameters. */
const OTHER_NAMES = ['runs', 'range', 'from', 'to', 'sort', 'after', 'before', 'cols'] as const
/** Value of the parameter `runs` that lists only runs. */
const ONLY = 'only'

/** Filters that the two rankings do not support (the API returns 400). */
const NOT_IN_RANKINGS: readonly string[] = ['q', 'session', 'user', 'range', 'from', 'to']

export interface ListQuery {
  readonly filters: Readonly<Partial<Record<Filter, string>>>
  /** Set if only runs are listed, that is, traces with a model call, agent, tool or retriever. */
  readonly runsOnly?: true
  /** Relative range such as `24h`. Cannot be combined with `from` and `to`. */
  readonly range?: string
  readonly from?: string
  readonly to?: string
  readonly sort: ListSort
  readonly after?: string
  readonly before?: string
  /** Columns specified by a link; if undefined, the visitor's own columns apply. */
  readonly cols?: readonly string[]
}

/** Reads a query from a URL and ignores unknown parts. */
export function readQuery(search: string): ListQuery {
  const filters = readParameters(search, FILTER_NAMES)
  const { range, from, to, after, before, ...given } = readParameters(search, OTHER_NAMES)
  const sort = SORTS.find(each => each === given.sort) ?? 'newest'
  const cols = given.cols?.split(',').filter(name => name !== '')
  const instants = {
    ...(from !== undefined && isInstant(from) && { from }),
    ...(to !== undefined && isInstant(to) && { to })
  }
  const relative = Object.keys(instants).length === 0 && range !== undefined && rangeMs(range) !== undefined
  const query = {
    filters,
    ...(given.runs === ONLY && { runsOnly: true as const }),
    ...instants,
    ...(relative && { range }),
    sort,
    ...(after !== undefined && { after }),
    ...(after === undefined && before !== undefined && { before }),
    ...(cols !== undefined && cols.length > 0 && { cols })
  }
  return sort === 'newest' ? query : asRanking(query)
}

/** Removes the filters that rankings do not support. */
export function asRanking(query: ListQuery): ListQuery {
  const { q, session, user, ...filters } = query.filters
  const { range, from, to, ...rest } = query
  return { ...rest, filters }
}

/** Returns the parts of a query that prevent a ranking, as named on the page. */
export function keptFromRanking(query: ListQuery): string[] {
  const set = [
    ...FILTER_NAMES.filter(name => query.filters[name] !== undefined),
    ...(['range', 'from', 'to'] as const).filter(name => query[name] !== undefined)
  ]
  const named = set.filter(name => NOT_IN_RANKINGS.includes(name))
  return [
    ...new Set(named.map(name => (name === 'q' ? 'words' : name === 'session' || name === 'user' ? name : 'time')))
  ]
}

/** Formats a query as a query string: `?…`, or an empty string for all traces. */
export function writeQuery({ filters, runsOnly, range, from, to, sort, after, before, cols }: ListQuery): string {
  const others = {
    runs: runsOnly && ONLY,
    range,
    from,
    to,
    sort: sort === 'newest' ? undefined : sort,
    after,
    before: after === undefined ? before : undefined,
    cols: cols?.join(',')
  }
  return searchOf({ ...filters, ...others }, [...FILTER_NAMES, ...OTHER_NAMES])
}

/** Returns the query with the given filter changes, reset to the list's first page. */
export function narrowed(query: ListQuery, change: Readonly<Partial<Record<Filter, string | undefined>>>): ListQuery {
  const filters: Partial<Record<Filter, string>> = { ...query.filters }
  for (const [name, value] of Object.entries(change) as [Filter, string | undefined][]) {
    if (value === undefined || value === '') delete filters[name]
    else filters[name] = value
  }
  return { ...firstPage(query), filters }
}

/** Returns the query for runs alone or for all traces, at its first page. */
export function withRunsOnly(query: ListQuery, on: boolean): ListQuery {
  const { runsOnly, ...rest } = firstPage(query)
  return on ? { ...rest, runsOnly: true } : rest
}

export function firstPage(query: ListQuery): ListQuery {
  const { after, before, ...rest } = query
  return rest
}

export function withTime(query: ListQuery, time: { range?: string; from?: string; to?: string }): ListQuery {
  const { range, from, to, ...rest } = firstPage(query)
  return { ...rest, ...time }
}

export function withSort(query: ListQuery, sort: ListSort): ListQuery {
  const first = { ...firstPage(query), sort }
  return sort === 'newest' ? first : asRanking(first)
}

/** Returns the query string that the server accepts, in which a relative range is replaced by an absolute time. */
export function toServer({ filters, range, ...query }: ListQuery, now: number): string {
  const length = range === undefined ? undefined : rangeMs(range)
  const others = {
    ...Object.fromEntries(FILTER_NAMES.map(name => [FILTERS[name], filters[name]])),
    runsOnly: query.runsOnly && 'true',
    from: query.from ?? (length === undefined ? undefined : new Date(now - length).toISOString()),
    to: query.to,
    sort: query.sort === 'newest' ? undefined : query.sort,
    after: query.after,
    before: query.before
  }
  return searchOf(others, Object.keys(others))
}

/** Filters supported by counts over time. */
export const COUNTED_FILTERS: readonly Filter[] = ['status', 'name', 'model', 'env']

/**
 * Returns whether counts over time cover the same traces as the list. Counts do not support tags, sessions or users,
 * they do not tell runs from other traces, and rankings have no time range.
 */
export function isCounted({ filters, sort, runsOnly }: ListQuery): boolean {
  return sort === 'newest' && !runsOnly && Object.keys(filters).every(name => COUNTED_FILTERS.includes(name as Filter))
}

/** Returns the number of filters, including the time range. */
export function countFilters(query: ListQuery): number {
  const time = query.range !== undefined || query.from !== undefined || query.to !== undefined
  return Object.keys(query.filters).length + (time ? 1 : 0) + (query.runsOnly ? 1 : 0)
}
