import type { App } from '../../lib/app.ts'
import { found } from '../../lib/http/refuse.ts'
import { TraceDeleted } from '../../lib/schema/output.ts'
import { deleteTrace } from '../../lib/store/trace/deletion.ts'

export default function (app: App): void {
  app.route({
    method: 'DELETE',
    path: '/api/v1/traces/:traceId',
    operation: 'deleteTrace',
    access: 'traces:delete',
    summary: 'Delete a trace',
    description: 'Deletes the trace with all its spans, scores and metadata.',
    replies: { 200: TraceDeleted },
    errors: ['quota_exhausted'],
    async handler({ key, traceId, client }) {
      const { projectId, keyId } = key
      const audit = { by: null, action: 'trace.delete', projectId, detail: { traceId, keyId }, client } as const
      found(await app.sql.write((sql, attempts) => deleteTrace(sql, projectId, traceId, attempts, audit)))
      return { body: { ok: true, traceId } }
    }
  })
}
