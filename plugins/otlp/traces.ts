import type { App } from '../../lib/app.ts'
import { ExportReply, ExportRequest, MAX_EXPORT_BYTES } from '../../lib/schema/otlp.ts'
import { signalRoute } from './signal.ts'

export default function traces(app: App) {
  app.route(
    signalRoute({
      path: '/api/v1/otlp/v1/traces',
      operation: 'recordOtlp',
      grpc: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
      summary: 'Record spans from OpenTelemetry',
      description:
        'OTLP over HTTP. Spans are grouped into traces by trace id, in any order and across any number of exports; a ' +
        'trace is running until its root span arrives. Duplicate spans are detected. Spans that cannot be stored are ' +
        'counted in `partialSuccess`, and the rest are stored.',
      request: 'ExportTraceServiceRequest',
      reply: 'ExportTraceServiceResponse',
      body: ExportRequest,
      maxBodyBytes: MAX_EXPORT_BYTES,
      replyBody: ExportReply,
      outcome: 'Every span is stored, or counted in `partialSuccess`.',
      errors: ['invalid_request', 'trial_limit_reached', 'unavailable'],
      rejected: 'rejectedSpans',
      async take({ key, payload }, encoding) {
        const { rejectedSpans, message } = await app.ingest.export(key, payload, encoding)
        return { rejected: rejectedSpans, message }
      }
    })
  )
}
