/**
 * Accepts application metrics without storing them. Many libraries send metrics to the address that receives their
 * spans, and would otherwise report an error at each export.
 */
import type { App } from '../../lib/app.ts'
import { MetricsReply, MetricsRequest } from '../../lib/schema/otlp.ts'
import { signalRoute } from './signal.ts'

export default function metrics(app: App) {
  let isSaid = false
  app.route(
    signalRoute({
      path: '/api/v1/otlp/v1/metrics',
      operation: 'acceptOtlpMetrics',
      grpc: '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
      summary: 'Accept OpenTelemetry metrics without storing them',
      description:
        'Accepts metrics from libraries that send them to the same endpoint as their spans. Nothing is stored, ' +
        'because token counts and costs come from spans. The project counts the metrics by name. To avoid this ' +
        'traffic, set `OTEL_METRICS_EXPORTER=none`.',
      request: 'ExportMetricsServiceRequest',
      reply: 'ExportMetricsServiceResponse',
      body: MetricsRequest,
      replyBody: MetricsReply,
      outcome: 'Received; nothing is stored.',
      errors: ['invalid_request'],
      rejected: 'rejectedDataPoints',
      async take({ key, payload }, encoding) {
        const names = await app.bodies.parse(`metrics-${encoding}`, payload, key.projectId)
        app.unkept.add(key.projectId, 'metrics', names)
        if (!isSaid) app.log.info('OTLP metrics are accepted, but not stored; this is logged once')
        isSaid = true
        return { rejected: 0, message: '' }
      }
    })
  )
}
