/** Calls at the edges of the wrappers: derived clients, raw responses, aborted streams, and objects wrapped twice. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { Spoor } from '../../../../clients/typescript/index.ts'
import { wrapAnthropic } from '../../../../clients/typescript/wrap/anthropic.ts'
import { wrapOpenAI } from '../../../../clients/typescript/wrap/openai.ts'
import { readWires, SERVER_SENT_EVENTS, startRecording, startWires } from '../../../fixtures/wires/exchanges.ts'

const chats = readWires('openai-chat')
const messages = readWires('anthropic')
const named = (table: typeof chats, name: string) => table.find(each => each.name === name)!
const settings = { apiKey: 'none', maxRetries: 0 }

async function clients(t: Test) {
  const { url, answer } = await startWires(t, { ...SERVER_SENT_EVENTS, close: 'data: [DONE]\n\n' })
  const { spoor, recorded, problems } = await startRecording(t)
  return {
    spoor,
    recorded,
    problems,
    answer,
    openai: wrapOpenAI(new OpenAI({ ...settings, baseURL: `${url}/v1` }), spoor),
    anthropic: wrapAnthropic(new Anthropic({ ...settings, baseURL: url }), spoor)
  }
}

t.test('clients made by withOptions are recorded once', async t => {
  const { openai, anthropic, answer, recorded } = await clients(t)
  answer(named(chats, 'service_tier'))
  const { request } = named(chats, 'service_tier')
  await openai.withOptions({ timeout: 5000 }).withOptions({ maxRetries: 1 }).chat.completions.create(request)
  t.match((await recorded(t)).spans, [{ name: 'openai.chat', output: { content: 'Hello' } }])
  answer(named(messages, 'whole'))
  await anthropic.withOptions({ timeout: 5000 }).beta.messages.create(named(messages, 'whole').request)
  t.match((await recorded(t)).spans, [{ name: 'anthropic.messages', output: { role: 'assistant' } }])
})

t.test('the step of a raw response notes that it has no output', async t => {
  const { openai, answer, recorded } = await clients(t)
  answer(named(chats, 'service_tier'))
  const response = await openai.chat.completions.create(named(chats, 'service_tier').request).asResponse()
  t.match(await response.json(), { id: 'c1' })
  const trace = await recorded(t)
  t.match(trace, { status: 'ok' })
  const event = { name: 'raw response, not recorded', attributes: { status: 200 } }
  t.match(trace.spans, [{ status: 'ok', output: undefined, events: [event] }])
})

t.test('an aborted stream is not marked ok', async t => {
  const { openai, anthropic, answer, recorded } = await clients(t)
  const chat = named(chats, 'a reader that leaves')
  answer(chat)
  const stream = await openai.chat.completions.create(chat.request as OpenAI.ChatCompletionCreateParamsStreaming)
  for await (const _ of stream) stream.controller.abort()
  const expected = [{ status: 'unset', events: [{ name: 'not read to its end', attributes: { reason: 'aborted' } }] }]
  const trace = await recorded(t)
  t.match(trace, { status: 'unset', spans: expected })
  t.match(trace.spans[0].output, { role: 'assistant' })
  const message = named(messages, 'text and pings')
  answer(message)
  const helper = anthropic.messages.stream(message.request)
  helper.on('text', () => helper.abort())
  await t.rejects(helper.finalMessage(), { name: 'Error' })
  t.match((await recorded(t)).spans, expected)
})

t.test('a failing stream is a failed trace, with the part that was read', async t => {
  const { openai, answer, recorded } = await clients(t)
  const chat = named(chats, 'a connection that breaks')
  answer(chat)
  await t.rejects(async () => {
    for await (const _ of await openai.chat.completions.create(
      chat.request as OpenAI.ChatCompletionCreateParamsStreaming
    ));
  })
  t.match(await recorded(t), { status: 'error', output: { content: 'Hello' }, spans: [{ status: 'error' }] })
})

t.test('an error of an iterator that the library puts around a stream fails the step', async t => {
  const { spoor, recorded } = await clients(t)
  const events = chats.find(({ name }) => name === 'a reader that leaves')!.chunks!
  async function* read() {
    yield* events
  }
  // Like the streams of OpenAI's client from version 7 on.
  const stream = { iterator: read, [Symbol.asyncIterator]: () => around() }
  async function* around() {
    for await (const event of stream.iterator()) {
      if (event !== events[0]) throw new TypeError('an odd chunk')
      yield event
    }
  }
  const client = wrapOpenAI({ chat: { completions: { create: async (_: unknown) => stream } } }, spoor)
  await t.rejects(async () => {
    for await (const _ of await client.chat.completions.create({ model: 'm', stream: true }));
  }, /an odd chunk/)
  const [span] = (await recorded(t)).spans
  t.match(span, {
    status: 'error',
    events: [{ name: 'exception', attributes: { 'exception.message': 'an odd chunk' } }]
  })
})

t.test('legacy completions are recorded', async t => {
  const { openai, answer, recorded } = await clients(t)
  const exchange = named(chats, 'a choice without a message')
  answer(exchange)
  await openai.completions.create({ model: 'm-asked', prompt: 'Hi' })
  t.match((await recorded(t)).spans, [{ name: 'openai.completions', input: 'Hi', output: { text: 'old' } }])
})

t.test('an object wrapped for another client stays with the first, and the other client reports it', async t => {
  const { openai, answer, recorded } = await clients(t)
  const problems: string[] = []
  const other = new Spoor({ key: 'k', spool: false, onProblem: problem => problems.push(problem) })
  t.teardown(() => other.close({ timeoutMs: 0 }))
  wrapOpenAI(openai, other)
  t.same(problems, [
    'wrapOpenAI has no effect, because another Spoor client records this client: wrap an object only once'
  ])
  answer(named(chats, 'service_tier'))
  await openai.chat.completions.create(named(chats, 'service_tier').request)
  t.match((await recorded(t)).spans, [{ name: 'openai.chat' }])
})
