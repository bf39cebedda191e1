/** Routes with which members score and annotate a trace, and owners delete it. */
import type { App } from '../../lib/app.ts'
import { Refusal } from '../../lib/errors.ts'
import { found } from '../../lib/http/refuse.ts'
import { JsonText, type RequestOf } from '../../lib/http/route.ts'
import { MetadataPatched, ScoreAdded, ScoreDeleted, TraceDeleted } from '../../lib/schema/output.ts'
import type { Action, AuditEntry } from '../../lib/store/audit.ts'
import { deleteTrace } from '../../lib/store/trace/deletion.ts'
import { addScore, deleteScore, newScoreId, readAuthor } from '../../lib/store/trace/scores.ts'
import { readScore } from '../scores.ts'
import { answerMetadataPatch } from '../traces/patch.ts'
import { IN_PROJECT, pageRoute } from './page-routes.ts'

const TRACE = `${IN_PROJECT}/traces/:traceId`

type Acting = Pick<RequestOf<unknown>, 'visitor' | 'project'>

export function entryOf(acting: Acting, action: Action, detail: AuditEntry['detail'] = {}): AuditEntry {
  return { ...actorOf(acting), action, detail }
}

export function actorOf({ visitor, project }: Acting): Pick<AuditEntry, 'by' | 'accountId' | 'projectId'> {
  return { by: visitor.userId, accountId: project.accountId, projectId: project.id }
}

export default function judging(app: App): void {
  const { sql, bodies } = app

  pageRoute(app, {
    method: 'POST',
    path: `${TRACE}/scores`,
    access: 'member',
    takesBody: true,
    replies: { 201: ScoreAdded },
    async handler({ visitor, project, traceId, payload, requestId }) {
      const input = readScore(await bodies.parse('score', payload, project.id))
      const annotation = { ...input, id: newScoreId(), authorId: visitor.userId }
      const score = found(
        await sql.write((each, attempts) => addScore(each, project.id, traceId, annotation, attempts))
      )
      return { status: 201, body: new JsonText(`{"ok":true,"score":${score},"requestId":"${requestId}"}`) }
    }
  })

  pageRoute(app, {
    method: 'DELETE',
    path: `${TRACE}/scores/:scoreId`,
    access: 'member',
    replies: { 200: ScoreDeleted },
    async handler(request) {
      const { visitor, project, traceId, scoreId } = request
      const author = await sql.readOf(
        project.id,
        (each, names) => readAuthor(each, project.id, traceId, scoreId, names),
        request
      )
      if (author === undefined) throw new Refusal('not_found', 'There is no such score on this trace.')
      if (project.role !== 'owner' && author !== visitor.userId) {
        throw new Refusal('forbidden', 'Members delete the scores that they gave; owners delete all.')
      }
      const audit = entryOf(request, 'score.delete', { traceId, scoreId })
      const isDeleted = await sql.write((each, attempts) =>
        deleteScore(each, project.id, traceId, scoreId, attempts, audit)
      )
      found(isDeleted, 'score on this trace')
      return { body: { ok: true, traceId, scoreId } }
    }
  })

  pageRoute(app, {
    method: 'PATCH',
    path: TRACE,
    access: 'member',
    takesBody: true,
    replies: { 200: MetadataPatched },
    handler: request => answerMetadataPatch(app, request.project.id, request)
  })

  pageRoute(app, {
    method: 'DELETE',
    path: TRACE,
    access: 'owner',
    replies: { 200: TraceDeleted },
    async handler(request) {
      const { project, traceId } = request
      const audit = entryOf(request, 'trace.delete', { traceId })
      found(await sql.write((each, attempts) => deleteTrace(each, project.id, traceId, attempts, audit)))
      return { body: { ok: true, traceId } }
    }
  })
}
