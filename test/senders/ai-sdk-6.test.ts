/**
 * Tests Vercel's AI SDK up to version 6, in which each call enables its own tracing, and spans have the SDK's own
 * names.
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible-v2'
import { embedMany, generateText, rerank, stepCountIs, streamText, tool } from 'ai-v6'
import { MockRerankingModelV3 } from 'ai-v6/test'
import t from 'tap'
import { z } from 'zod'
import { ANSWER, EMBEDDING, EMBEDDING_TOKENS } from '../provider/facts.ts'
import { sending } from './sending.ts'
import { QUESTION } from './talk.ts'
import { ofKind, treeOf } from './tree.ts'
import { chatsUsed } from './used.ts'

t.test('AI SDK 6', async t => {
  const { modelUrl, provider, read } = await sending(t)
  const models = createOpenAICompatible({ name: 'graz', baseURL: `${modelUrl}/v1`, includeUsage: true })
  const telemetry = {
    isEnabled: true,
    tracer: provider.getTracer('ai'),
    metadata: { sessionId: 's-1', userId: 'u-1', tags: ['one', 'two'], tier: 'gold' }
  }
  const weather = tool({
    description: 'The weather in a city',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `sunny in ${city}`
  })
  const asked = { model: models('gpt-4o-mini'), prompt: QUESTION, tools: { get_weather: weather } }

  t.test('a loop with a tool', async t => {
    const experimental_telemetry = { ...telemetry, functionId: 'weather' }
    await generateText({ ...asked, system: 'Be short.', stopWhen: stepCountIs(3), experimental_telemetry })
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
      input: { system: 'Be short.', prompt: QUESTION },
      output: ANSWER
    })
    t.same(treeOf(spans), [
      'chain ai.generateText',
      '  llm ai.generateText.doGenerate',
      '  llm ai.generateText.doGenerate',
      '  tool get_weather'
    ])
    const [used] = ofKind(spans, 'tool')
    t.match(used, { input: { city: 'Graz' }, output: 'sunny in Graz', attributes: { 'otel.name': 'ai.toolCall' } })
    const [first] = ofKind(spans, 'llm')
    t.match(first, {
      usage: chatsUsed(1),
      input: [
        { role: 'system', content: 'Be short.' },
        { role: 'user', content: [{ type: 'text', text: QUESTION }] }
      ],
      output: { toolCalls: [{ toolName: 'get_weather', input: '{"city":"Graz"}' }] }
    })
  })

  t.test('a stream', async t => {
    const { textStream } = streamText({
      ...asked,
      tools: {},
      experimental_telemetry: { ...telemetry, functionId: 'flow' }
    })
    for await (const _ of textStream);
    const { trace, spans } = await read('flow')
    t.match(trace, { usage: chatsUsed(1), input: { prompt: QUESTION }, output: ANSWER })
    t.same(treeOf(spans), ['chain ai.streamText', '  llm ai.streamText.doStream'])
  })

  t.test('embeddings', async t => {
    const model = models.embeddingModel('e')
    await embedMany({ model, values: ['sunny'], experimental_telemetry: { ...telemetry, functionId: 'embed' } })
    const { trace, spans } = await read('embed')
    t.match(trace, { model: 'e', usage: { totalTokens: EMBEDDING_TOKENS }, input: ['sunny'], output: [EMBEDDING] })
    t.same(treeOf(spans), ['chain ai.embedMany', '  embedding ai.embedMany.doEmbed'])
  })

  t.test('a ranking', async t => {
    const ranking = [{ index: 1, relevanceScore: 0.9 }]
    const model = new MockRerankingModelV3({ modelId: 'r', doRerank: async () => ({ ranking }) })
    const experimental_telemetry = { ...telemetry, functionId: 'rank' }
    await rerank({ model, query: QUESTION, documents: ['rain', 'sun'], experimental_telemetry })
    const { trace, spans } = await read('rank')
    t.match(trace, { model: 'r', input: ['rain', 'sun'], output: ranking })
    t.same(treeOf(spans), ['chain ai.rerank', '  reranker ai.rerank.doRerank'])
  })

  t.test('a failure', async t => {
    const model = models('fail-429')
    const experimental_telemetry = { ...telemetry, functionId: 'failing' }
    await t.rejects(generateText({ model, prompt: QUESTION, maxRetries: 0, experimental_telemetry }))
    const { trace, spans } = await read('failing')
    t.match(trace, { status: 'error', errorCount: 2, model: 'fail-429', input: { prompt: QUESTION } })
    t.match(ofKind(spans, 'llm')[0], {
      status: 'error',
      attributes: { 'otel.status_description': /^Rate limit reached/ },
      events: [{ name: 'exception', attributes: { 'exception.message': /^Rate limit reached/ } }]
    })
  })
})
