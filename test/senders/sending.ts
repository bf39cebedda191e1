/** Sets up the test of a real library: a service, a model provider, and OpenTelemetry's SDK between them. */
import { context, propagation, type Tracer, trace } from '@opentelemetry/api'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { BatchSpanProcessor, NodeTracerProvider, type SpanProcessor } from '@opentelemetry/sdk-trace-node'
import OpenAI from 'openai'
import root, { type Test } from 'tap'
import { type TestService, testService } from '../fixtures/service/service.ts'
import { startProvider } from '../provider/provider.ts'

export type ExporterOptions = NonNullable<ConstructorParameters<typeof ProtobufExporter>[0]>

/** The service, and a key of a project that belongs to one test. */
export interface Receiver {
  readonly url: string
  readonly key: string
  /** Returns the detail of the only trace with this name. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary members of responses.
  read(t: Test, name: string): Promise<any>
}

export interface Sending {
  readonly url: string
  readonly key: string
  /** The address of the model provider. */
  readonly modelUrl: string
  readonly provider: NodeTracerProvider
  /** The application's own tracer. */
  readonly tracer: Tracer
  /** Sends the finished spans. Returns the detail of the only trace with this name. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary members of responses.
  read(name: string): Promise<any>
}

/**
 * All tests of this folder share one service, because starting a service and its threads takes most of a test's time.
 */
let service: Promise<TestService> | undefined
let projects = 0

export async function receiver(): Promise<Receiver> {
  service ??= testService(root)
  const { url, makeProject, makeKey, call } = await service
  projects += 1
  const project = `senders-${projects}`
  await makeProject(project)
  const { key } = await makeKey({ project })
  const read = async (t: Test, name: string) => {
    const { traces } = (await call('GET', `/api/v1/traces?name=${encodeURIComponent(name)}`, { key })).body
    t.equal(traces.length, 1, `${name} is one trace`)
    return (await call('GET', `/api/v1/traces/${traces[0]?.id}`, { key })).body
  }
  return { url, key, read }
}

/** Returns the settings that README shows: the service's address, and the key as a header. */
export const optionsOf = ({ url, key }: Receiver): ExporterOptions => ({
  url: `${url}/api/v1/otlp/v1/traces`,
  headers: { authorization: `Bearer ${key}` }
})

/**
 * Registers OpenTelemetry's SDK and starts a model provider. Both are removed after the test, so that the next test
 * finds no context manager and no tracer.
 */
export async function sending(
  t: Test,
  processorFor: (options: ExporterOptions) => SpanProcessor = batched
): Promise<Sending> {
  const to = await receiver()
  const { url: modelUrl, close } = await startProvider()
  t.teardown(close)
  const provider = new NodeTracerProvider({ spanProcessors: [processorFor(optionsOf(to))] })
  provider.register()
  t.teardown(async () => {
    for (const api of [context, propagation, trace]) api.disable()
    await provider.shutdown()
  })
  const read = async (name: string) => {
    await provider.forceFlush()
    return to.read(t, name)
  }
  return { ...to, modelUrl, provider, tracer: provider.getTracer('shop'), read }
}

const batched = (options: ExporterOptions) => new BatchSpanProcessor(new ProtobufExporter(options))

/** Calls `act` inside a span of the application. */
export function inside<Result>(tracer: Tracer, name: string, act: () => Promise<Result>): Promise<Result> {
  return tracer.startActiveSpan(name, async span => {
    try {
      return await act()
    } finally {
      span.end()
    }
  })
}

export const openAi = ({ modelUrl }: Sending): OpenAI =>
  new OpenAI({ apiKey: 'none', baseURL: `${modelUrl}/v1`, maxRetries: 0 })
