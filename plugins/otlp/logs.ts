/**
 * Stores log records that contain a model call's messages, shown as input and output of the span that the record names.
 * Other records are accepted and dropped, because libraries send all log records to the address of their spans.
 */
import type { App } from '../../lib/app.ts'
import { LogsReply, LogsRequest } from '../../lib/schema/otlp.ts'
import { addMessages } from '../../lib/store/trace/messages.ts'
import { signalRoute } from './signal.ts'

export default function logs(app: App) {
  app.route(
    signalRoute({
      path: '/api/v1/otlp/v1/logs',
      operation: 'recordOtlpLogs',
      grpc: '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
      summary: 'Record the messages of model calls from log records of OpenTelemetry',
      description:
        'Takes log records that carry the messages of a model call (`gen_ai.user.message`, `gen_ai.choice`, ' +
        '`gen_ai.client.inference.operation.details` and their like). They are shown as input and output of the span that ' +
        'they name, if it has none of its own, whichever of the two comes first. Messages whose span has not come after ten ' +
        'minutes are dropped. Other records are accepted, and not stored.',
      request: 'ExportLogsServiceRequest',
      reply: 'ExportLogsServiceResponse',
      body: LogsRequest,
      replyBody: LogsReply,
      outcome: 'Every message that names a span is stored.',
      errors: ['invalid_request'],
      rejected: 'rejectedLogRecords',
      async take({ key, payload }, encoding) {
        const { messages, unplaced, others } = await app.bodies.parse(`logs-${encoding}`, payload, key.projectId)
        if (messages.length > 0) await app.sql.write(sql => addMessages(sql, key.projectId, messages))
        app.metrics.countLogRecords({ messages: messages.length, unplaced, others })
        if (unplaced === 0) return { rejected: 0, message: '' }
        return { rejected: unplaced, message: `${unplaced} refused: messages must have the ids of a trace and a span` }
      }
    })
  )
}
