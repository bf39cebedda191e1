import type { FacetCounts } from '../contract.ts'
import { at, read } from '../state/api.ts'
import type { ListQuery } from '../state/list-query.ts'
import { toCounted } from '../state/overview-query.ts'

export function readCounts(slug: string, query: ListQuery, offset: string, signal: AbortSignal): Promise<FacetCounts> {
  return read(at('p/:slug/facet-counts', { slug }, toCounted(query, Date.now(), { offset })), { signal })
}
