import type { App } from '../../lib/app.ts'
import { TraceDetail } from '../../lib/schema/output.ts'
import { DETAIL_PARTS } from '../../lib/store/answers/trace-json.ts'
import { readWhole } from './whole-trace.ts'

export default function (app: App): void {
  app.route({
    method: 'GET',
    path: '/api/v1/traces/:traceId',
    operation: 'getTrace',
    access: 'traces:read',
    summary: 'Read a trace',
    description:
      'Returns the trace with its spans and scores. A running trace contains the spans that have arrived so far.',
    replies: { 200: TraceDetail },
    async handler(request) {
      const { key, traceId } = request
      return { body: await readWhole(app, key.projectId, traceId, DETAIL_PARTS, request) }
    }
  })
}
