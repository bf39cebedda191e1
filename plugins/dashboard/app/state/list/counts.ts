/** How many traces each choice of a filter has. */

import { toCounted } from '../../lib/charts/counted.ts'
import type { FacetCounts } from '../../lib/charts/series.ts'
import type { ListQuery } from '../../lib/list/filters.ts'
import { read } from '../api.ts'

export function readCounts(slug: string, query: ListQuery, signal: AbortSignal): Promise<FacetCounts> {
  return read(`p/${encodeURIComponent(slug)}/facet-counts?${toCounted(query, Date.now())}`, { signal })
}
