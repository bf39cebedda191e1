/** The query of the list of steps, and the rule for combining the parts of a list. */
import type { StepPage } from '../contract.ts'
import { parseFilters, renderTerm } from '../state/filter-text.ts'
import { type Filters, type ListQuery, listedTime, readQuery } from '../state/list-query.ts'
import type { Present } from '../state/time-range.ts'

/** Filters of the page, with their names in the API. Names in the address are those of the list of traces. */
const STEP_FILTERS = {
  kind: 'kind',
  step: 'name',
  stepStatus: 'status',
  model: 'model',
  env: 'environment',
  minDuration: 'minDurationMs'
} as const
type StepFilter = keyof typeof STEP_FILTERS
const STEP_FILTER_NAMES = Object.keys(STEP_FILTERS) as readonly StepFilter[]

/** Number of steps on a page. */
export const STEPS_SHOWN = 50

/** Reads the query of an address. Parameters that steps do not have are ignored. */
export function readStepQuery(search: string): ListQuery {
  const { filters, range, from, to, sort, after } = readQuery(search)
  const own = STEP_FILTER_NAMES.flatMap(name => (filters[name] === undefined ? [] : [[name, filters[name]]]))
  const isSlowest = sort === 'slowest'
  return {
    filters: Object.fromEntries(own) as Filters,
    ...(range !== undefined && { range }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    sort: isSlowest ? 'slowest' : 'newest',
    ...(after !== undefined && !isSlowest && { after })
  }
}

/** Returns the server's query. */
export function stepParameters(query: ListQuery, present: Present, after: string | undefined): URLSearchParams {
  const { filters, sort } = query
  const time = listedTime(query, present)
  const parameters = new URLSearchParams({ ...time, sort, limit: String(STEPS_SHOWN) })
  for (const name of STEP_FILTER_NAMES) {
    const value = filters[name]
    if (value !== undefined) parameters.set(STEP_FILTERS[name], value)
  }
  if (after !== undefined) parameters.set('after', after)
  return parameters
}

/** Adds a part of the list: older steps, or steps of older traces, of which the slowest are kept. */
export function withSteps(known: StepPage | undefined, part: StepPage, sort: ListQuery['sort']): StepPage {
  if (known === undefined) return part
  const all = [...known.spans, ...part.spans]
  // The sort is stable, so that equally slow steps stay newest first.
  const spans = sort === 'slowest' ? all.sort((a, b) => b.durationMs - a.durationMs).slice(0, STEPS_SHOWN) : all
  return { ...part, spans, hint: spans.length === 0 ? known.hint : null }
}

/** Whether the list is complete. The slowest steps are known once all traces in the period are examined. */
export const isDone = ({ spans, nextCursor }: StepPage, sort: ListQuery['sort']): boolean =>
  nextCursor === null || (sort !== 'slowest' && spans.length >= STEPS_SHOWN)

/** Reads a typed duration, such as `2s` or `500 ms`, in ms; undefined if it is not one. */
export function readTypedDuration(typed: string): string | undefined {
  const [term, ...others] = parseFilters(`duration:>${typed.replaceAll(/[\s≥>=]/g, '')}`).terms
  return others.length === 0 && term?.filter === 'minDuration' ? term.value : undefined
}

/** Formats a duration as it can be typed: `2s`. */
export const typedDuration = (ms: string): string => renderTerm({ filter: 'minDuration', value: ms }).slice(11)
