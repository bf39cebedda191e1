/** Routes for scores, which judge a trace after it has run. Scores can be added and deleted, but not changed. */
import type { App } from '../lib/app.ts'
import type { Client } from '../lib/database/pooled/cancellation.ts'
import { checkQueryTexts, found } from '../lib/http/refuse.ts'
import { JsonText, type Reply } from '../lib/http/route.ts'
import { ScoreInput } from '../lib/schema/input.ts'
import { ScoreAdded, ScoreDeleted, ScoreList, TraceScoreList } from '../lib/schema/output.ts'
import { pageSizeOf, ScoreListQuery } from '../lib/schema/query.ts'
import { SCORE_ORDER } from '../lib/store/lists/order.ts'
import { listScores, MAX_EXAMINED, type ScoreQuery } from '../lib/store/lists/score-list.ts'
import { addScore, deleteScore, type NewScore, newScoreId, readTraceScores } from '../lib/store/trace/scores.ts'
import { readCursor, readTime, renderCursor } from './paging.ts'

export default function scores(app: App): void {
  app.route({
    method: 'POST',
    path: '/api/v1/traces/:traceId/scores',
    operation: 'addScore',
    access: 'traces:write',
    summary: 'Attach a score to a trace',
    description: 'If the trace already has a score with this name, both are kept, and the summary shows the newest.',
    body: ScoreInput,
    takesBody: true,
    replies: { 201: ScoreAdded },
    errors: ['invalid_request', 'conflict', 'quota_exhausted'],
    async handler({ key, traceId, payload, requestId }) {
      const input = { ...readScore(await app.bodies.parse('score', payload, key.projectId)), id: newScoreId() }
      const score = found(
        await app.sql.write((sql, attempts) => addScore(sql, key.projectId, traceId, input, attempts))
      )
      return { status: 201, body: new JsonText(`{"ok":true,"score":${score},"requestId":"${requestId}"}`) }
    }
  })

  app.route({
    method: 'GET',
    path: '/api/v1/traces/:traceId/scores',
    operation: 'listTraceScores',
    access: 'traces:read',
    summary: "List a trace's scores",
    description: 'Returns all scores, newest first.',
    replies: { 200: TraceScoreList },
    async handler(request) {
      const { key, traceId } = request
      const list = found(
        await app.sql.readOf(
          key.projectId,
          (sql, names) => readTraceScores(sql, key.projectId, traceId, names),
          request
        )
      )
      return { body: new JsonText(`{"traceId":"${traceId}","scores":${list}}`) }
    }
  })

  app.route({
    method: 'DELETE',
    path: '/api/v1/traces/:traceId/scores/:scoreId',
    operation: 'deleteScore',
    access: 'traces:delete',
    summary: 'Delete a score',
    description: "The trace's summary then shows the previous score with that name, if there is one.",
    replies: { 200: ScoreDeleted },
    errors: ['quota_exhausted'],
    async handler({ key, traceId, scoreId, client }) {
      const { projectId, keyId } = key
      const detail = { traceId, scoreId, keyId }
      const audit = { by: null, action: 'score.delete', projectId, detail, client } as const
      const deleted = await app.sql.write((sql, attempts) =>
        deleteScore(sql, projectId, traceId, scoreId, attempts, audit)
      )
      found(deleted, 'score on this trace')
      return { body: { ok: true, traceId, scoreId } }
    }
  })

  app.route({
    method: 'GET',
    path: '/api/v1/scores',
    operation: 'listScores',
    access: 'traces:read',
    summary: "List a project's scores",
    description:
      `Newest first. If \`environment\` is set, a call examines at most ${MAX_EXAMINED} scores. Any page before the ` +
      'last may therefore be short or empty, so continue until nextCursor is null.',
    query: ScoreListQuery,
    replies: { 200: ScoreList },
    handler: request => answerScoreList(app, request.key.projectId, request.query, request)
  })
}

/** Responds to a score list query. The dashboard returns the same response. */
export async function answerScoreList(
  app: App,
  projectId: number,
  query: ScoreListQuery,
  client: Client
): Promise<Reply> {
  const asked = readScoreQuery(query)
  const page = await app.sql.readOf(projectId, (sql, names) => listScores(sql, projectId, asked, names), client)
  const cursor = renderCursor(SCORE_ORDER, page.next)
  return { body: new JsonText(`{"scores":${page.scores},"nextCursor":${cursor},"pageSize":${asked.limit}}`) }
}

/** Reads a score and checks rules that the schema cannot express. */
export function readScore({ name, dataType, value, comment, spanId }: ScoreInput): NewScore {
  checkQueryTexts({ value, comment })
  return { name, dataType, value, comment: comment ?? null, spanId: spanId?.toLowerCase() ?? null }
}

function readScoreQuery(query: ScoreListQuery): ScoreQuery {
  checkQueryTexts(query)
  return {
    name: query.name,
    environment: query.environment?.toLowerCase(),
    from: readTime('from', query.from),
    to: readTime('to', query.to),
    limit: pageSizeOf(query),
    after: readCursor('after', SCORE_ORDER, query.after)
  }
}
