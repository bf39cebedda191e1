/** Routes for lists, with the API's parameters and responses, and for the values that list filters offer. */

import Type, { type Static } from 'typebox'
import type { App } from '../../lib/app.ts'
import { found, refuseField } from '../../lib/http/refuse.ts'
import { JsonText, type Reply, type RequestOf } from '../../lib/http/route.ts'
import { WEIGHTS } from '../../lib/limits/large-reads.ts'
import { closed } from '../../lib/schema/object.ts'
import { ScoreList } from '../../lib/schema/output.ts'
import { ScoreListQuery, TraceListQuery } from '../../lib/schema/query.ts'
import { readWanted } from '../../lib/search/wanted.ts'
import { readFacets, readScoreNames } from '../../lib/store/lists/facets.ts'
import { TRACE_ORDERS } from '../../lib/store/lists/order.ts'
import { readTracesById } from '../../lib/store/lists/summary-page.ts'
import { findSeenTrace } from '../../lib/store/people/users.ts'
import { isSearched, readSearchState } from '../../lib/store/search/state.ts'
import { searchTraces } from '../../lib/store/search/trace-search.ts'
import { renderCursor } from '../paging.ts'
import { answerScoreList } from '../scores.ts'
import { answerTraceList, readTraceQuery } from '../traces/list.ts'
import { IN_PROJECT, readRoute } from './page-routes.ts'
import { FacetsReply, ScoreNamesReply, SlugReply, TracePageReply } from './replies.ts'

/** Maximum number of characters in a search. */
const MOST_SEARCHED = 200
/** Maximum number of trace ids in a request. */
const MOST_IDS = 50
const ID = /^[0-9a-f]{32}$/i

const PageQuery = closed({
  ...TraceListQuery.properties,
  ids: Type.Optional(Type.String({ minLength: 1 })),
  q: Type.Optional(Type.String({ minLength: 1, maxLength: MOST_SEARCHED }))
})
type PageQuery = Static<typeof PageQuery>

export default function lists(app: App): void {
  const { sql } = app

  readRoute(app, `${IN_PROJECT}/traces`, {
    query: PageQuery,
    replies: { 200: TracePageReply },
    async handler(request) {
      const { id } = request.project
      const { ids, q, ...others } = request.query
      if (ids === undefined) {
        if (q !== undefined) return answerSearch(app, q, others, request)
        return answerTraceList(app, id, others, request)
      }
      const wanted = readIds(ids, { ...(q !== undefined && { q }), ...others })
      const traces = await sql.readOf(id, (each, names) => readTracesById(each, id, wanted, names), request)
      return { body: new JsonText(`{"traces":${traces},"nextCursor":null,"prevCursor":null,"pageSize":${MOST_IDS}}`) }
    }
  })

  readRoute(app, `${IN_PROJECT}/scores`, {
    query: ScoreListQuery,
    replies: { 200: ScoreList },
    handler: request => answerScoreList(app, request.project.id, request.query, request)
  })

  readRoute(app, `${IN_PROJECT}/facets`, {
    replies: { 200: FacetsReply },
    async handler(request) {
      const { id } = request.project
      return { body: await sql.readOf(id, (each, names) => readFacets(each, id, names), request) }
    }
  })

  readRoute(app, `${IN_PROJECT}/score-names`, {
    replies: { 200: ScoreNamesReply },
    async handler(request) {
      const { id } = request.project
      return { body: await sql.readOf(id, (each, names) => readScoreNames(each, id, names), request) }
    }
  })

  // Lets logs and alerts link to a trace by its id alone, without naming a project.
  readRoute(app, '/app/api/traces/:traceId', {
    replies: { 200: SlugReply },
    async handler(request) {
      const { visitor, traceId } = request
      const slug = await sql.read(each => findSeenTrace(each, visitor.userId, traceId), request)
      return { body: { slug: found(slug, 'trace in a project of yours') } }
    }
  })
}

/** Reads the `ids` parameter, which cannot be combined with other parameters. Throws `invalid_request`. */
function readIds(text: string, others: Omit<PageQuery, 'ids'>): string[] {
  const [other] = Object.keys(others)
  if (other !== undefined) refuseField(other, 'cannot be combined with ids')
  const ids = text.split(',')
  if (ids.length > MOST_IDS) refuseField('ids', `must be at most ${MOST_IDS}`)
  if (!ids.every(id => ID.test(id))) refuseField('ids', 'must be 32 hexadecimal characters each, separated by commas')
  return ids.map(id => id.toLowerCase())
}

/** Responds with a page of matching traces, an excerpt of each, and the progress of the search. */
async function answerSearch(
  { sql, largeReads }: App,
  text: string,
  query: TraceListQuery,
  request: Pick<RequestOf<unknown>, 'project' | 'signal' | 'party'>
): Promise<Reply> {
  const { id } = request.project
  const asked = readTraceQuery(query)
  if (asked.sort !== 'newest') refuseField('q', `cannot be combined with sort=${asked.sort}`)
  const wanted = readWanted(text) ?? refuseField('q', 'must contain a letter or a digit')
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
