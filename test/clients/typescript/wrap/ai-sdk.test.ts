/** Model calls of the AI SDK are recorded by the middleware, with versions 6 and 7 of the real library. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createOpenAICompatible as createForV6 } from '@ai-sdk/openai-compatible-v2'
import { generateText, stepCountIs, streamText, tool, wrapLanguageModel } from 'ai'
import * as v6 from 'ai-v6'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { spoorMiddleware } from '../../../../clients/typescript/wrap/ai-sdk.ts'
import { startRecording } from '../../../fixtures/wires/exchanges.ts'
import { ANSWER } from '../../../provider/facts.ts'
import { startProvider } from '../../../provider/provider.ts'

async function recording(t: Test) {
  const provider = await startProvider()
  t.teardown(provider.close)
  const { spoor, recorded } = await startRecording(t)
  const options = { name: 'provider', apiKey: 'none', baseURL: `${provider.url}/v1`, includeUsage: true }
  return { spoor, recorded, options }
}

const call = {
  ...{ kind: 'llm', name: 'ai.model', status: 'ok', model: 'gpt-4o-mini-2024-07-18' },
  usage: { inputTokens: 100, outputTokens: 20 },
  output: { role: 'assistant' },
  attributes: { cache_read_input_tokens: 20, reasoning_tokens: 5 }
}

t.test('version 7: a loop with an observed tool, and a stream', async t => {
  const { spoor, recorded, options } = await recording(t)
  const model = wrapLanguageModel({
    model: createOpenAICompatible(options)('gpt-4o-mini'),
    middleware: spoorMiddleware(spoor)
  })
  const execute = spoor.observe(async ({ city }: { city: string }) => `sunny in ${city}`, {
    name: 'weather',
    kind: 'tool'
  })
  const weather = tool({ description: 'The weather', inputSchema: z.object({ city: z.string() }), execute })
  await spoor.trace('loop', () =>
    generateText({ model, tools: { weather }, prompt: 'Sunny?', stopWhen: stepCountIs(3) })
  )
  const { spans } = await recorded(t)
  t.match(spans, [call, { kind: 'tool', name: 'weather' }, call])
  t.match(spans[0].output.content, [{ type: 'tool-call', toolName: 'weather' }])
  t.match(spans[2].output.content, [{ type: 'text', text: ANSWER }])
  await spoor.trace('stream', async () => t.equal(await streamText({ model, prompt: 'Sunny?' }).text, ANSWER))
  t.match((await recorded(t)).spans, [{ ...call, output: { content: [{ type: 'text', text: ANSWER }] } }])
})

t.test('version 6, and a failure', async t => {
  const { spoor, recorded, options } = await recording(t)
  const named = (name: string) =>
    v6.wrapLanguageModel({ model: createForV6(options)(name), middleware: spoorMiddleware(spoor) })
  await spoor.trace('v6', () => v6.generateText({ model: named('gpt-4o-mini'), prompt: 'Sunny?' }))
  t.match((await recorded(t)).spans, [call])
  const failing = v6.generateText({ model: named('fail-400'), prompt: 'Sunny?', maxRetries: 0 })
  await t.rejects(failing)
  t.match(await recorded(t), { status: 'error', spans: [{ status: 'error', events: [{ name: 'exception' }] }] })
})
