/** Routes for an application's sessions and users, as sums over their traces. */
import type { App } from '../lib/app.ts'
import { Refusal } from '../lib/errors.ts'
import { checkQueryTexts, found } from '../lib/http/refuse.ts'
import { JsonText } from '../lib/http/route.ts'
import { periodOf } from '../lib/rollups/period.ts'
import {
  SessionDetail,
  SessionList,
  SessionListQuery,
  SessionQuery,
  UserList,
  UserListQuery
} from '../lib/schema/history/groups.ts'
import { pageSizeOf } from '../lib/schema/query.ts'
import { unstorable } from '../lib/schema/text.ts'
import {
  listSessions,
  readSession,
  readSessionTraces,
  type SessionGroupSums
} from '../lib/store/analytics/groups/sessions.ts'
import { listTracedUsers } from '../lib/store/analytics/groups/user-list.ts'
import { readCountedFrom } from '../lib/store/analytics/rollups/sums.ts'
import { list } from '../lib/store/answers/json-text.ts'
import { readFirstErrors } from '../lib/store/finding/first-errors.ts'
import { explainEmpty } from '../lib/store/hints/explain-empty.ts'
import { TRACE_ORDERS } from '../lib/store/lists/order.ts'
import { readCursor, readTime, renderCursor } from './paging.ts'

const ORDER = TRACE_ORDERS.newest

export default function sessions(app: App): void {
  app.route({
    method: 'GET',
    path: '/api/v1/sessions',
    operation: 'listSessions',
    access: 'traces:read',
    summary: 'List sessions',
    description:
      'Lists sessions by their last trace, newest first. A call examines a limited number of traces, so any page may ' +
      'be short or empty: continue until nextCursor is null.',
    query: SessionListQuery,
    replies: { 200: SessionList },
    links: { getSession: { sessionId: '/sessions/0/id' } },
    async handler(request) {
      const { query, key } = request
      checkQueryTexts(query)
      const { prefix, userId } = query
      const environment = query.environment?.toLowerCase()
      const limit = pageSizeOf(query)
      const asked = { prefix, userId, environment, limit, after: readCursor('after', ORDER, query.after) }
      const { groups, next, hint } = await app.sql.read(async sql => {
        const page = await listSessions(sql, key.projectId, asked)
        const values = { sessionPrefix: prefix, userId, environment }
        const empty = { sought: 'session', values, stopped: page.next && {} }
        return { ...page, hint: isEmpty(page, asked) ? await explainEmpty(sql, key.projectId, empty) : null }
      }, request)
      const list = groups.map(({ id, isMore, ...sums }) => ({ id, ...shown(sums), partial: isMore, ...ends(sums) }))
      return { body: page('sessions', list, { hint }, next, limit) }
    }
  })

  app.route({
    method: 'GET',
    path: '/api/v1/sessions/:sessionId',
    operation: 'getSession',
    access: 'traces:read',
    summary: 'Read a session',
    description:
      "Returns totals over the session's newest 5,000 traces, and a page of its traces, oldest first, with each " +
      "trace's first error.",
    query: SessionQuery,
    replies: { 200: SessionDetail },
    links: { getTrace: { traceId: '/traces/0/id' } },
    async handler(request) {
      const { query, key, params } = request
      const id = params.sessionId ?? ''
      if (unstorable(id) !== undefined) throw new Refusal('not_found', 'There is no such session in this project.')
      const limit = pageSizeOf(query)
      const after = readCursor('after', ORDER, query.after)
      const { sums, traces, next, errors } = await app.sql.read(async sql => {
        const sums = await readSession(sql, key.projectId, id)
        const { traces, next } = await readSessionTraces(sql, key.projectId, id, { after, limit })
        const ids = traces.map(({ id }) => id)
        return { sums, traces, next, errors: await readFirstErrors(sql, key.projectId, ids) }
      }, request)
      const { newest, running, durationMs, users, ...rest } = found(sums, 'session in this project')
      const more = { runningCount: running, durationMs, users }
      const session = { id, ...shown(rest), partial: newest !== null, ...ends(rest), ...more }
      const cursor = renderCursor(ORDER, next)
      const shownTraces = list(
        traces.map(trace => {
          const firstError = errors.get(trace.id) ?? null
          return `${trace.render().slice(0, -1)},"firstError":${JSON.stringify(firstError)}}`
        })
      )
      return {
        body: new JsonText(
          `{"session":${JSON.stringify(session)},"traces":${shownTraces},"nextCursor":${cursor},"pageSize":${limit}}`
        )
      }
    }
  })

  app.route({
    method: 'GET',
    path: '/api/v1/users',
    operation: 'listUsers',
    access: 'traces:read',
    summary: 'List users',
    description:
      'Lists users by their last trace, newest first, with daily totals of their finished traces. A call examines a ' +
      'limited number of traces, so any page may be short or empty: continue until nextCursor is null.',
    query: UserListQuery,
    replies: { 200: UserList },
    async handler(request) {
      const { query, key } = request
      checkQueryTexts(query)
      const { prefix } = query
      const environment = query.environment?.toLowerCase()
      const limit = pageSizeOf(query)
      const from = dayOf(
        readTime('from', query.from) ?? new Date(periodOf('30d', Date.now(), 0, 'day').from).toISOString()
      )
      const asked = { prefix, environment, limit, from, after: readCursor('after', ORDER, query.after) }
      const { groups, next, countedFrom, hint } = await app.sql.read(async sql => {
        const page = await listTracedUsers(sql, key.projectId, asked)
        const values = { userPrefix: prefix, environment }
        const empty = { sought: 'user', values, stopped: page.next && {} }
        return {
          ...page,
          countedFrom: await readCountedFrom(sql, key.projectId),
          hint: isEmpty(page, asked) ? await explainEmpty(sql, key.projectId, empty) : null
        }
      }, request)
      const list = groups.map(({ id, firstAt, lastAt, ...sums }) => ({
        id,
        ...shown(sums),
        firstDay: firstAt,
        lastStartedAt: lastAt
      }))
      return { body: page('users', list, { from, countedFrom, hint }, next, limit) }
    }
  })
}

type Sums = Pick<SessionGroupSums, 'traces' | 'errors' | 'inputTokens' | 'outputTokens' | 'costUsd'>

/** Names the sums as the API does. */
const shown = ({ traces, errors, inputTokens, outputTokens, costUsd }: Sums) => ({
  traceCount: traces,
  errorCount: errors,
  inputTokens,
  outputTokens,
  costUsd
})
const ends = ({ firstAt, lastAt }: Pick<SessionGroupSums, 'firstAt' | 'lastAt'>) => ({
  firstStartedAt: firstAt,
  lastStartedAt: lastAt
})

/** Whether the first page of a list is empty. */
const isEmpty = (
  { groups }: { readonly groups: readonly unknown[] },
  { after }: { readonly after?: unknown }
): boolean => groups.length === 0 && after === undefined

/** Moves a canonical time to the beginning of its day in UTC. */
const dayOf = (time: string): string => `${time.slice(0, 10)}T00:00:00.000Z`

function page(
  name: string,
  items: readonly object[],
  more: object,
  next: Parameters<typeof renderCursor>[1],
  limit: number
): JsonText {
  const fields = JSON.stringify({ [name]: items, ...more }).slice(0, -1)
  return new JsonText(`${fields},"nextCursor":${renderCursor(ORDER, next)},"pageSize":${limit}}`)
}
