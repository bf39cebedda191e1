/** Real senders against a real service: the exporters of OpenTelemetry, and instrumentations from three houses. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { OpenAIInstrumentation } from '@arizeai/openinference-instrumentation-openai'
import { LangfuseSpanProcessor } from '@langfuse/otel'
import {
  propagateAttributes,
  setLangfuseTracerProvider,
  startActiveObservation,
  startObservation
} from '@langfuse/tracing'
import { context, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import { embedMany, generateText, stepCountIs, tool } from 'ai'
import OpenAI from 'openai'
import t from 'tap'
import { z } from 'zod'
import { type TestService, testService } from '../fixtures/service/service.ts'
import { fakeModel, USED } from './fake-model.ts'

type ExporterOptions = ConstructorParameters<typeof ProtobufExporter>[0]

/** As README says: the address of the service, and the key as a header. */
const optionsOf = (service: TestService): NonNullable<ExporterOptions> => ({
  url: `${service.url}/api/v1/otlp/v1/traces`,
  headers: { authorization: `Bearer ${service.key}` }
})

function provide(service: TestService, make = (options: ExporterOptions) => new ProtobufExporter(options)) {
  return new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(make(optionsOf(service)))] })
}

/** The one trace of the service with this status and name, as its detail shows it. */
async function readTrace(service: TestService, status: string, name: string) {
  const { body } = await service.call('GET', `/api/v1/traces?status=${status}&name=${encodeURIComponent(name)}`)
  return (await service.call('GET', `/api/v1/traces/${body.traces[0]?.id}`)).body
}

/** Spans as pairs of kind and name, in the order of the trace. */
const outline = (spans: { kind: string; name: string }[]) => spans.map(({ kind, name }) => `${kind} ${name}`)

t.test('both exporters send what is stored, gzip or not', async t => {
  const service = await testService(t)
  const exporters = {
    protobuf: (options: ExporterOptions) => new ProtobufExporter(options),
    json: (options: ExporterOptions) => new JsonExporter(options as ConstructorParameters<typeof JsonExporter>[0]),
    environment: () => exporterFromEnvironment(service),
    gzip: (options: ExporterOptions) => new ProtobufExporter({ ...options, compression: 'gzip' } as ExporterOptions)
  }
  for (const [name, make] of Object.entries(exporters)) {
    const provider = provide(service, make)
    const tracer = provider.getTracer('shop', '1.2.3')
    const traceId = record(tracer, name)
    await provider.shutdown()
    const { body } = await service.call('GET', `/api/v1/traces/${traceId}`)
    t.match(body.trace, { name, status: 'ok', spanCount: 2, errorCount: 1, usage: { inputTokens: 7 } }, name)
    const inner = body.spans.find(({ name }: { name: string }) => name === 'call')
    t.match(inner, { kind: 'llm', status: 'error', model: 'm', events: [{ name: 'exception' }] }, name)
    t.match(inner.attributes, { big: 12345678901, list: [1, 2], 'otel.scope.name': 'shop' }, name)
    t.match(inner.attributes['otel.resource'], { 'telemetry.sdk.language': 'nodejs' }, name)
  }
})

