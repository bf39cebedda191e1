/** Sessions and users of an application: what their traces add up to, and one session as a conversation. */
import Type from 'typebox'
import type { App } from '../../lib/app.ts'
import { readCursor, renderCursor } from '../../lib/http/paging.ts'
import { checkTexts, found } from '../../lib/http/refuse.ts'
import { JsonText } from '../../lib/http/route.ts'
import { closed } from '../../lib/schema/object.ts'
import { TraceListQuery } from '../../lib/schema/query.ts'
import { readSession, readSessionTraces } from '../../lib/store/groups/session.ts'
import { listSessions } from '../../lib/store/groups/session-list.ts'
import { TRACE_ORDERS } from '../../lib/store/lists/order.ts'
import { IN_PROJECT, pageRoute } from './page-routes.ts'

/** Ids hold whatever applications put there, `/` included, so they are parameters and no part of the path. */
const Id = Type.String({ minLength: 1 })
const SessionQuery = closed({ id: Id })
const ListQuery = closed({
  prefix: Type.Optional(Type.String({ minLength: 1 })),
  env: TraceListQuery.properties.environment,
  after: TraceListQuery.properties.after
})
const SessionTracesQuery = closed({ id: Id, after: Type.Optional(Type.String({ minLength: 1 })) })

const PAGE = 50

export default function sessions(app: App): void {
  const { sql } = app

  pageRoute(app, {
    method: 'GET',
    path: `${IN_PROJECT}/sessions`,
    access: 'visitor',
    query: ListQuery,
    async handler(request) {
      const { project, query } = request
      checkTexts(query)
      const asked = {
        prefix: query.prefix,
        environment: query.env?.toLowerCase(),
        limit: PAGE,
        after: readCursor('after', TRACE_ORDERS.newest, query.after)
      }
      const { groups, next } = await sql.read(each => listSessions(each, project.id, asked), request)
      const cursor = renderCursor(TRACE_ORDERS.newest, next)
      return { body: new JsonText(`{"groups":${JSON.stringify(groups)},"nextCursor":${cursor}}`) }
    }
  })

  pageRoute(app, {
    method: 'GET',
    path: `${IN_PROJECT}/session`,
    access: 'visitor',
    query: SessionQuery,
    async handler(request) {
      const { project, query } = request
      checkTexts(query)
      const sums = await sql.read(each => readSession(each, project.id, query.id), request)
      return { body: { id: query.id, ...found(sums, 'session in this project') } }
    }
  })

  pageRoute(app, {
    method: 'GET',
    path: `${IN_PROJECT}/session-traces`,
    access: 'visitor',
    query: SessionTracesQuery,
    async handler(request) {
      const { project, query } = request
      checkTexts(query)
      const after = readCursor('after', TRACE_ORDERS.newest, query.after)
      const page = await sql.read(
        each => readSessionTraces(each, project.id, query.id, { after, limit: PAGE }),
        request
      )
      const next = renderCursor(TRACE_ORDERS.newest, page.next)
      return { body: new JsonText(`{"traces":${page.traces},"nextCursor":${next}}`) }
    }
  })
}
