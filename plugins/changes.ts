/** The route for programs that keep a copy of a project's traces up to date. */
import type { App } from '../lib/app.ts'
import type { Client } from '../lib/database/pooled/cancellation.ts'
import { Refusal } from '../lib/errors.ts'
import { refuseField } from '../lib/http/refuse.ts'
import { JsonText, type Reply } from '../lib/http/route.ts'
import { ChangeList } from '../lib/schema/output.ts'
import { ChangeListQuery, pageSizeOf } from '../lib/schema/query.ts'
import { list } from '../lib/store/answers/json-text.ts'
import { needsFold, readChanges } from '../lib/store/changes/changes.ts'
import { foldChanges, KEPT_DAYS } from '../lib/store/changes/fold.ts'
import { decodePosition, encodePosition } from '../lib/store/changes/position.ts'
import { pageText, readSummaries } from '../lib/store/lists/summary-page.ts'

export default function changes(app: App): void {
  app.route({
    method: 'GET',
    path: '/api/v1/changes',
    operation: 'listChanges',
    access: 'traces:read',
    summary: 'List the traces that were written since a cursor',
    description:
      'In the order in which writes were committed, to within a few seconds. Without a cursor, the list begins with ' +
      'all stored traces, in the order in which they were recorded. A trace is listed again after every change: ' +
      'spans, the end, metadata, scores, costs and environment. It is always shown in its current state, so a page ' +
      'shows a trace once, however often it was written. Deletions are not listed.\n\n' +
      'To keep a copy up to date, save nextCursor after each page, and go on until caughtUp is true. Later, continue ' +
      'with the saved cursor. A write that commits late comes late in the order, so nothing is missed. Pages may be ' +
      `short or empty. Changes are kept for ${KEPT_DAYS} days: an older cursor gets 410, and so does a cursor from ` +
      'before the database was restored. Then start again without a cursor.',
    query: ChangeListQuery,
    replies: { 200: ChangeList },
    errors: ['invalid_request', 'cursor_expired'],
    links: { getTrace: { traceId: '/traces/0/id' } },
    handler: request => answerChanges(app, request.key.projectId, request.query, request)
  })
}

async function answerChanges(app: App, projectId: number, query: ChangeListQuery, client: Client): Promise<Reply> {
  const limit = pageSizeOf(query)
  const after = query.after === undefined ? undefined : decodePosition(query.after)
  if (query.after !== undefined && after === undefined) refuseField('after', 'must be a nextCursor of this route')
  await foldNews(app, projectId, client)
  const read = { projectId, after, limit, text: pageText }
  const page = await app.sql.readOf(projectId, (sql, names) => readChanges(sql, read, names), client)
  if ('expired' in page) throw new Refusal('cursor_expired', `after: ${page.expired}.`)
  const traces = list(readSummaries(page.text).map(trace => trace.render()))
  const state = `"nextCursor":"${encodePosition(page.next)}","caughtUp":${page.isLast},"pageSize":${limit}`
  return { body: new JsonText(`{"traces":${traces},${state}}`) }
}

/**
 * Gives committed writes their places in the order. If the database accepts no writes, the list ends with the writes
 * that have places.
 */
async function foldNews(app: App, projectId: number, client: Client): Promise<void> {
  if (!(await app.sql.readOf(projectId, (sql, names) => needsFold(sql, projectId, names), client))) return
  try {
    await app.sql.write(sql => foldChanges(sql, projectId))
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
  }
}
