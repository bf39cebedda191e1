/** Lists the traces that contain certain words. Only the dashboard offers search; the API has no such parameter. */
import type { App } from '../../lib/app.ts'
import { refuseField } from '../../lib/http/refuse.ts'
import { JsonText, type Reply, type RequestOf } from '../../lib/http/route.ts'
import { WEIGHTS } from '../../lib/limits/large-reads.ts'
import type { TraceListQuery } from '../../lib/schema/query.ts'
import { readWanted } from '../../lib/search/wanted.ts'
import { TRACE_ORDERS } from '../../lib/store/lists/order.ts'
import { isSearched, readSearchState } from '../../lib/store/search/state.ts'
import { searchTraces } from '../../lib/store/search/trace-search.ts'
import { renderCursor } from '../paging.ts'
import { readTraceQuery } from '../traces/list.ts'

/** Maximum characters of a search. */
export const MOST_SEARCHED = 200

/** Responds with a page of matching traces, an excerpt of each, and the progress of the search. */
export async function answerSearch(
  { sql, largeReads }: App,
  text: string,
  query: TraceListQuery,
  request: Pick<RequestOf<unknown>, 'project' | 'signal' | 'party'>
): Promise<Reply> {
  const { id } = request.project
  const asked = readTraceQuery(query)
  if (asked.sort !== 'newest') refuseField('q', `cannot be combined with sort=${asked.sort}`)
  const wanted = readWanted(text) ?? refuseField('q', 'must hold a letter or a digit')
  const search = () =>
    sql.read(async each => {
      if (!(await isSearched(each, id))) refuseField('q', 'cannot be used: search is off for this project')
      return { state: await readSearchState(each, id), page: await searchTraces(each, id, wanted, asked) }
    }, request)
  const { page, state } = await largeReads.run(id, search, { weight: WEIGHTS.search, client: request })
  const cursor = (edge: typeof page.next) => renderCursor(TRACE_ORDERS.newest, edge)
  const reached = { reached: page.reached ?? null, ...state }
  const rest = `"pageSize":${asked.limit},"excerpts":${JSON.stringify(page.excerpts)},"search":${JSON.stringify(reached)}`
  return {
    body: new JsonText(
      `{"traces":${page.traces},"nextCursor":${cursor(page.next)},"prevCursor":${cursor(page.previous)},${rest}}`
    )
  }
}
