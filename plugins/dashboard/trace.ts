/** Routes for one trace: whole, as the API returns it, and in the parts that its page requests. */

import Type from 'typebox'
import type { App } from '../../lib/app.ts'
import { found } from '../../lib/http/refuse.ts'
import { JsonText } from '../../lib/http/route.ts'
import { closed } from '../../lib/schema/object.ts'
import { SpanOutput, TraceDetail } from '../../lib/schema/output.ts'
import { readOutline, readSpan, readTraceBody, TEXT_PARTS } from '../../lib/store/answers/outline.ts'
import { DETAIL_PARTS } from '../../lib/store/answers/trace-json.ts'
import { readWhole } from '../traces/whole-trace.ts'
import { IN_PROJECT, pageRoute } from './page-routes.ts'
import { OutlineReply, TraceBodyReply, TraceTextsReply } from './replies.ts'

const TRACE = `${IN_PROJECT}/traces/:traceId`

/** `download` makes the browser save the response as a file. */
const DetailQuery = closed({ download: Type.Optional(Type.Enum(['1'])) })
const OutlineQuery = closed({ version: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })) })

export default function trace(app: App): void {
  const { sql } = app

  pageRoute(app, {
    method: 'GET',
    path: TRACE,
    access: 'visitor',
    query: DetailQuery,
    replies: { 200: TraceDetail },
    async handler(request) {
      const { project, traceId, query } = request
      const body = await readWhole(app, project.id, traceId, DETAIL_PARTS, request)
      const disposition = { 'Content-Disposition': `attachment; filename="trace-${traceId}.json"` }
      return { ...(query.download !== undefined && { headers: disposition }), body }
    }
  })

  pageRoute(app, {
    method: 'GET',
    path: `${TRACE}/outline`,
    access: 'visitor',
    query: OutlineQuery,
    replies: { 200: OutlineReply },
    async handler(request) {
      const { project, traceId, visitor, query } = request
      const asker = { known: query.version, userId: visitor.userId }
      // The outline contains email addresses, which may be stored on a different database server from the trace.
      const outline = await sql.read(each => readOutline(each, project.id, traceId, asker), request)
      return { body: new JsonText(found(outline)) }
    }
  })

  pageRoute(app, {
    method: 'GET',
    path: `${TRACE}/spans/:spanId`,
    access: 'visitor',
    replies: { 200: SpanOutput },
    async handler(request) {
      const { project, traceId, spanId } = request
      const span = await sql.readOf(
        project.id,
        (each, names) => readSpan(each, project.id, traceId, spanId, names),
        request
      )
      return { body: new JsonText(found(span, 'span on this trace')) }
    }
  })

  pageRoute(app, {
    method: 'GET',
    path: `${TRACE}/body`,
    access: 'visitor',
    replies: { 200: TraceBodyReply },
    async handler(request) {
      const { project, traceId } = request
      const body = await sql.readOf(
        project.id,
        (each, names) => readTraceBody(each, project.id, traceId, names),
        request
      )
      return { body: new JsonText(found(body)) }
    }
  })

  pageRoute(app, {
    method: 'GET',
    path: `${TRACE}/texts`,
    access: 'visitor',
    replies: { 200: TraceTextsReply },
    async handler(request) {
      const { project, traceId } = request
      return { body: await readWhole(app, project.id, traceId, TEXT_PARTS, request) }
    }
  })
}
