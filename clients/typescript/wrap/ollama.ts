/** `spoor-client/ollama`: records chats, completions and embeddings of Ollama's client as steps. */
import type { Spoor } from '../spoor.ts'
import { type CallBody, type CallMethod, settingsOf, watchClient } from './model-call.ts'
import { collectOllama, readOllama } from './wires/ollama.ts'
import { defined, tokenCount } from './wires/usage.ts'

/** Records this client's calls and returns the client. */
export function wrapOllama<C extends object>(client: C, spoor: Spoor): C {
  return watchClient('wrapOllama', client, spoor, [
    [client, 'chat', CHAT],
    [client, 'generate', GENERATE],
    [client, 'embed', EMBEDDINGS]
  ])
}

const provider = 'ollama'

const CHAT: CallMethod = {
  name: 'ollama.chat',
  describe(request) {
    const attributes = settingsOf(request, ['model', 'messages', 'stream'])
    return { kind: 'llm', provider, model: request.model, input: request.messages, attributes }
  },
  read: readOllama,
  collect: collectOllama
}

const GENERATE: CallMethod = {
  ...CHAT,
  name: 'ollama.generate',
  describe(request) {
    const attributes = settingsOf(request, ['model', 'prompt', 'stream', 'context'])
    return { kind: 'llm', provider, model: request.model, input: request.prompt, attributes }
  }
}

const EMBEDDINGS: CallMethod = {
  name: 'ollama.embeddings',
  describe(request) {
    const attributes = settingsOf(request, ['model', 'input'])
    return { kind: 'embedding', provider, model: request.model, input: request.input, attributes }
  },
  // Vectors are omitted, because nobody reads them and they would take up most of the storage.
  read({ model, embeddings, prompt_eval_count }: CallBody) {
    const output = { embeddings: embeddings?.length, dimensions: embeddings?.[0]?.length }
    return { output, model, usage: defined({ inputTokens: tokenCount(prompt_eval_count) }) }
  },
  collect: () => ({ add() {}, answered: () => ({}) })
}
