/** The route for programs that keep a copy of a project's traces up to date. */
import type { App } from '../lib/app.ts'
import type { Client } from '../lib/database/pooled/cancellation.ts'
import { Refusal } from '../lib/errors.ts'
import { refuseField } from '../lib/http/refuse.ts'
import { JsonText, type Reply } from '../lib/http/route.ts'
import { type Lookup, SharedLookups } from '../lib/limits/shared-lookups.ts'
import { ChangeList } from '../lib/schema/output.ts'
import { ChangeListQuery, pageSizeOf } from '../lib/schema/query.ts'
import { list } from '../lib/store/answers/json-text.ts'
import { type ChangeRead, NOW, needsFold, readChanges } from '../lib/store/changes/changes.ts'
import { foldChanges, KEPT_DAYS, MOST_NEWS } from '../lib/store/changes/fold.ts'
import { decodePosition, encodePosition } from '../lib/store/changes/position.ts'
import { pageText, readSummaries } from '../lib/store/lists/summary-page.ts'

export default function changes(app: App): void {
  const folds = new Folds(async projectId => {
    while ((await app.sql.write(sql => foldChanges(sql, projectId))) >= MOST_NEWS);
  })
  app.route({
    method: 'GET',
    path: '/api/v1/changes',
    operation: 'listChanges',
    access: 'traces:read',
    summary: 'List the traces written since a cursor',
    description:
      'Lists traces in the order in which their writes were committed; writes a few seconds apart may be swapped. ' +
      'Without a cursor, the list begins with all stored traces, in the order in which they were recorded. A trace ' +
      'is listed again after every change to its spans, end, metadata, scores, costs or environment. A page shows a ' +
      'trace once, in its current state, no matter how often it was written. Deletions are not listed.\n\nTo keep a ' +
      'copy up to date, save nextCursor after each page, and continue until caughtUp is true. Later, resume with the ' +
      'saved cursor. A write that commits late is listed late, so nothing is missed. Pages may be short or empty. ' +
      `Changes are kept for ${KEPT_DAYS} days: an older cursor gets 410, and so does a cursor from before the ` +
      'database was restored. Then start again without a cursor.',
    query: ChangeListQuery,
    replies: { 200: ChangeList },
    errors: ['invalid_request', 'cursor_expired'],
    links: { getTrace: { traceId: '/traces/0/id' } },
    handler: request => answerChanges(app, folds, request.key.projectId, request.query, request)
  })
}

async function answerChanges(
  app: App,
  folds: Folds,
  projectId: number,
  query: ChangeListQuery,
  client: Client
): Promise<Reply> {
  const limit = pageSizeOf(query)
  const given = query.after
  const after: ChangeRead['after'] = given === undefined ? undefined : given === NOW ? NOW : decodePosition(given)
  if (given !== undefined && after === undefined)
    refuseField('after', `must be a nextCursor from this endpoint, or ${NOW}`)
  const needs = await app.sql.readOf(projectId, (sql, names) => needsFold(sql, projectId, names), client)
  const isFolded = !needs || (await folds.run(projectId))
  const read = { projectId, after, limit, text: pageText, isFolded }
  const page = await app.sql.readOf(projectId, (sql, names) => readChanges(sql, read, names), client)
  if ('expired' in page) throw new Refusal('cursor_expired', `after: ${page.expired}.`)
  const traces = list(readSummaries(page.text).map(trace => trace.render()))
  const state = `"nextCursor":"${encodePosition(page.next)}","caughtUp":${page.isLast},"pageSize":${limit}`
  return { body: new JsonText(`{"traces":${traces},${state}}`) }
}

/**
 * Runs folds, which give committed writes their places in the order, on request. Each project has at most one fold in
 * flight. Requests that arrive in the meantime share the next fold, because the one in flight may have missed a write
 * that was committed before they arrived.
 */
class Folds {
  readonly #fold: (projectId: number) => Promise<unknown>
  readonly #projects = new Map<number, { readonly shared: SharedLookups<Lookup<true>>; waiting: number }>()

  constructor(fold: (projectId: number) => Promise<unknown>) {
    this.#fold = fold
  }

  /**
   * Folds the project's writes. Returns false if the database accepts no writes. The list then ends at the last write
   * that has a place.
   */
  async run(projectId: number): Promise<boolean> {
    const project = this.#projects.get(projectId) ?? { shared: this.#share(projectId), waiting: 0 }
    this.#projects.set(projectId, project)
    project.waiting++
    try {
      await new Promise<true | undefined>((resolve, reject) => project.shared.add({ resolve, reject }))
      return true
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return false
    } finally {
      project.waiting--
      if (project.waiting === 0) this.#projects.delete(projectId)
    }
  }

  #share(projectId: number): SharedLookups<Lookup<true>> {
    return new SharedLookups(MAX_SHARING, async batch => {
      await this.#fold(projectId)
      for (const { resolve } of batch) resolve(true)
    })
  }
}

/** Maximum number of requests that share a fold. A project may have fewer reads in flight. */
const MAX_SHARING = 1000
