/** Tests instrumentations of OpenAI's client: OpenInference, OpenLLMetry, and both at once. */
import { setMetadata, setSession, setTags, setUser } from '@arizeai/openinference-core'
import { OpenAIInstrumentation as OpenInference } from '@arizeai/openinference-instrumentation-openai'
import { context } from '@opentelemetry/api'
import { OpenAIInstrumentation as OpenLlmetry } from '@traceloop/instrumentation-openai'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { ANSWER } from '../provider/facts.ts'
import { inside, openAi, type Sending, sending } from './sending.ts'
import {
  chatInStream,
  chatWithTool,
  embed,
  fail,
  QUESTION,
  respondInStream,
  respondWithTool,
  TOOL_RESULT
} from './talk.ts'
import { ofKind, treeOf } from './tree.ts'
import { chatsUsed } from './used.ts'

/** As the guide says, neither instrumentation sends the usage. */
const NOT_SENT = chatsUsed(0)

/** The instrumentations change the client's class. The next test needs the original class. */
function openInference(t: Test, { provider }: Sending): void {
  const instrumentation = new OpenInference({ tracerProvider: provider })
  instrumentation.manuallyInstrument(OpenAI)
  t.teardown(() => instrumentation.disable())
}

function openLlmetry(t: Test, { provider }: Sending): void {
  const instrumentation = new OpenLlmetry()
  instrumentation.setTracerProvider(provider)
  const classes = [OpenAI.Chat.Completions, OpenAI.Completions, OpenAI.Responses, OpenAI.Images]
  const before = classes.map(({ prototype }) => Object.getOwnPropertyDescriptors(prototype))
  instrumentation.manuallyInstrument(OpenAI as unknown as Parameters<typeof instrumentation.manuallyInstrument>[0])
  t.teardown(() => {
    for (const [i, { prototype }] of classes.entries()) Object.defineProperties(prototype, before[i]!)
  })
}

t.test('OpenInference', async t => {
  const sent = await sending(t)
  openInference(t, sent)
  const { tracer, read } = sent
  const client = openAi(sent)

  t.test('a loop with a tool', async t => {
    const session = setSession(context.active(), { sessionId: 's-1' })
    const said = setTags(setUser(setMetadata(session, { tier: 'gold' }), { userId: 'u-1' }), ['one', 'two'])
    await context.with(said, () => inside(tracer, 'chat', () => chatWithTool(client)))
    const { trace, spans } = await read('chat')
    t.match(trace, {
      model: 'gpt-4o-mini-2024-07-18',
      provider: 'openai',
      usage: chatsUsed(2),
      sessionId: 's-1',
      userId: 'u-1',
      tags: ['one', 'two'],
      metadata: { tier: 'gold' },
      input: [{ message: { role: 'system', content: 'Be short.' } }, { message: { role: 'user', content: QUESTION } }],
      output: [{ message: { role: 'assistant', content: ANSWER } }]
    })
    t.same(treeOf(spans), ['custom chat', '  llm OpenAI Chat Completions', '  llm OpenAI Chat Completions'])
    const [first, second] = ofKind(spans, 'llm')
    const call = { function: { name: 'get_weather', arguments: '{"city":"Graz"}' } }
    t.match(first, { status: 'ok', output: [{ message: { tool_calls: [{ tool_call: call }] } }] })
    t.match(second.input[3], { message: { role: 'tool', content: TOOL_RESULT } })
    t.equal(first.attributes['input.value'], undefined, 'the request states the same')
    t.match(first.attributes['output.value'], /"usage":/, 'the response states more')
  })

  t.test('a stream, without tokens', async t => {
    await inside(tracer, 'flow', () => chatInStream(client))
    const { trace } = await read('flow')
    t.match(trace, {
      model: 'gpt-4o-mini',
      usage: NOT_SENT,
      input: [{ message: { content: QUESTION } }],
      output: [{ message: { content: ANSWER } }]
    })
  })

  t.test('Responses, with a tool and as a stream', async t => {
    await inside(tracer, 'respond', () => respondWithTool(client))
    const { trace, spans } = await read('respond')
    const answer = { message: { role: 'assistant', contents: [{ message_content: { text: ANSWER } }] } }
    t.match(trace, { usage: chatsUsed(2), input: [{ message: { content: QUESTION } }], output: [answer] })
    t.same(treeOf(spans), ['custom respond', '  llm OpenAI Responses', '  llm OpenAI Responses'])
    await inside(tracer, 'respond in stream', () => respondInStream(client))
    t.match(await read('respond in stream'), { trace: { usage: chatsUsed(1), output: [answer] } })
  })

  t.test('a failure, which is not sent', async t => {
    await inside(tracer, 'failing', () => fail(client))
    t.same(treeOf((await read('failing')).spans), ['custom failing'])
  })

  t.test('embeddings', async t => {
    await embed(client)
    const { spans } = await read('OpenAI Embeddings')
    t.match(spans[0], { kind: 'embedding', model: 'text-embedding-3-small', input: 'sunny' })
    t.equal(spans[0].attributes['embedding.embeddings.0.embedding.text'], 'sunny')
  })
})

t.test('OpenLLMetry', async t => {
  const sent = await sending(t)
  openLlmetry(t, sent)
  const { tracer, read } = sent
  const client = openAi(sent)
  const question = { role: 'user', parts: [{ type: 'text', content: QUESTION }] }
  const answer = { role: 'assistant', parts: [{ type: 'text', content: ANSWER }] }

  t.test('a loop with a tool', async t => {
    await inside(tracer, 'chat', () => chatWithTool(client))
    const { trace, spans } = await read('chat')
    t.match(trace, {
      model: 'gpt-4o-mini-2024-07-18',
      provider: 'openai',
      usage: chatsUsed(2),
      input: [{ role: 'system', parts: [{ content: 'Be short.' }] }, question],
      output: [answer]
    })
    t.same(treeOf(spans), ['custom chat', '  llm chat gpt-4o-mini', '  llm chat gpt-4o-mini'])
    const call = { type: 'tool_call', name: 'get_weather', arguments: { city: 'Graz' } }
    t.match(ofKind(spans, 'llm')[0], { usage: chatsUsed(1), output: [{ parts: [call] }] })
  })

  t.test('a stream, without tokens', async t => {
    await inside(tracer, 'flow', () => chatInStream(client))
    const { trace } = await read('flow')
    t.match(trace, { model: 'gpt-4o-mini-2024-07-18', usage: NOT_SENT, input: [question], output: [answer] })
  })

  t.test('a failure, which is not sent', async t => {
    await inside(tracer, 'failing', () => fail(client))
    t.same(treeOf((await read('failing')).spans), ['custom failing'])
  })

  t.test('Responses', async t => {
    await inside(tracer, 'respond', () => respondWithTool(client))
    const { trace } = await read('respond')
    t.match(trace, { usage: chatsUsed(2), input: [question], output: [answer] })
  })
})

t.test('both together: each call counts once', async t => {
  const sent = await sending(t)
  openLlmetry(t, sent)
  openInference(t, sent)
  await inside(sent.tracer, 'chat', () => chatWithTool(openAi(sent)))
  const { trace, spans } = await sent.read('chat')
  t.match(trace, { usage: chatsUsed(2), provider: 'openai', model: 'gpt-4o-mini-2024-07-18' })
  t.same(treeOf(spans), [
    'custom chat',
    '  llm OpenAI Chat Completions',
    '    llm chat gpt-4o-mini',
    '  llm OpenAI Chat Completions',
    '    llm chat gpt-4o-mini'
  ])
})
