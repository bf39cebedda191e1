/**
 * Routes that return a trace, whole or in the parts that the trace page requests, and routes that score, annotate and
 * delete a trace.
 */

import Type from 'typebox'
import type { App } from '../../lib/app.ts'
import { Refusal } from '../../lib/errors.ts'
import { found } from '../../lib/http/refuse.ts'
import { JsonText } from '../../lib/http/route.ts'
import { SpanId } from '../../lib/schema/input.ts'
import { closed } from '../../lib/schema/object.ts'
import {
  MetadataPatched,
  ScoreAdded,
  ScoreDeleted,
  SpanOutput,
  TraceDeleted,
  TraceDetail
} from '../../lib/schema/output.ts'
import { readOutline, readSpan, readTraceBody, TEXT_PARTS } from '../../lib/store/answers/outline.ts'
import { DETAIL_PARTS } from '../../lib/store/answers/trace-json.ts'
import { OUTLINE_SPANS } from '../../lib/store/answers/traces.ts'
import { deleteTrace } from '../../lib/store/trace/deletion.ts'
import { addScore, deleteScore, newScoreId, readAuthor } from '../../lib/store/trace/scores.ts'
import { readScore } from '../scores.ts'
import { answerMetadataPatch } from '../traces/patch.ts'
import { readWhole } from '../traces/whole-trace.ts'
import { entryOf } from './acting.ts'
import { IN_PROJECT, pageRoute, readRoute } from './page-routes.ts'
import { OutlineReply, TraceBodyReply, TraceTextsReply } from './replies.ts'
import type { NoteView } from './views-of-traces.ts'

const TRACE = `${IN_PROJECT}/traces/:traceId`

/** `download` makes the browser save the response as a file. */
const DetailQuery = closed({ download: Type.Optional(Type.Enum(['1'])) })
/** `after` requests the page of spans that follows the span with this id, and `limit` a shorter page. */
const OutlineQuery = closed({
  version: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  after: Type.Optional(SpanId),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: OUTLINE_SPANS }))
})

export default function trace(app: App, noteView: NoteView): void {
  const { sql, bodies } = app

  readRoute(app, TRACE, {
    query: DetailQuery,
    replies: { 200: TraceDetail },
    async handler(request) {
      const { project, traceId, query } = request
      const body = await readWhole(app, project.id, traceId, DETAIL_PARTS, request)
      await noteView(request)
      const disposition = {
        'Content-Disposition': `attachment; filename="spoor-${request.params.slug}-trace-${traceId}.json"`
      }
      return { ...(query.download !== undefined && { headers: disposition }), body }
    }
  })

  readRoute(app, `${TRACE}/outline`, {
    query: OutlineQuery,
    replies: { 200: OutlineReply },
    async handler(request) {
      const { project, traceId, visitor, query } = request
      const asker = { known: query.version, after: query.after, limit: query.limit, userId: visitor.userId }
      // The outline contains email addresses. These may be stored on a different database server than the trace.
      const outline = await sql.read(each => readOutline(each, project.id, traceId, asker), request)
      const body = new JsonText(found(outline))
      await noteView(request)
      return { body }
    }
  })

  readRoute(app, `${TRACE}/spans/:spanId`, {
    replies: { 200: SpanOutput },
    async handler(request) {
      const { traceId, spanId } = request
      const { id } = request.project
      const span = await sql.readOf(id, (each, names) => readSpan(each, id, traceId, spanId, names), request)
      const body = new JsonText(found(span, 'span in this trace'))
      await noteView(request)
      return { body }
    }
  })

  readRoute(app, `${TRACE}/body`, {
    replies: { 200: TraceBodyReply },
    async handler(request) {
      const { id } = request.project
      const text = await sql.readOf(id, (each, names) => readTraceBody(each, id, request.traceId, names), request)
      const body = new JsonText(found(text))
      await noteView(request)
      return { body }
    }
  })

  readRoute(app, `${TRACE}/texts`, {
    replies: { 200: TraceTextsReply },
    async handler(request) {
      const { project, traceId } = request
      const body = await readWhole(app, project.id, traceId, TEXT_PARTS, request)
      await noteView(request)
      return { body }
    }
  })

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
      const { id } = project
      const read = sql.readOf(id, (each, names) => readAuthor(each, id, traceId, scoreId, names), request)
      const author = found(await read, 'score on this trace')
      if (project.role !== 'owner' && author !== visitor.userId) {
        throw new Refusal('forbidden', 'Members can delete only their own scores; owners can delete any score.')
      }
      const audit = entryOf(request, 'score.delete', { traceId, scoreId })
      const isDeleted = await sql.write((each, tries) => deleteScore(each, id, traceId, scoreId, tries, audit))
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