/** As README and the guide have it. */
function exporterFromEnvironment({ url, key }: TestService): ProtobufExporter {
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

/** A root with one failed call of a model. */
function record(tracer: Tracer, name: string): string {
  const root = tracer.startSpan(name)
  const inner = tracer.startSpan('call', {}, trace.setSpan(context.active(), root))
  inner.setAttributes({ 'gen_ai.request.model': 'm', 'gen_ai.usage.input_tokens': 7, big: 12345678901, list: [1, 2] })
  inner.recordException(new Error('no answer'))
  inner.setStatus({ code: SpanStatusCode.ERROR, message: 'no answer' })
  inner.end()
  root.setStatus({ code: SpanStatusCode.OK })
  root.end()
  return root.spanContext().traceId
}

t.test('OpenInference: calls of the openai client', async t => {
  const service = await testService(t)
  const model = await fakeModel(t)
  const provider = provide(service)
  const instrumentation = new OpenAIInstrumentation({ tracerProvider: provider })
  instrumentation.manuallyInstrument(OpenAI)
  const client = new OpenAI({ apiKey: 'none', baseURL: model, maxRetries: 0 })
  await client.chat.completions.create({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Sunny?' }] })
  await client.embeddings.create({ model: 'text-embedding-3-small', input: 'sunny' })
  await provider.shutdown()

  const chatted = await readTrace(service, 'ok', 'OpenAI Chat Completions')
  t.match(chatted.trace, {
    name: 'OpenAI Chat Completions',
    status: 'ok',
    model: 'gpt-4o-mini-2024-07-18',
    provider: 'openai',
    usage: { inputTokens: USED.prompt, outputTokens: USED.completion, totalTokens: USED.total },
    input: [{ message: { role: 'user', content: 'Sunny?' } }],
    output: [{ message: { role: 'assistant', content: 'It is sunny in Graz.' } }]
  })
  const { attributes } = chatted.spans[0]
  t.equal(attributes['input.value'], undefined, 'the request says the same')
  t.match(attributes['output.value'], /"usage":/, 'the answer says more')
  const embedded = await readTrace(service, 'ok', 'OpenAI Embeddings')
  t.match(embedded.spans[0], { kind: 'embedding', model: 'text-embedding-3-small', input: 'sunny' })
  t.same(embedded.spans[0].attributes['embedding.embeddings.0.embedding.text'], 'sunny')
})

t.test('Vercel AI SDK: steps, tools and embeddings, no tokens counted twice', async t => {
  const service = await testService(t)
  const provider = provide(service)
  const models = createOpenAICompatible({ name: 'graz', baseURL: await fakeModel(t) })
  const experimental_telemetry = {
    isEnabled: true,
    tracer: provider.getTracer('ai'),
    functionId: 'weather',
    metadata: { sessionId: 's-1', userId: 'u-1', tags: ['one', 'two'], tier: 'gold' }
  }
  const weather = tool({
    description: 'The weather in a city',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `sunny in ${city}`
  })
  provider.register()
  await generateText({
    model: models('gpt-4o-mini'),
    prompt: 'How is the weather in Graz?',
    tools: { get_weather: weather },
    stopWhen: stepCountIs(3),
    experimental_telemetry
  })
  const embedding = { ...experimental_telemetry, functionId: 'embed' }
  await embedMany({ model: models.embeddingModel('e'), values: ['sunny'], experimental_telemetry: embedding })
  await provider.shutdown()

  const answered = await readTrace(service, 'unset', 'weather')
  t.match(answered.trace, {
    name: 'weather',
    sessionId: 's-1',
    userId: 'u-1',
    tags: ['one', 'two'],
    metadata: { tier: 'gold' },
    input: { prompt: 'How is the weather in Graz?' },
    output: 'It is sunny in Graz.',
    usage: { inputTokens: 2 * USED.prompt, outputTokens: 2 * USED.completion, totalTokens: 2 * USED.total }
  })
  t.same(outline(answered.spans).sort(), [
    'chain ai.generateText',
    'llm ai.generateText.doGenerate',
    'llm ai.generateText.doGenerate',
    'tool get_weather'
  ])
  t.match(
    answered.spans.find(({ kind }: { kind: string }) => kind === 'tool'),
    {
      input: { city: 'Graz' },
      output: 'sunny in Graz',
      attributes: { 'otel.name': 'ai.toolCall' }
    }
  )
  const embedded = await readTrace(service, 'unset', 'embed')
  t.match(embedded.trace, { input: ['sunny'], usage: { totalTokens: 5 } })
})

t.test('Langfuse: what its SDK says of observations and of their trace', async t => {
  const service = await testService(t)
  const exporter = new JsonExporter(optionsOf(service) as ConstructorParameters<typeof JsonExporter>[0])
  const processor = new LangfuseSpanProcessor({
    exporter,
    publicKey: 'none',
    secretKey: 'none',
    environment: 'staging'
  })
  const provider = new NodeTracerProvider({ spanProcessors: [processor] })
  provider.register()
  setLangfuseTracerProvider(provider)
  await startActiveObservation('answer', async span => {
    span.update({ input: { question: 'Sunny?' } })
    const said = { traceName: 'weather', userId: 'u-3', sessionId: 's-3', tags: ['a', 'b'], metadata: { team: 'ops' } }
    await propagateAttributes(said, async () => {
      startObservation('call', { model: 'm', input: [{ role: 'user', content: 'hi' }] }, { asType: 'generation' })
        .update({ output: 'Yes.', usageDetails: { input: 21, output: 9, total: 30 }, costDetails: { total: 0.003 } })
        .end()
      startObservation('guard', { level: 'ERROR', statusMessage: 'no' }, { asType: 'guardrail' }).end()
    })
    span.update({ output: 'Yes.' })
  })
  await provider.shutdown()

  const { trace, spans } = await readTrace(service, 'unset', 'weather')
  t.match(trace, {
    name: 'weather',
    status: 'unset',
    sessionId: 's-3',
    userId: 'u-3',
    tags: ['a', 'b'],
    metadata: { team: 'ops' },
    input: { question: 'Sunny?' },
    output: 'Yes.',
    model: 'm',
    costUsd: 0.003,
    usage: { inputTokens: 21, outputTokens: 9, totalTokens: 30 },
    errorCount: 1
  })
  t.same(outline(spans).sort(), ['custom answer', 'custom guard', 'llm call'])
})
