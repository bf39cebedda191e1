/**
 * Tests version 5 of Langfuse's SDK: manual observations, its wrapper for OpenAI's client, and the wrapper next to
 * OpenInference.
 */
import { OpenAIInstrumentation } from '@arizeai/openinference-instrumentation-openai'
import { observeOpenAI } from '@langfuse/openai'
import { LangfuseSpanProcessor } from '@langfuse/otel'
import {
  propagateAttributes,
  setLangfuseTracerProvider,
  startActiveObservation,
  startObservation
} from '@langfuse/tracing'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { ANSWER } from '../provider/facts.ts'
import { type ExporterOptions, inside, openAi, type Sending, sending } from './sending.ts'
import { chatInStream, chatWithTool, fail, QUESTION, respondInStream, respondWithTool } from './talk.ts'
import { ofKind, treeOf } from './tree.ts'
import { chatsUsed } from './used.ts'

/** The application has its own exporter, as in the guide. */
const processorFor = (options: ExporterOptions, more: LangfuseOptions = {}) =>
  new LangfuseSpanProcessor({
    exporter: new JsonExporter(options as ConstructorParameters<typeof JsonExporter>[0]),
    publicKey: 'none',
    secretKey: 'none',
    environment: 'staging',
    ...more
  })
type LangfuseOptions = NonNullable<ConstructorParameters<typeof LangfuseSpanProcessor>[0]>

async function langfuse(t: Test, processor?: Parameters<typeof sending>[1]): Promise<Sending> {
  const sent = await sending(t, processor)
  setLangfuseTracerProvider(sent.provider)
  t.teardown(() => setLangfuseTracerProvider(null))
  return sent
}

t.test('Langfuse', async t => {
  const sent = await langfuse(t, options => processorFor(options))
  const { read } = sent
  const said = { sessionId: 's-1', userId: 'u-1', tags: ['one', 'two'] }

  t.test('manual observations', async t => {
    await startActiveObservation('answer', async span => {
      span.update({ input: { question: QUESTION } })
      await propagateAttributes({ ...said, traceName: 'weather', metadata: { team: 'ops' } }, async () => {
        startObservation('call', { model: 'm', input: [{ role: 'user', content: 'hi' }] }, { asType: 'generation' })
          .update({ output: ANSWER, usageDetails: { input: 21, output: 9, total: 30 }, costDetails: { total: 0.003 } })
          .end()
        startObservation('guard', { level: 'ERROR', statusMessage: 'no' }, { asType: 'guardrail' }).end()
      })
      span.update({ output: ANSWER })
    })
    const { trace, spans } = await read('weather')
    t.match(trace, {
      name: 'weather',
      status: 'unset',
      ...said,
      metadata: { team: 'ops' },
      input: { question: QUESTION },
      output: ANSWER,
      model: 'm',
      costUsd: 0.003,
      usage: { inputTokens: 21, outputTokens: 9, totalTokens: 30 },
      errorCount: 1
    })
    t.same(treeOf(spans), ['custom answer', '  custom guard', '  llm call'])
  })

  t.test("OpenAI's client: chats, with cached and reasoning tokens", async t => {
    const client = observeOpenAI(openAi(sent), { ...said, traceName: 'chat' })
    await startActiveObservation('answer', () => chatWithTool(client))
    const { trace, spans } = await read('chat')
    t.match(trace, {
      ...said,
      model: 'gpt-4o-mini-2024-07-18',
      usage: chatsUsed(2),
      input: { messages: [{ role: 'system' }, { role: 'user', content: QUESTION }] },
      output: { role: 'assistant', content: ANSWER }
    })
    t.same(treeOf(spans), ['custom answer', '  llm OpenAI.chat', '  llm OpenAI.chat'])
    const call = { function: { name: 'get_weather', arguments: '{"city":"Graz"}' } }
    t.match(ofKind(spans, 'llm')[0], { usage: chatsUsed(1), output: { tool_calls: [call] } })
  })

  t.test("OpenAI's client: streams and Responses", async t => {
    const calls = {
      flow: [chatInStream, 1],
      respond: [respondWithTool, 2],
      'respond in stream': [respondInStream, 1]
    } as const
    for (const [traceName, [talk, count]] of Object.entries(calls)) {
      const client = observeOpenAI(openAi(sent), { traceName })
      await startActiveObservation('answer', () => talk(client))
      const { trace } = await read(traceName)
      t.match(trace, { usage: chatsUsed(count) }, traceName)
      t.match(JSON.stringify(trace.input), QUESTION, traceName)
      t.match(JSON.stringify(trace.output), ANSWER, traceName)
    }
  })

  t.test("OpenAI's client: a failure", async t => {
    await startActiveObservation('answer', () => fail(observeOpenAI(openAi(sent), { traceName: 'failing' })))
    const { trace, spans } = await read('failing')
    t.match(trace, { errorCount: 1, input: { messages: [{ content: QUESTION }] } })
    const attributes = { 'langfuse.observation.status_message': /Rate limit reached/ }
    t.match(ofKind(spans, 'llm')[0], { status: 'error', attributes })
  })
})

t.test("Langfuse below the application's own root, which the processor sends on request", async t => {
  const sent = await langfuse(t, options => processorFor(options, { shouldExportSpan: () => true }))
  await inside(sent.tracer, 'answer', async () => startObservation('call', {}, { asType: 'generation' }).end())
  const { trace, spans } = await sent.read('answer')
  t.equal(trace.status, 'unset', 'it is complete')
  t.same(treeOf(spans), ['custom answer', '  llm call'])
})

t.test('Langfuse alongside OpenInference: each call counts once', async t => {
  // Langfuse's processor would drop OpenInference's spans.
  const sent = await langfuse(t)
  const instrumentation = new OpenAIInstrumentation({ tracerProvider: sent.provider })
  instrumentation.manuallyInstrument(OpenAI)
  t.teardown(() => instrumentation.disable())
  await startActiveObservation('chat', () => chatWithTool(observeOpenAI(openAi(sent))))
  const { trace, spans } = await sent.read('chat')
  t.same(treeOf(spans), [
    'custom chat',
    '  llm OpenAI Chat Completions',
    '  llm OpenAI Chat Completions',
    '  llm OpenAI.chat',
    '  llm OpenAI.chat'
  ])
  t.match(trace, { usage: chatsUsed(2), model: 'gpt-4o-mini-2024-07-18' })
})
