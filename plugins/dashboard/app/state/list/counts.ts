/** How many traces each choice of a filter has. */
import type { FacetCounts } from '../../lib/charts/series.ts'
import type { ListQuery } from '../../lib/filters.ts'
import { toCounted } from '../../lib/overview/query.ts'
import { read } from '../api.ts'

export function readCounts(slug: string, query: ListQuery, signal: AbortSignal): Promise<FacetCounts> {
  return read(`p/${encodeURIComponent(slug)}/facet-counts?${toCounted(query, Date.now())}`, { signal })
}
