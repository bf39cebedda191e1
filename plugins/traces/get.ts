import type { App } from '../../lib/app.ts'
import { found } from '../../lib/http/refuse.ts'
import { JsonText } from '../../lib/http/route.ts'
import { TraceDetail } from '../../lib/schema/output.ts'
import { readTraceDetail } from '../../lib/store/answers/traces.ts'

export default function (app: App): void {
  app.route({
    method: 'GET',
    path: '/api/v1/traces/:traceId',
    operation: 'getTrace',
    access: 'traces:read',
    summary: 'Read a trace',
    description: 'With its spans and scores. A running trace shows the spans that have arrived so far.',
    replies: { 200: TraceDetail },
    async handler(request) {
      const { key, traceId } = request
      const detail = await app.sql.readOf(key.projectId, sql => readTraceDetail(sql, key.projectId, traceId), request)
      return { body: new JsonText(found(detail)) }
    }
  })
}
