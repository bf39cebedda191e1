/** How many traces each choice of a filter has. */

import type { FacetCounts } from '../answers.ts'
import { read } from '../state/api.ts'
import type { ListQuery } from '../state/list-query.ts'
import { toCounted } from '../state/overview-query.ts'

export function readCounts(slug: string, query: ListQuery, signal: AbortSignal): Promise<FacetCounts> {
  return read(`p/${encodeURIComponent(slug)}/facet-counts?${toCounted(query, Date.now())}`, { signal })
}
