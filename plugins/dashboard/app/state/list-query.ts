/**
 * The query of a trace list. The page's URL holds the whole query, so that back, forward, reload and a copied link show
 * the same list. The URL uses short names; requests to the server use the API's names. Every filter works with every
 * sort and time.
 */
import { readParameters, searchOf } from './route.ts'
import { ALL_TIME, DEFAULT_RANGE, isInstant, isRange, type Present, timeOfRange } from './time-range.ts'

export const SORTS = ['newest', 'slowest', 'costliest'] as const
export type ListSort = (typeof SORTS)[number]

/** Maps each filter's name in the URL to its name in the API. */
export const FILTERS = {
  q: 'q',
  status: 'status',
  name: 'name',
  model: 'model',
  env: 'environment',
  session: 'sessionId',
  user: 'userId',
  step: 'step',
  kind: 'stepKind',
  stepStatus: 'stepStatus',
  error: 'error',
  failed: 'errors',
  annotated: 'annotated',
  minDuration: 'minDurationMs',
  maxDuration: 'maxDurationMs',
  minCost: 'minCostUsd',
  maxCost: 'maxCostUsd',
  noCost: 'withoutCost',
  minTokens: 'minTotalTokens',
  maxTokens: 'maxTotalTokens',
  tag: 'tag',
  score: 'score'
} as const
export type Filter = keyof typeof FILTERS
export const FILTER_NAMES = Object.keys(FILTERS) as readonly Filter[]

/** Filters that can be set several times. A trace must meet all of them. */
export const REPEATED = ['tag', 'score'] as const
type Repeated = (typeof REPEATED)[number]
export type SingleFilter = Exclude<Filter, Repeated>
export const isRepeated = (filter: Filter): filter is Repeated => REPEATED.some(each => each === filter)
const SINGLE = FILTER_NAMES.filter((name): name is SingleFilter => !isRepeated(name))

export type Filters = Readonly<Partial<Record<SingleFilter, string>>> &
  Readonly<Partial<Record<Repeated, readonly string[]>>>

/** The URL's other parameters. */
const OTHER_NAMES = ['runs', 'range', 'from', 'to', 'sort', 'after', 'before', 'cols'] as const
/** Value of the parameter `runs` that lists only runs. */
const ONLY = 'only'

export interface ListQuery {
  readonly filters: Filters
  /** Set if only runs are listed, that is, traces with a model call, agent, tool or retriever. */
  readonly runsOnly?: true
  /**
   * Relative range such as `24h`, or `all`. Cannot be combined with `from` and `to`. Without all three, a list covers
   * the last 7 days.
   */
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
  const parameters = new URLSearchParams(search)
  const repeated = REPEATED.flatMap(name => {
    const values = [...new Set(parameters.getAll(name).filter(value => value !== ''))]
    return values.length === 0 ? [] : [[name, values]]
  })
  const filters: Filters = { ...readParameters(search, SINGLE), ...Object.fromEntries(repeated) }
  const { range, from, to, after, before, ...given } = readParameters(search, OTHER_NAMES)
  const sort = SORTS.find(each => each === given.sort) ?? 'newest'
  const cols = given.cols?.split(',').filter(name => name !== '')
  const instants = {
    ...(from !== undefined && isInstant(from) && { from }),
    ...(to !== undefined && isInstant(to) && { to })
  }
  const isKnown = range !== undefined && (range === ALL_TIME || isRange(range))
  return {
    filters,
    ...(given.runs === ONLY && { runsOnly: true as const }),
    ...instants,
    ...(Object.keys(instants).length === 0 && isKnown && { range }),
    sort,
    ...(after !== undefined && { after }),
    ...(after === undefined && before !== undefined && { before }),
    ...(cols !== undefined && cols.length > 0 && { cols })
  }
}

/** Formats a query as a query string: `?…`, or an empty string for the traces of the last 7 days. */
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
  const { tag: _, score: __, ...single } = filters
  const search = searchOf({ ...single, ...others }, [...SINGLE, ...OTHER_NAMES])
  return withRepeated(search, filters, name => name)
}

/** Returns the names of the URL's parameters that a page does not read or that are invalid. `read` reads the query. */
export function ignoredParameters(search: string, read = readQuery): string[] {
  const kept = new URLSearchParams(writeQuery(read(search)))
  const given = [...new URLSearchParams(search)].filter(
    ([name, value]) => value !== '' && `${name}=${value}` !== NEWEST
  )
  return [...new Set(given.map(([name]) => name))].filter(name => !kept.has(name))
}
/** The default order, which the URL need not state. */
const NEWEST = 'sort=newest'

