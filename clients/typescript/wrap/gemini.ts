/** `spoor-client/gemini`: records content and embeddings of Google's client `@google/genai` as steps. */
import type { Spoor } from '../spoor.ts'
import { type CallBody, type CallMethod, watchClient } from './model-call.ts'
import { collectGemini, readGemini } from './wires/gemini.ts'
import { recordsIn } from './wires/merge.ts'

/** Records this client's calls, including those of its chats, and returns the client. */
export function wrapGemini<C extends object>(client: C, spoor: Spoor): C {
  const { models } = Object(client) as CallBody
  return watchClient('wrapGemini', client, spoor, [
    [models, 'generateContent', CONTENT],
    [models, 'generateContentStream', CONTENT],
    [models, 'embedContent', EMBEDDINGS]
  ])
}

const provider = 'google'

const CONTENT: CallMethod = {
  name: 'gemini.content',
  describe({ model, contents, config = {} }) {
    const { systemInstruction, abortSignal: _, ...settings } = config
    const asked = Array.isArray(contents) ? contents : [contents]
    const input = systemInstruction === undefined ? contents : [{ role: 'system', parts: systemInstruction }, ...asked]
    return { kind: 'llm', provider, model, input, attributes: settings }
  },
  read: readGemini,
  collect: collectGemini
}

const EMBEDDINGS: CallMethod = {
  name: 'gemini.embeddings',
  describe: ({ model, contents, config = {} }) => {
    return { kind: 'embedding', provider, model, input: contents, attributes: config }
  },
  // Vectors are omitted, because nobody reads them and they would take up most of the storage.
  read({ embeddings }) {
    const vectors = recordsIn(embeddings)
    return { output: { embeddings: vectors.length, dimensions: vectors[0]?.values?.length } }
  },
  collect: () => ({ add() {}, answered: () => ({}) })
}
