/** Tests Vercel's AI SDK from version 7 on: `@ai-sdk/otel` traces every call with OpenTelemetry's names. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { OpenTelemetry } from '@ai-sdk/otel'
import {
  embedMany,
  generateText,
  isStepCount,
  registerTelemetry,
  rerank,
  streamText,
  tool,
  experimental_transcribe as transcribe
} from 'ai'
import { MockRerankingModelV4, MockTranscriptionModelV4 } from 'ai/test'
import t from 'tap'
import { z } from 'zod'
import { ANSWER, EMBEDDING, EMBEDDING_TOKENS } from '../provider/facts.ts'
import { sending } from './sending.ts'
import { QUESTION } from './talk.ts'
import { ofKind, treeOf } from './tree.ts'
import { chatsUsed } from './used.ts'

t.test('AI SDK 7', async t => {
  const { modelUrl, provider, read } = await sending(t)
  registerTelemetry(
    new OpenTelemetry({ tracer: provider.getTracer('ai'), runtimeContext: true, embedding: true, reranking: true })
  )
  const models = createOpenAICompatible({ name: 'graz', baseURL: `${modelUrl}/v1`, includeUsage: true })
  const runtimeContext = { sessionId: 's-1', userId: 'u-1', tags: ['one', 'two'], tier: 'gold', secret: 'x' }
  const includeRuntimeContext = { sessionId: true, userId: true, tags: true, tier: true } as const
  const weather = tool({
    description: 'The weather in a city',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `sunny in ${city}`
  })
  const asked = { model: models('gpt-4o-mini'), prompt: QUESTION, runtimeContext }
  const question = { role: 'user', parts: [{ type: 'text', content: QUESTION }] }

  t.test('a loop with a tool', async t => {
    await generateText({
      ...asked,
      instructions: 'Be short.',
      tools: { get_weather: weather },
      stopWhen: isStepCount(3),
      telemetry: { functionId: 'weather', includeRuntimeContext }
    })
    const { trace, spans } = await read('weather')
    t.match(trace, {
      status: 'unset',
      provider: 'graz.chat',
      model: 'gpt-4o-mini-2024-07-18',
      usage: chatsUsed(2),
      sessionId: 's-1',
      userId: 'u-1',
      tags: ['one', 'two'],
      metadata: { tier: 'gold' },
      input: [{ role: 'system', parts: [{ content: 'Be short.' }] }, question],
      output: [{ role: 'assistant', parts: [{ type: 'text', content: ANSWER }] }]
    })
    t.same(treeOf(spans), [
      'agent weather',
      '  chain step 1',
      '    llm chat gpt-4o-mini',
      '    tool get_weather',
      '  chain step 2',
      '    llm chat gpt-4o-mini'
    ])
    t.match(ofKind(spans, 'tool')[0], { input: { city: 'Graz' }, output: 'sunny in Graz' })
    t.match(ofKind(spans, 'llm')[0], {
      usage: chatsUsed(1),
      output: [{ parts: [{ type: 'tool_call', name: 'get_weather', arguments: { city: 'Graz' } }] }]
    })
  })

  t.test('a stream', async t => {
    const { textStream } = streamText({ ...asked, telemetry: { functionId: 'flow' } })
    for await (const _ of textStream);
    const { trace, spans } = await read('flow')
    t.match(trace, { usage: chatsUsed(1), input: [question], output: [{ parts: [{ content: ANSWER }] }] })
    t.same(treeOf(spans), ['agent flow', '  chain step 1', '    llm chat gpt-4o-mini'])
  })

  t.test('embeddings', async t => {
    await embedMany({ model: models.embeddingModel('e'), values: ['sunny'] })
    const { trace, spans } = await read('embeddings e')
    t.match(trace, { model: 'e', usage: { totalTokens: EMBEDDING_TOKENS }, input: ['sunny'], output: [EMBEDDING] })
    t.same(treeOf(spans), ['embedding embeddings e', '  embedding embeddings e'])
  })

  t.test('a ranking', async t => {
    const ranking = [{ index: 1, relevanceScore: 0.9 }]
    const model = new MockRerankingModelV4({ modelId: 'r', doRerank: async () => ({ ranking }) })
    await rerank({ model, query: QUESTION, documents: ['rain', 'sun'] })
    const { trace, spans } = await read('rerank r')
    t.match(trace, { model: 'r', input: ['rain', 'sun'], output: ranking })
    t.same(treeOf(spans), ['reranker rerank r', '  reranker rerank r'])
  })

  t.test('a transcription', async t => {
    const said = { text: ANSWER, segments: [], language: 'en', durationInSeconds: 2, warnings: [] }
    const usage = { inputTokens: 14, outputTokens: 6, totalTokens: 20 }
    const response = { timestamp: new Date(0), modelId: 'w' }
    const model = new MockTranscriptionModelV4({ modelId: 'w', doGenerate: async () => ({ ...said, response, usage }) })
    // The compiler rejects the mock without this type, because one of the mock's members may be undefined.
    const asked = { model: model as Parameters<typeof transcribe>[0]['model'] }
    await transcribe({ ...asked, audio: new Uint8Array([0xff, 0xfb, 0x90, 0]) })
    const { trace, spans } = await read('ai.transcribe w')
    t.match(trace, { model: 'w', usage, output: ANSWER })
    t.same(treeOf(spans), ['llm ai.transcribe w'])
  })

  t.test('a failure', async t => {
    const telemetry = { functionId: 'failing' }
    await t.rejects(generateText({ ...asked, model: models('fail-429'), maxRetries: 0, telemetry }))
    const { trace, spans } = await read('failing')
    t.match(trace, { status: 'error', errorCount: 3, model: 'fail-429', input: [question] })
    t.match(ofKind(spans, 'llm')[0], {
      status: 'error',
      attributes: { 'otel.status_description': /^Rate limit reached/ },
      events: [{ name: 'exception', attributes: { 'exception.message': /^Rate limit reached/ } }]
    })
  })
})
