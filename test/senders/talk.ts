/** The calls of an application that uses OpenAI's client, the same for each instrumentation of the client. */
import type OpenAI from 'openai'

export const QUESTION = 'Is it sunny in Graz?'
export const TOOL_RESULT = 'sunny'
export const FAILING = 'fail-429'

const model = 'gpt-4o-mini'
const weather = {
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
}
const tools = [{ type: 'function' as const, function: weather }]
const responseTools = [{ type: 'function' as const, strict: false, ...weather }]

/** Makes two calls: the model asks for a tool, then responds with the tool's result. */
export async function chatWithTool(client: OpenAI): Promise<void> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: 'system', content: 'Be short.' },
    { role: 'user', content: QUESTION }
  ]
  const { choices } = await client.chat.completions.create({ model, messages, tools })
  const asked = choices[0]!.message
  messages.push(asked, { role: 'tool', tool_call_id: asked.tool_calls![0]!.id, content: TOOL_RESULT })
  await client.chat.completions.create({ model, messages, tools })
}

export async function chatInStream(client: OpenAI): Promise<void> {
  const messages = [{ role: 'user' as const, content: QUESTION }]
  const stream_options = { include_usage: true }
  await toEnd(await client.chat.completions.create({ model, messages, stream: true, stream_options }))
}

/** Makes the same two calls as `chatWithTool`, using the Responses API. */
export async function respondWithTool(client: OpenAI): Promise<void> {
  const { output } = await client.responses.create({ model, input: QUESTION, tools: responseTools })
  const [call] = output.filter(({ type }) => type === 'function_call') as OpenAI.Responses.ResponseFunctionToolCall[]
  const result = { type: 'function_call_output' as const, call_id: call!.call_id, output: TOOL_RESULT }
  const input = [{ role: 'user' as const, content: QUESTION }, call!, result]
  await client.responses.create({ model, input, tools: responseTools })
}

export async function respondInStream(client: OpenAI): Promise<void> {
  await toEnd(await client.responses.create({ model, input: QUESTION, stream: true }))
}

export async function embed(client: OpenAI): Promise<void> {
  await client.embeddings.create({ model: 'text-embedding-3-small', input: 'sunny' })
}

/** Makes a call that fails. Resolves when it has failed. */
export async function fail(client: OpenAI): Promise<void> {
  const messages = [{ role: 'user' as const, content: QUESTION }]
  await client.chat.completions.create({ model: FAILING, messages }).then(
    () => {
      throw new Error('The call has not failed.')
    },
    () => {}
  )
}

async function toEnd(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}
