/** The query for numbers over time, as written in the overview's URL and in requests to the server. */
import { COUNTED_FILTERS, type ListQuery, readQuery, writeQuery } from './list-query.ts'
import { ALL_TIME, CHART_RANGES, DEFAULT_RANGE, type Present, rangeMs, timeOfRange } from './time-range.ts'

/** Numbers over time cover at most a year. */
const LONGEST = CHART_RANGES.at(-1)!

/** Reads an overview's query. Unsupported filters are ignored, and a time range is always set. */
export function readOverview(search: string): ListQuery {
  const { filters, from, to, ...given } = readQuery(search)
  const range = given.range === ALL_TIME ? LONGEST : given.range
  const counted = Object.fromEntries(COUNTED_FILTERS.flatMap(name => (filters[name] ? [[name, filters[name]]] : [])))
  const isAny = range === undefined && from === undefined && to === undefined
  return {
    filters: counted,
    ...(isAny ? { range: DEFAULT_RANGE } : { ...(range && { range }), ...(from && { from }), ...(to && { to }) }),
    sort: 'newest'
  }
}

/** Returns the names of charts to show as tables and of tables to show in full. */
export function readShown(search: string): readonly string[] {
  return (new URLSearchParams(search).get('table') ?? '').split(',').filter(name => /^[a-z-]+$/.test(name))
}

export function writeOverview(query: ListQuery, shown: readonly string[]): string {
  const text = writeQuery(query)
  return shown.length === 0 ? text : `${text === '' ? '?' : `${text}&`}table=${shown.join(',')}`
}

/**
 * Returns the server's query, without `?`. By default, `to` is now and `from` is seven days before `to`. Ranges that
 * the server supports begin at the same time as in `timeOfRange`.
 */
export function toCounted(query: ListQuery, present: Present, more: Readonly<Record<string, string>> = {}): string {
  const { filters, from, to } = query
  const range = query.range === ALL_TIME ? LONGEST : (query.range ?? (from || to ? undefined : DEFAULT_RANGE))
  const parameters = new URLSearchParams()
  if (CHART_RANGES.some(each => each === range)) parameters.set('range', range as string)
  else {
    const time = range === undefined ? undefined : timeOfRange(range, present)
    const end = to === undefined ? present.now : Date.parse(to)
    parameters.set('from', from ?? time?.from ?? new Date(end - rangeMs(DEFAULT_RANGE)!).toISOString())
    parameters.set('to', to ?? time?.to ?? new Date(end).toISOString())
  }
  for (const name of COUNTED_FILTERS) {
    const value = filters[name]
    if (value !== undefined) parameters.set(name, value)
  }
  parameters.set('offset', String(present.offset))
  for (const [name, value] of Object.entries(more)) parameters.set(name, value)
  return parameters.toString()
}
