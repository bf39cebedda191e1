import type { App } from '../../lib/app.ts'
import type { Client } from '../../lib/database/pooled/cancellation.ts'
import { checkQueryTexts, refuseField } from '../../lib/http/refuse.ts'
import { JsonText, type Reply } from '../../lib/http/route.ts'
import { TraceList } from '../../lib/schema/output.ts'
import { pageSizeOf, TraceListQuery } from '../../lib/schema/query.ts'
import { TRACE_ORDERS } from '../../lib/store/lists/order.ts'
import { listTraces } from '../../lib/store/lists/trace-list.ts'
import type { TraceQuery } from '../../lib/store/lists/trace-query.ts'
import { readCursor, readTime, renderCursor } from '../paging.ts'

/** Parameters that are allowed only when `sort` is `newest`. */
const NEWEST_ONLY = ['sessionId', 'userId', 'from', 'to'] as const

export default function (app: App): void {
  app.route({
    method: 'GET',
    path: '/api/v1/traces',
    operation: 'listTraces',
    access: 'traces:read',
    summary: 'List traces',
    description: 'Lists traces in pages, newest first by default. Filters combine with AND.',
    query: TraceListQuery,
    replies: { 200: TraceList },
    links: { getTrace: { traceId: '/traces/0/id' } },
    handler: request => answerTraceList(app, request.key.projectId, request.query, request)
  })
}

/** Responds to a trace list query. The dashboard returns the same response. */
export async function answerTraceList(
  app: App,
  projectId: number,
  query: TraceListQuery,
  client: Client
): Promise<Reply> {
  const asked = readTraceQuery(query)
  const order = TRACE_ORDERS[asked.sort]
  const page = await app.sql.readOf(projectId, (sql, names) => listTraces(sql, projectId, asked, names), client)
  const cursors = `"nextCursor":${renderCursor(order, page.next)},"prevCursor":${renderCursor(order, page.previous)}`
  return { body: new JsonText(`{"traces":${page.traces},${cursors},"pageSize":${asked.limit}}`) }
}

/** Reads the parameters and checks rules that their schema cannot express. Throws `invalid_request`. */
export function readTraceQuery(query: TraceListQuery): TraceQuery {
  const { sort = 'newest', environment, from, to, after, before } = query
  checkQueryTexts(query)
  for (const name of NEWEST_ONLY) {
    if (sort !== 'newest' && query[name] !== undefined) refuseField(name, `cannot be combined with \`sort=${sort}\``)
  }
  if (after !== undefined && before !== undefined) refuseField('before', 'cannot be combined with `after`')
  return {
    ...query,
    environment: environment?.toLowerCase(),
    from: readTime('from', from),
    to: readTime('to', to),
    sort,
    limit: pageSizeOf(query),
    after: readCursor('after', TRACE_ORDERS[sort], after),
    before: readCursor('before', TRACE_ORDERS[sort], before)
  }
}
