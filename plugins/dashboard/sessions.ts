/** Routes for an application's sessions and users: sums of their traces, and one session as a conversation. */
import type { Sql } from 'postgres'
import Type, { type Static } from 'typebox'
import type { App } from '../../lib/app.ts'
import { checkQueryTexts, found, refuseField } from '../../lib/http/refuse.ts'
import { JsonText, type RequestOf } from '../../lib/http/route.ts'
import { WEIGHTS } from '../../lib/limits/large-reads.ts'
import { DAY_RANGES, periodOf, type Range } from '../../lib/rollups/period.ts'
import { closed } from '../../lib/schema/object.ts'
import { TraceListQuery } from '../../lib/schema/query.ts'
import {
  GROUP_SORTS,
  type GroupSort,
  type RankedQuery,
  rankGroups
} from '../../lib/store/analytics/groups/ranked-groups.ts'
import { readSessionDetails } from '../../lib/store/analytics/groups/session-details.ts'
import {
  listSessions,
  type OwnTraces,
  readSession,
  readSessionTraces,
  type SessionGroupSums
} from '../../lib/store/analytics/groups/sessions.ts'
import { listTracedUsers, readUser } from '../../lib/store/analytics/groups/user-list.ts'
import { readCountedFrom } from '../../lib/store/analytics/rollups/sums.ts'
import { list } from '../../lib/store/answers/json-text.ts'
import { readFirstErrors } from '../../lib/store/finding/first-errors.ts'
import { TRACE_ORDERS } from '../../lib/store/lists/order.ts'
import { readCursor, renderCursor } from '../paging.ts'
import { GROUPS_SHOWN } from './app/sessions/group-count.ts'
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
/** Number of days (UTC) to count, including today. */
const range = Type.Optional(Type.Enum([...DAY_RANGES]))
const GroupListQuery = closed({
  ...ListQuery.properties,
  range,
  sort: Type.Optional(Type.Enum(['last', ...GROUP_SORTS]))
})
const UserQuery = closed({ id: Id, range, env: ListQuery.properties.env })
const SessionTracesQuery = closed({ id: Id, after: Type.Optional(Type.String({ minLength: 1 })) })

const PAGE = 50

export default function sessionPages(app: App): void {
  const { sql } = app
  const ranked = (field: RankedQuery['field'], sort: GroupSort, request: RequestOf<Static<typeof GroupListQuery>>) => {
    const { project, query } = request
    if (query.after !== undefined) refuseField('after', `cannot be combined with \`sort=${sort}\``)
    const { prefix, environment } = askedOf(query)
    const asked = { field, sort, prefix, environment, from: query.range && beginOf(query.range), limit: GROUPS_SHOWN }
    return app.largeReads.run(project.id, () => sql.read(each => rankGroups(each, project.id, asked), request), {
      weight: WEIGHTS.analysis,
      client: request
    })
  }

  readRoute(app, `${IN_PROJECT}/sessions`, {
    query: GroupListQuery,
    replies: { 200: SessionPageReply },
    async handler(request) {
      const { project, query } = request
      const { sort = 'last', range } = query
      const { groups, next, since } =
        sort === 'last'
          ? {
              ...(await sql.read(
                each => listSessions(each, project.id, { ...askedOf(query), from: range && beginOf(range) }),
                request
              )),
              since: null
            }
          : { ...(await ranked('session_id', sort, request)), next: undefined }
      const rows = await sql.read(each => withDetails(each, project.id, groups), request)
      const cursor = renderCursor(TRACE_ORDERS.newest, next)
      const rest = JSON.stringify({ groups: rows, since }).slice(0, -1)
      return { body: new JsonText(`${rest},"nextCursor":${cursor}}`) }
    }
  })

  readRoute(app, `${IN_PROJECT}/users`, {
    query: GroupListQuery,
    replies: { 200: UserPageReply },
    async handler(request) {
      const { project, query } = request
      const { sort = 'last', range = '30d' } = query
      const { groups, next, since } =
        sort === 'last'
          ? {
              ...(await sql.read(
                each => listTracedUsers(each, project.id, { ...askedOf(query), from: beginOf(range) }),
                request
              )),
              since: null
            }
          : { ...(await ranked('user_id', sort, request)), next: undefined }
      const countedFrom = sort === 'last' ? await sql.read(each => readCountedFrom(each, project.id), request) : null
      const cursor = renderCursor(TRACE_ORDERS.newest, next)
      const rest = JSON.stringify({ groups, since, countedFrom }).slice(0, -1)
      return { body: new JsonText(`${rest},"nextCursor":${cursor}}`) }
    }
  })

  readRoute(app, `${IN_PROJECT}/user`, {
    query: UserQuery,
    replies: { 200: UserSumsReply },
    async handler(request) {
      const { project, query } = request
      checkQueryTexts(query)
      const scope = { from: beginOf(query.range), environment: query.env?.toLowerCase() }
      const body = await sql.read(async each => {
        const user = await readUser(each, project.id, query.id, scope)
        const { sessions, ...sums } = found(user, 'user in this project')
        return {
          ...sums,
          from: scope.from,
          sessions: await withDetails(each, project.id, sessions, { ...scope, userId: query.id }),
          countedFrom: await readCountedFrom(each, project.id)
        }
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
      const ids = page.traces.map(({ id }) => id)
      const errors = Object.fromEntries(await sql.read(each => readFirstErrors(each, project.id, ids), request))
      const next = renderCursor(TRACE_ORDERS.newest, page.next)
      const traces = list(page.traces.map(trace => trace.render()))
      return { body: new JsonText(`{"traces":${traces},"nextCursor":${next},"errors":${JSON.stringify(errors)}}`) }
    }
  })
}

/** Adds the fields that a session list shows besides sums. */
async function withDetails(sql: Sql, projectId: number, groups: readonly SessionGroupSums[], own?: OwnTraces) {
  const details = await readSessionDetails(
    sql,
    projectId,
    groups.map(({ id }) => id),
    own
  )
  // A session may have been deleted since its sums were read.
  return groups.flatMap(group => {
    const more = details.get(group.id)
    return more === undefined ? [] : [{ ...group, ...more }]
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
