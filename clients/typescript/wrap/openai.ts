/** `spoor-client/openai`: records chats, responses, completions and embeddings of OpenAI's client as steps. */
import type { Spoor } from '../spoor.ts'
import { type CallBody, type CallMethod, settingsOf, watchClient, watchDerived } from './model-call.ts'
import { recordsIn } from './wires/merge.ts'
import { collectChat, readChat } from './wires/openai-chat.ts'
import { collectResponse, readResponse } from './wires/openai-responses.ts'
import { readOpenAIUsage } from './wires/usage.ts'

/**
 * Records this client's calls and returns the client. The client works as before, including streams and helpers. A
 * streamed chat reports its tokens only if the request has `stream_options: { include_usage: true }`.
 */
export function wrapOpenAI<C extends object>(client: C, spoor: Spoor): C {
  const { chat, completions, responses, embeddings } = Object(client) as CallBody
  watchDerived(client, 'withOptions', derived => wrapOpenAI(derived, spoor))
  return watchClient('wrapOpenAI', client, spoor, [
    [chat?.completions, 'create', CHAT],
    [completions, 'create', COMPLETIONS],
    [responses, 'create', RESPONSES],
    [embeddings, 'create', EMBEDDINGS]
  ])
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

const COMPLETIONS: CallMethod = {
  ...CHAT,
  name: 'openai.completions',
  describe(request) {
    const attributes = settingsOf(request, ['model', 'prompt', 'stream', 'stream_options'])
    return { kind: 'llm', provider, model: request.model, input: request.prompt, attributes }
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
  collect: collectResponse
}

const EMBEDDINGS: CallMethod = {
  name: 'openai.embeddings',
  describe(request) {
    const attributes = settingsOf(request, ['model', 'input'])
    return { kind: 'embedding', provider, model: request.model, input: request.input, attributes }
  },
  // Vectors are omitted, because nobody reads them and they would take up most of the storage.
  read({ data, model, usage }) {
    const vectors = recordsIn(data)
    const output = { embeddings: vectors.length, dimensions: vectors[0]?.embedding?.length }
    return { output, model, ...readOpenAIUsage(usage) }
  },
  collect: () => ({ add() {}, answered: () => ({}) })
}
