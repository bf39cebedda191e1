/** Routes for lists, with the API's parameters and responses, and for the choices of list filters. */

import Type, { type Static } from 'typebox'
import type { App } from '../../lib/app.ts'
import { found, refuseField } from '../../lib/http/refuse.ts'
import { JsonText } from '../../lib/http/route.ts'
import { ScoreList } from '../../lib/schema/output.ts'
import { ScoreListQuery, TraceListQuery } from '../../lib/schema/query.ts'
import { readFacets, readScoreNames } from '../../lib/store/lists/facets.ts'
import { readTracesById } from '../../lib/store/lists/traces-by-id.ts'
import { findSeenTrace } from '../../lib/store/people/users.ts'
import { answerScoreList } from '../scores.ts'
import { answerTraceList } from '../traces/list.ts'
import { IN_PROJECT, pageRoute } from './page-routes.ts'
import { FacetsReply, ScoreNamesReply, SlugReply, TracePageReply } from './replies.ts'
import { answerSearch, MOST_SEARCHED } from './trace-search.ts'

/** Maximum number of trace ids in a request. */
const MOST_IDS = 50
const ID = /^[0-9a-f]{32}$/i

const PageQuery = Type.Object(
  {
    ...TraceListQuery.properties,
    ids: Type.Optional(Type.String({ minLength: 1 })),
    q: Type.Optional(Type.String({ minLength: 1, maxLength: MOST_SEARCHED }))
  },
  { additionalProperties: false }
)
type PageQuery = Static<typeof PageQuery>

export default function lists(app: App): void {
  const { sql } = app

  pageRoute(app, {
    method: 'GET',
    path: `${IN_PROJECT}/traces`,
    access: 'visitor',
    query: PageQuery,
    replies: { 200: TracePageReply },
    async handler(request) {
      const { project, query } = request
      const { ids, q, ...others } = query
      if (ids === undefined) {
        if (q !== undefined) return answerSearch(app, q, others, request)
        return answerTraceList(app, project.id, others, request)
      }
      const wanted = readIds(ids, { ...(q !== undefined && { q }), ...others })
      const traces = await sql.readOf(
        project.id,
        (each, names) => readTracesById(each, project.id, wanted, names),
        request
      )
      return { body: new JsonText(`{"traces":${traces},"nextCursor":null,"prevCursor":null,"pageSize":${MOST_IDS}}`) }
    }
  })

  pageRoute(app, {
    method: 'GET',
    path: `${IN_PROJECT}/scores`,
    access: 'visitor',
    query: ScoreListQuery,
    replies: { 200: ScoreList },
    handler: request => answerScoreList(app, request.project.id, request.query, request)
  })

  pageRoute(app, {
    method: 'GET',
    path: `${IN_PROJECT}/facets`,
    access: 'visitor',
    replies: { 200: FacetsReply },
    async handler(request) {
      return {
        body: await sql.readOf(
          request.project.id,
          (each, names) => readFacets(each, request.project.id, names),
          request
        )
      }
    }
  })

  pageRoute(app, {
    method: 'GET',
    path: `${IN_PROJECT}/score-names`,
    access: 'visitor',
    replies: { 200: ScoreNamesReply },
    async handler(request) {
      return {
        body: await sql.readOf(
          request.project.id,
          (each, names) => readScoreNames(each, request.project.id, names),
          request
        )
      }
    }
  })

  // Logs and alerts can link to a trace without knowing the project in which the reader sees it.
  pageRoute(app, {
    method: 'GET',
    path: '/app/api/traces/:traceId',
    access: 'visitor',
    replies: { 200: SlugReply },
    async handler(request) {
      const { visitor, traceId } = request
      const slug = await sql.read(each => findSeenTrace(each, visitor.userId, traceId), request)
      return { body: { slug: found(slug, 'trace in a project of yours') } }
    }
  })
}

/** Reads the `ids` parameter, which cannot be combined with others. Throws `invalid_request`. */
function readIds(text: string, others: Omit<PageQuery, 'ids'>): string[] {
  const [other] = Object.keys(others)
  if (other !== undefined) refuseField(other, 'cannot be combined with ids')
  const ids = text.split(',')
  if (ids.length > MOST_IDS) refuseField('ids', `must be at most ${MOST_IDS}`)
  if (!ids.every(id => ID.test(id))) refuseField('ids', 'must be 32 hexadecimal characters each, separated by commas')
  return ids.map(id => id.toLowerCase())
}
