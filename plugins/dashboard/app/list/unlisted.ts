/** The traces that match a list's filters and that its order leaves out, because they lack the number it sorts by. */
import { type ListQuery, narrowed, withSort } from '../state/list-query.ts'

/** Returns the query that lists these traces; undefined if the order or the filters leave none to list. */
export function unlistedBy(query: ListQuery): ListQuery | undefined {
  const { filters, sort } = query
  const newest = withSort(query, 'newest')
  if (sort === 'costliest') {
    // Filters by cost already select traces with or without a cost.
    const isByCost = [filters.minCost, filters.maxCost, filters.noCost].some(each => each !== undefined)
    return isByCost ? undefined : narrowed(newest, { noCost: 'true' })
  }
  if (sort !== 'slowest') return undefined
  const { status = 'running', minDuration, maxDuration } = filters
  const isByDuration = minDuration !== undefined || maxDuration !== undefined
  return isByDuration || status !== 'running' ? undefined : narrowed(newest, { status })
}
