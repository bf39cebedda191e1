/** Routes for an application's sessions and users: sums of their traces, and one session as a conversation. */
import Type, { type Static } from 'typebox'
import type { App } from '../../lib/app.ts'
import { checkQueryTexts, found } from '../../lib/http/refuse.ts'
import { JsonText } from '../../lib/http/route.ts'
import { DAY_RANGES, periodOf, type Range } from '../../lib/rollups/period.ts'
import { closed } from '../../lib/schema/object.ts'
import { TraceListQuery } from '../../lib/schema/query.ts'
import { listSessions, readSession, readSessionTraces } from '../../lib/store/analytics/groups/sessions.ts'
import { listTracedUsers, readUser } from '../../lib/store/analytics/groups/user-list.ts'
import { readCountedFrom } from '../../lib/store/analytics/rollups/sums.ts'
import { list } from '../../lib/store/answers/json-text.ts'
import { TRACE_ORDERS } from '../../lib/store/lists/order.ts'
import { readCursor, renderCursor } from '../paging.ts'
import { IN_PROJECT, readRoute } from './page-routes.ts'
import { SessionPageReply, SessionSumsReply, SessionTracesReply, UserPageReply, UserSumsReply } from './replies.ts'

/** Ids contain arbitrary application data, including `/`, so they are query parameters instead of path segments. */
const Id = Type.String({ minLength: 1 })
const SessionQuery = closed({ id: Id })
const ListQuery = closed({
  prefix: Type.Optional(Type.String({ minLength: 1 })),
  env: TraceListQuery.properties.environment,
  after: TraceListQuery.properties.after
})
/** Number of days (UTC) over which users' traces are summed, including today. */
const range = Type.Optional(Type.Enum([...DAY_RANGES]))
const UserListQuery = closed({ ...ListQuery.properties, range })
const UserQuery = closed({ id: Id, range })
const SessionTracesQuery = closed({ id: Id, after: Type.Optional(Type.String({ minLength: 1 })) })

const PAGE = 50

export default function sessionPages(app: App): void {
  const { sql } = app

  readRoute(app, `${IN_PROJECT}/sessions`, {
    query: ListQuery,
    replies: { 200: SessionPageReply },
    async handler(request) {
      const asked = askedOf(request.query)
      const { groups, next } = await sql.read(each => listSessions(each, request.project.id, asked), request)
      const cursor = renderCursor(TRACE_ORDERS.newest, next)
      return { body: new JsonText(`{"groups":${JSON.stringify(groups)},"nextCursor":${cursor}}`) }
    }
  })

  readRoute(app, `${IN_PROJECT}/users`, {
    query: UserListQuery,
    replies: { 200: UserPageReply },
    async handler(request) {
      const { id } = request.project
      const asked = { ...askedOf(request.query), from: beginOf(request.query.range) }
      const { groups, next, countedFrom } = await sql.read(
        async each => ({ ...(await listTracedUsers(each, id, asked)), countedFrom: await readCountedFrom(each, id) }),
        request
      )
      const cursor = renderCursor(TRACE_ORDERS.newest, next)
      const counted = JSON.stringify(countedFrom)
      return {
        body: new JsonText(`{"groups":${JSON.stringify(groups)},"nextCursor":${cursor},"countedFrom":${counted}}`)
      }
    }
  })

  readRoute(app, `${IN_PROJECT}/user`, {
    query: UserQuery,
    replies: { 200: UserSumsReply },
    async handler(request) {
      const { project, query } = request
      checkQueryTexts(query)
      const body = await sql.read(async each => {
        const user = await readUser(each, project.id, query.id, beginOf(query.range))
        return { ...found(user, 'user in this project'), countedFrom: await readCountedFrom(each, project.id) }
      }, request)
      return { body }
    }
  })

  readRoute(app, `${IN_PROJECT}/session`, {
    query: SessionQuery,
    replies: { 200: SessionSumsReply },
    async handler(request) {
      const { project, query } = request
      checkQueryTexts(query)
      const sums = await sql.read(each => readSession(each, project.id, query.id), request)
      return { body: { id: query.id, ...found(sums, 'session in this project') } }
    }
  })

  readRoute(app, `${IN_PROJECT}/session-traces`, {
    query: SessionTracesQuery,
    replies: { 200: SessionTracesReply },
    async handler(request) {
      const { project, query } = request
      checkQueryTexts(query)
      const after = readCursor('after', TRACE_ORDERS.newest, query.after)
      const asked = { after, limit: PAGE }
      const page = await sql.read(each => readSessionTraces(each, project.id, query.id, asked), request)
      const next = renderCursor(TRACE_ORDERS.newest, page.next)
      return { body: new JsonText(`{"traces":${list(page.traces.map(trace => trace.render()))},"nextCursor":${next}}`) }
    }
  })
}

/** Returns the start of the range's first day. */
function beginOf(range: Range = '30d'): string {
  return new Date(periodOf(range, Date.now(), 0, 'day').from).toISOString()
}

/** Reads the parameters that both lists accept. Throws `invalid_request`. */
function askedOf(query: Static<typeof ListQuery>) {
  checkQueryTexts(query)
  return {
    prefix: query.prefix,
    environment: query.env?.toLowerCase(),
    limit: PAGE,
    after: readCursor('after', TRACE_ORDERS.newest, query.after)
  }
}
