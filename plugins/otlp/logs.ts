/**
 * Log records are not stored. They are accepted all the same, because libraries send them to where they send their
 * spans. Those that carry the messages of a model call would belong to a span, so their sender is told each time that
 * they are left out, and what to set.
 */
import type { App } from '../../lib/app.ts'
import { LogsReply, LogsRequest } from '../../lib/schema/otlp.ts'
import { signalRoute } from './signal.ts'

const ADVICE =
  'have the library write them to its spans, as by OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and ' +
  'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY'

export default function logs(app: App) {
  let isSaid = false
  app.route(
    signalRoute({
      path: '/api/v1/otlp/v1/logs',
      operation: 'acceptOtlpLogs',
      grpc: '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
      summary: 'Accept log records that OpenTelemetry sends, and store none',
      description:
        'Libraries that send logs to where they send their spans get a success; nothing is stored. Records that carry the ' +
        'messages of a model call (`gen_ai.user.message`, `gen_ai.choice`, `gen_ai.client.inference.operation.details` and ' +
        'their like) are counted in `partialSuccess`, with what to set so that the messages come with the spans.',
      request: 'ExportLogsServiceRequest',
      reply: 'ExportLogsServiceResponse',
      body: LogsRequest,
      replyBody: LogsReply,
      outcome: 'Received; nothing is stored.',
      errors: ['invalid_request'],
      rejected: 'rejectedLogRecords',
      async take({ key, payload }, encoding) {
        const found = await app.ingest.parse(`logs-${encoding}`, payload, key.projectId)
        app.metrics.countLogRecords(found.messages, found.records - found.messages)
        if (found.messages === 0) return { rejected: 0, message: '' }
        const message = `${found.messages} left out: messages in log records are not stored; ${ADVICE}`
        if (!isSaid)
          app.log.warn(`messages of model calls came as log records, and are not stored: ${ADVICE}; this is said once`)
        isSaid = true
        return { rejected: found.messages, message }
      }
    })
  )
}
