/** Runs of LangChain are recorded by the callback handler, with the real library. */
import { AIMessage } from '@langchain/core/messages'
import { ChatPromptTemplate } from '@langchain/core/prompts'
import { RunnableLambda } from '@langchain/core/runnables'
import { tool } from '@langchain/core/tools'
import { FakeListChatModel, FakeRetriever } from '@langchain/core/utils/testing'
import t from 'tap'
import { langchainHandler } from '../../../../clients/typescript/wrap/langchain.ts'
import { startRecording } from '../../../fixtures/wires/exchanges.ts'

// biome-ignore lint/suspicious/noExplicitAny: a recorded trace.
type Json = any

/** Returns each span's kind, name and its parent's name. */
const treeOf = ({ spans }: Json): string[] =>
  spans.map(({ kind, name, parentSpanId }: Json) => {
    const parent = spans.find(({ id }: Json) => id === parentSpanId)
    return `${kind} ${name}${parent === undefined ? '' : ` in ${parent.name}`}`
  })

const metadata = { thread_id: 'thread-1', user_id: 'user-1' }

t.test('a chain is a trace, and its runs are steps', async t => {
  const { spoor, recorded } = await startRecording(t)
  const weather = tool(async ({ city }: { city: string }) => `sunny in ${city}`, {
    name: 'get_weather',
    schema: { type: 'object', properties: { city: { type: 'string' } } } as never
  })
  const chain = ChatPromptTemplate.fromMessages([
    ['system', 'Be short.'],
    ['human', '{question}']
  ])
    .pipe(new FakeListChatModel({ responses: ['Hello'] }))
    .pipe(
      RunnableLambda.from(async (message: AIMessage, config) => {
        await new FakeRetriever({ output: [] }).invoke('weather', config)
        return `${message.content}, ${await weather.invoke({ city: 'Graz' } as never, config)}`
      })
    )
  const callbacks = [langchainHandler(spoor)]
  t.equal(await chain.invoke({ question: 'Sunny?' }, { callbacks, metadata, runName: 'agent' }), 'Hello, sunny in Graz')
  const trace = await recorded(t)
  t.match(trace, {
    name: 'agent',
    status: 'ok',
    sessionId: 'thread-1',
    userId: 'user-1',
    input: { question: 'Sunny?' }
  })
  t.equal(trace.output, 'Hello, sunny in Graz')
  const tree = treeOf(trace).filter(each => /^(?:llm|tool|retriever)/.test(each))
  t.same(tree.sort(), [
    'llm FakeListChatModel',
    'retriever FakeRetriever in RunnableLambda',
    'tool get_weather in RunnableLambda'
  ])
  const [llm, found] = ['llm', 'tool'].map(kind => trace.spans.find((span: Json) => span.kind === kind))
  t.match(llm, {
    status: 'ok',
    input: [
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: 'Sunny?' }
    ],
    output: { role: 'assistant', content: 'Hello' }
  })
  t.match(found, { input: { city: 'Graz' }, output: 'sunny in Graz' })
})

t.test('an error fails each enclosing run, and a stream is recorded', async t => {
  const { spoor, recorded } = await startRecording(t)
  const callbacks = [langchainHandler(spoor)]
  const broken = RunnableLambda.from(() => {
    throw new Error('no')
  })
  await t.rejects(broken.invoke('x', { callbacks, runName: 'broken' }), { message: 'no' })
  t.match(await recorded(t), { name: 'broken', status: 'error', metadata: { error: { message: 'no' } } })
  const model = new FakeListChatModel({ responses: ['Hello'] })
  for await (const _ of await model.stream('Hi', { callbacks }));
  t.match(await recorded(t), { status: 'ok', spans: [{ kind: 'llm', output: { content: 'Hello' } }] })
})

t.test('runs inside a step are part of it, with usage and the model', async t => {
  const { spoor, recorded } = await startRecording(t)
  const handler = langchainHandler(spoor)
  await spoor.trace('outer', () =>
    new FakeListChatModel({ responses: ['Hello'] }).invoke('Hi', { callbacks: [handler] })
  )
  t.match(await recorded(t), { name: 'outer', spans: [{ kind: 'llm' }] })
  handler.handleChatModelStart({ id: ['ChatOpenAI'] }, [[new AIMessage('Hi')]], 'run-1')
  const usage_metadata = {
    input_tokens: 11,
    output_tokens: 7,
    total_tokens: 18,
    input_token_details: { cache_read: 8 }
  }
  const message = new AIMessage({
    content: 'Hello',
    usage_metadata,
    response_metadata: { model_name: 'm-real' }
  } as never)
  handler.handleLLMEnd({ generations: [[{ message }]] }, 'run-1')
  t.match((await recorded(t)).spans, [
    {
      ...{ name: 'ChatOpenAI', model: 'm-real', usage: { inputTokens: 11, outputTokens: 7, totalTokens: 18 } },
      attributes: { cache_read_input_tokens: 8 }
    }
  ])
})