function withRepeated(search: string, filters: Filters, nameOf: (filter: Repeated) => string): string {
  const pairs = REPEATED.flatMap(name => (filters[name] ?? []).map((value): [string, string] => [nameOf(name), value]))
  if (pairs.length === 0) return search
  return `${search === '' ? '?' : `${search}&`}${new URLSearchParams(pairs)}`
}

/** Returns the query with the given filter changes, reset to the list's first page. */
export function narrowed(query: ListQuery, change: Readonly<Partial<Record<Filter, string | undefined>>>): ListQuery {
  const filters: Partial<Record<Filter, string | readonly string[]>> = { ...query.filters }
  for (const [name, value] of Object.entries(change) as [Filter, string | undefined][]) {
    if (value === undefined || value === '') delete filters[name]
    else filters[name] = isRepeated(name) ? [value] : value
  }
  return { ...firstPage(query), filters: filters as Filters }
}

/** A filter with one of its values. */
export interface Term {
  readonly filter: Filter
  readonly value: string
}

export function filterTerms(filters: Filters): Term[] {
  return FILTER_NAMES.flatMap(filter => {
    const value = filters[filter]
    return value === undefined ? [] : [value].flat().map(each => ({ filter, value: each as string }))
  })
}

/** Returns the query with further terms. Words and repeated filters add to earlier ones; others replace them. */
export function withTerms(query: ListQuery, terms: readonly Term[]): ListQuery {
  const filters: Partial<Record<Filter, string | readonly string[]>> = { ...query.filters }
  for (const { filter, value } of terms) {
    if (isRepeated(filter)) filters[filter] = [...new Set([...((filters[filter] as string[]) ?? []), value])]
    else if (filter === 'q') filters.q = [filters.q, value].filter(Boolean).join(' ')
    else filters[filter] = value
  }
  return { ...firstPage(query), filters: filters as Filters }
}

export function withoutTerm(query: ListQuery, { filter, value }: Term): ListQuery {
  const { [filter]: values, ...others } = query.filters
  const left = isRepeated(filter) ? [values ?? []].flat().filter(each => each !== value) : []
  const filters = left.length === 0 ? others : { ...others, [filter]: left }
  return { ...firstPage(query), filters }
}

/** Returns the query with the same time and order, without filters, at its first page. */
export function withoutFilters(query: ListQuery): ListQuery {
  const { runsOnly, ...rest } = firstPage(query)
  return { ...rest, filters: {} }
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
  return { ...firstPage(query), sort }
}

/** Returns the listed time in the server's parameters. */
export function listedTime({ range, from, to }: ListQuery, present: Present): { from?: string; to?: string } {
  if (from !== undefined || to !== undefined) return { ...(from && { from }), ...(to && { to }) }
  return timeOfRange(range ?? DEFAULT_RANGE, present) ?? {}
}

/** Returns the query string that the server accepts, in which a relative range is replaced by an absolute time. */
export function toServer(query: ListQuery, present: Present): string {
  const { filters, runsOnly, sort, after, before } = query
  const others = {
    ...Object.fromEntries(SINGLE.map(name => [FILTERS[name], filters[name]])),
    runsOnly: runsOnly && 'true',
    ...listedTime(query, present),
    sort: sort === 'newest' ? undefined : sort,
    after,
    before
  }
  return withRepeated(searchOf(others, Object.keys(others)), filters, name => FILTERS[name])
}

/** Filters supported by counts over time. */
export const COUNTED_FILTERS = ['status', 'name', 'model', 'env'] as const satisfies readonly SingleFilter[]

/**
 * Returns whether counts over time cover the same traces as the list. Counts support few filters, and they do not tell
 * runs, or traces with a cost, from other traces.
 */
export function isCounted({ filters, runsOnly, sort }: ListQuery): boolean {
  return (
    !runsOnly && sort !== 'costliest' && Object.keys(filters).every(name => COUNTED_FILTERS.some(each => each === name))
  )
}

/** Returns the number of filters, including a time range other than all time. */
export function countFilters(query: ListQuery): number {
  const { range, from, to, runsOnly } = query
  const isTimed = (range !== undefined && range !== ALL_TIME) || from !== undefined || to !== undefined
  return filterTerms(query.filters).length + Number(isTimed) + Number(runsOnly === true)
}
