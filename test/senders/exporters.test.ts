/** Tests OpenTelemetry's exporters over HTTP, configured in code and by environment variables. */
import { context, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import t from 'tap'
import { type ExporterOptions, optionsOf, type Receiver, receiver } from './sending.ts'

t.test('both exporters send traces that are stored, with or without gzip', async t => {
  const to = await receiver()
  const exporters = {
    protobuf: (options: ExporterOptions) => new ProtobufExporter(options),
    json: (options: ExporterOptions) => new JsonExporter(options as ConstructorParameters<typeof JsonExporter>[0]),
    environment: () => exporterFromEnvironment(to),
    gzip: (options: ExporterOptions) => new ProtobufExporter({ ...options, compression: 'gzip' } as ExporterOptions)
  }
  for (const [name, make] of Object.entries(exporters)) {
    const processor = new BatchSpanProcessor(make(optionsOf(to)))
    const provider = new NodeTracerProvider({ spanProcessors: [processor] })
    const tracer = provider.getTracer('shop', '1.2.3')
    record(tracer, name)
    await provider.shutdown()
    const { trace, spans } = await to.read(t, name)
    t.match(trace, { name, status: 'ok', spanCount: 2, errorCount: 1, usage: { inputTokens: 7 } }, name)
    const inner = spans.find(({ name }: { name: string }) => name === 'call')
    t.match(inner, { kind: 'llm', status: 'error', model: 'm', events: [{ name: 'exception' }] }, name)
    t.match(inner.attributes, { big: 12345678901, list: [1, 2], 'otel.scope.name': 'shop' }, name)
    t.match(inner.attributes['otel.resource'], { 'telemetry.sdk.language': 'nodejs' }, name)
  }
})

/** Creates an exporter with the configuration that README and the guide show. */
function exporterFromEnvironment({ url, key }: Receiver): ProtobufExporter {
  const { env } = process
  env.OTEL_EXPORTER_OTLP_ENDPOINT = `${url}/api/v1/otlp`
  env.OTEL_EXPORTER_OTLP_HEADERS = `Authorization=Bearer%20${key}`
  try {
    return new ProtobufExporter()
  } finally {
    delete env.OTEL_EXPORTER_OTLP_ENDPOINT
    delete env.OTEL_EXPORTER_OTLP_HEADERS
  }
}

/** Records a root with one failed model call. */
function record(tracer: Tracer, name: string): void {
  const root = tracer.startSpan(name)
  const inner = tracer.startSpan('call', {}, trace.setSpan(context.active(), root))
  inner.setAttributes({ 'gen_ai.request.model': 'm', 'gen_ai.usage.input_tokens': 7, big: 12345678901, list: [1, 2] })
  inner.recordException(new Error('no answer'))
  inner.setStatus({ code: SpanStatusCode.ERROR, message: 'no answer' })
  inner.end()
  root.setStatus({ code: SpanStatusCode.OK })
  root.end()
}
