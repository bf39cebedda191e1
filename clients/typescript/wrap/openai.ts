/** `spoor/client/openai`: records chats, responses and embeddings of OpenAI's client as steps. */
import type { RecordedUsage } from '../record/fields.ts'
import type { Spoor } from '../spoor.ts'
import { type Answered, type CallBody, type CallMethod, type Collector, settingsOf, watchCreate } from './model-call.ts'

/** Records this client's calls and returns the client. The client works as before, including streams and helpers. */
export function wrapOpenAI<C extends object>(client: C, spoor: Spoor): C {
  const { chat, responses, embeddings } = client as CallBody
  watchCreate(chat?.completions, spoor, CHAT)
  watchCreate(responses, spoor, RESPONSES)
  watchCreate(embeddings, spoor, EMBEDDINGS)
  return client
}

const provider = 'openai'

const CHAT: CallMethod = {
  name: 'openai.chat',
  describe(request) {
    const attributes = settingsOf(request, ['model', 'messages', 'stream', 'stream_options'])
    return { kind: 'llm', provider, model: request.model, input: request.messages, attributes }
  },
  read: readChat,
  collect: collectChat
}

function readChat({ model, choices, usage, id }: CallBody): Answered {
  const messages = choices.map(({ message }: CallBody) => message)
  const reasons = choices.map(({ finish_reason }: CallBody) => finish_reason).join(', ')
  return {
    output: messages.length === 1 ? messages[0] : messages,
    model,
    usage: chatUsage(usage),
    attributes: { 'response.id': id, finish_reason: reasons }
  }
}

function chatUsage(usage: CallBody): RecordedUsage {
  return { inputTokens: usage?.prompt_tokens, outputTokens: usage?.completion_tokens, totalTokens: usage?.total_tokens }
}

function collectChat(): Collector {
  const whole: CallBody = { choices: [] }
  return {
    add({ id, model, usage, choices = [] }) {
      whole.id ??= id
      whole.model = model ?? whole.model
      whole.usage = usage ?? whole.usage
      for (const { index = 0, delta = {}, finish_reason } of choices) {
        whole.choices[index] ??= { message: { role: 'assistant', content: null }, finish_reason: null }
        addDelta(whole.choices[index].message, delta)
        whole.choices[index].finish_reason ??= finish_reason
      }
    },
    answered: () => readChat(whole)
  }
}

function addDelta(message: CallBody, { role, tool_calls = [], ...texts }: CallBody): void {
  message.role = role ?? message.role
  // `content`, `refusal`, and fields that other providers add, such as `reasoning_content`.
  for (const [name, text] of Object.entries(texts)) {
    if (typeof text === 'string') message[name] = (message[name] ?? '') + text
  }
  for (const { index = 0, id, type, function: called = {} } of tool_calls) {
    message.tool_calls ??= []
    message.tool_calls[index] ??= { id, type: type ?? 'function', function: { name: '', arguments: '' } }
    const whole = message.tool_calls[index].function
    whole.name += called.name ?? ''
    whole.arguments += called.arguments ?? ''
  }
}

const RESPONSES: CallMethod = {
  name: 'openai.responses',
  describe(request) {
    const { model, input, instructions } = request
    const messages = typeof input === 'string' ? [{ role: 'user', content: input }] : (input ?? [])
    return {
      kind: 'llm',
      provider,
      model,
      input: instructions ? [{ role: 'system', content: instructions }, ...messages] : input,
      attributes: settingsOf(request, ['model', 'input', 'instructions', 'stream'])
    }
  },
  read: readResponse,
  collect() {
    let last: CallBody
    let text = ''
    return {
      add({ type, response, delta }) {
        // The first and last events of a response contain the whole response so far.
        if (response !== undefined) last = response
        else if (type === 'response.output_text.delta') text += delta
      },
      answered() {
        const isDone = Array.isArray(last?.output) && last.output.length > 0
        return isDone ? readResponse(last) : { output: text, model: last?.model }
      }
    }
  }
}

function readResponse({ model, output, usage, id, status }: CallBody): Answered {
  const { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: totalTokens } = usage ?? {}
  return {
    output,
    model,
    usage: { inputTokens, outputTokens, totalTokens },
    attributes: { 'response.id': id, 'response.status': status }
  }
}

const EMBEDDINGS: CallMethod = {
  name: 'openai.embeddings',
  describe(request) {
    const attributes = settingsOf(request, ['model', 'input'])
    return { kind: 'embedding', provider, model: request.model, input: request.input, attributes }
  },
  // Vectors are omitted, because nobody reads them and they would take up most of the storage.
  read({ data, model, usage }) {
    const output = { embeddings: data.length, dimensions: data[0]?.embedding?.length }
    return { output, model, usage: chatUsage(usage) }
  },
  collect: () => ({ add() {}, answered: () => ({ output: undefined }) })
}
