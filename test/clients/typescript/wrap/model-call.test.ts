/** The wrappers for OpenAI's and Anthropic's clients record each call, and the wrapped clients work as before. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { Spoor } from '../../../../clients/typescript/index.ts'
import { wrapAnthropic } from '../../../../clients/typescript/wrap/anthropic.ts'
import { wrapOpenAI } from '../../../../clients/typescript/wrap/openai.ts'
import { ANSWER } from '../../../provider/facts.ts'
import { startProvider } from '../../../provider/provider.ts'
import { receiver } from '../../../senders/sending.ts'
import {
  chatInStream,
  chatWithTool,
  embed,
  fail,
  QUESTION,
  respondInStream,
  respondWithTool,
  TOOL_RESULT
} from '../../../senders/talk.ts'
import { ofKind, treeOf } from '../../../senders/tree.ts'
import { chatsUsed } from '../../../senders/used.ts'

async function recording(t: Test) {
  const { url, key, read } = await receiver()
  const provider = await startProvider()
  t.teardown(provider.close)
  const problems: string[] = []
  const spoor = new Spoor({ url, key, spool: false, onProblem: problem => problems.push(problem) })
  t.teardown(() => spoor.close())
  return {
    spoor,
    modelUrl: provider.url,
    read: async (name: string) => {
      const { lost, kept } = await spoor.flush({ timeoutMs: 60_000 })
      t.same([lost, kept, problems], [[], 0, []])
      return read(t, name)
    }
  }
}

t.test("OpenAI's client", async t => {
  const { spoor, modelUrl, read } = await recording(t)
  const client = new OpenAI({ apiKey: 'none', baseURL: `${modelUrl}/v1`, maxRetries: 0 })
  t.equal(wrapOpenAI(wrapOpenAI(client, spoor), spoor), client)

  t.test('a loop with a tool', async t => {
    await spoor.trace('chat', () => chatWithTool(client))
    const { trace, spans } = await read('chat')
    t.match(trace, { model: 'gpt-4o-mini-2024-07-18', provider: 'openai', usage: chatsUsed(2) })
    t.same(treeOf(spans), ['llm openai.chat', 'llm openai.chat'])
    const [first, second] = ofKind(spans, 'llm')
    t.match(first, { input: [{ role: 'system', content: 'Be short.' }, { content: QUESTION }], usage: chatsUsed(1) })
    t.match(first.output.tool_calls[0].function, { name: 'get_weather', arguments: '{"city":"Graz"}' })
    t.match(first.attributes, { tools: [{ type: 'function' }], finish_reason: 'tool_calls' })
    t.match(second.input[3], { role: 'tool', content: TOOL_RESULT })
    t.match(second.output, { role: 'assistant', content: ANSWER })
  })

  t.test('a stream is recorded completely', async t => {
    await spoor.trace('flow', () => chatInStream(client))
    const { spans } = await read('flow')
    t.match(spans, [{ status: 'ok', output: { role: 'assistant', content: ANSWER }, usage: chatsUsed(1) }])
  })

  t.test('a stream that is read after the function that requested it has returned', async t => {
    const messages = [{ role: 'user' as const, content: QUESTION }]
    const ask = () => client.chat.completions.create({ model: 'gpt-4o', messages, stream: true })
    const stream = await spoor.trace('handed on', { input: QUESTION }, async trace => {
      trace.setOutput('a stream')
      const response = await ask()
      return { response }
    })
    const [one, other] = stream.response.tee()
    let text = ''
    for await (const { choices } of one) text += choices[0]?.delta.content ?? ''
    for await (const _ of other);
    t.equal(text, ANSWER)
    const { trace, spans } = await read('handed on')
    t.match(spans, [{ output: { content: ANSWER } }])
    t.equal(trace.status, 'ok')
  })

  t.test('a stream that its reader abandons', async t => {
    const messages = [{ role: 'user' as const, content: QUESTION }]
    await spoor.trace('left', async () => {
      for await (const _ of await client.chat.completions.create({ model: 'gpt-4o', messages, stream: true })) break
    })
    const { spans } = await read('left')
    t.match(spans, [{ status: 'unset', events: [{ name: 'not read to its end', attributes: { reason: 'left' } }] }])
  })

  t.test('Responses, with a tool and as a stream, and embeddings', async t => {
    await spoor.trace('respond', async () => {
      await respondWithTool(client)
      await respondInStream(client)
      await embed(client)
    })
    const { trace, spans } = await read('respond')
    t.equal(trace.usage.totalTokens, 3 * 120 + 8)
    t.same(treeOf(spans), ['embedding openai.embeddings', ...Array(3).fill('llm openai.responses')])
    for (const { output } of spans.slice(1, 3)) t.match(output, [{ type: 'message', content: [{ text: ANSWER }] }])
    t.match(spans[3], { input: 'sunny', output: { embeddings: 1, dimensions: 3 } })
  })

  t.test("a failure, and the client's helpers, outside any trace", async t => {
    await fail(client)
    t.match((await read('openai.chat')).spans, [{ status: 'error', events: [{ name: 'exception' }] }])
    const helper = client.chat.completions.stream({
      model: 'gpt-4o',
      messages: [{ role: 'user', content: QUESTION }],
      stream_options: { include_usage: true }
    })
    await spoor.trace('helper', async () => t.equal(await helper.finalContent(), ANSWER))
    const asked = client.responses.create({ model: 'gpt-4o', input: QUESTION })
    t.equal((await asked.withResponse()).response.status, 200)
    const { trace, spans } = await read('openai.responses')
    t.match(trace, { status: 'ok', output: [{ type: 'message' }], usage: chatsUsed(1) })
    t.equal(spans.length, 1)
    const raw = await spoor.trace('raw', () =>
      client.responses.create({ model: 'gpt-4o', input: QUESTION }).asResponse()
    )
    t.match(await raw.json(), { object: 'response' }, 'the raw body is left to the application')
  })
})

t.test("Anthropic's client", async t => {
  const { spoor, modelUrl, read } = await recording(t)
  const client = wrapAnthropic(new Anthropic({ apiKey: 'none', baseURL: modelUrl, maxRetries: 0 }), spoor)
  const ask = { model: 'claude-test', max_tokens: 100, system: 'Be short.' }
  const messages = [{ role: 'user' as const, content: QUESTION }]
  const tools = [
    { name: 'get_weather', input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } } }
  ]

  t.test('a response, a stream with a tool, and the helper for streams', async t => {
    await spoor.trace('anthropic', async () => {
      await client.messages.create({ ...ask, messages })
      for await (const _ of await client.messages.create({ ...ask, messages, tools, stream: true }));
      t.match((await client.messages.stream({ ...ask, messages }).finalMessage()).content, [{ text: ANSWER }])
    })
    const { trace, spans } = await read('anthropic')
    t.match(trace, { provider: 'anthropic', model: 'claude-test', usage: chatsUsed(3) })
    t.same(treeOf(spans), Array(3).fill('llm anthropic.messages'))
    t.match(spans[0], {
      input: [{ role: 'system', content: 'Be short.' }, { role: 'user' }],
      output: { role: 'assistant', content: [{ type: 'text', text: ANSWER }] },
      attributes: { max_tokens: 100, stop_reason: 'end_turn', cache_read_input_tokens: 20 }
    })
    t.match(spans[1].output.content, [{ type: 'tool_use', name: 'get_weather', input: { city: 'Graz' } }])
    t.match(spans[2].output.content, [{ type: 'text', text: ANSWER }])
  })

  t.test('a failure', async t => {
    await t.rejects(client.messages.create({ ...ask, model: 'fail-429', messages }))
    t.match((await read('anthropic.messages')).trace, { status: 'error' })
  })
})
