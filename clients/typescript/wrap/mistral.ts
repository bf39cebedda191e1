/**
 * `spoor-client/mistral`: records chats and embeddings of Mistral's client as steps. The API is that of OpenAI's chats,
 * but the client renames its members.
 */
import type { Spoor } from '../spoor.ts'
import { type CallBody, type CallMethod, type Collector, settingsOf, watchClient } from './model-call.ts'
import { recordsIn } from './wires/merge.ts'
import { collectChat, readChat } from './wires/openai-chat.ts'

/** Records this client's calls and returns the client. */
export function wrapMistral<C extends object>(client: C, spoor: Spoor): C {
  const { chat, agents, embeddings } = Object(client) as CallBody
  return watchClient('wrapMistral', client, spoor, [
    [chat, 'complete', CHAT],
    [chat, 'stream', CHAT],
    [agents, 'complete', CHAT],
    [agents, 'stream', CHAT],
    [embeddings, 'create', EMBEDDINGS]
  ])
}

const provider = 'mistral'

const CHAT: CallMethod = {
  name: 'mistral.chat',
  describe(request) {
    const attributes = settingsOf(request, ['model', 'messages', 'stream'])
    return { kind: 'llm', provider, model: request.model ?? request.agentId, input: request.messages, attributes }
  },
  read: answer => readChat(asChat(answer)),
  collect(): Collector {
    const { add, answered } = collectChat()
    // The client wraps each chunk of a stream.
    return { add: event => add(asChat(event.data ?? event)), answered }
  }
}

const EMBEDDINGS: CallMethod = {
  name: 'mistral.embeddings',
  describe(request) {
    const attributes = settingsOf(request, ['model', 'inputs'])
    return { kind: 'embedding', provider, model: request.model, input: request.inputs, attributes }
  },
  // Vectors are omitted, because nobody reads them and they would take up most of the storage.
  read(answer) {
    const vectors = recordsIn(answer.data)
    const output = { embeddings: vectors.length, dimensions: vectors[0]?.embedding?.length }
    return { ...readChat(asChat(answer)), output }
  },
  collect: () => ({ add() {}, answered: () => ({}) })
}

/** Returns a response, or a chunk of one, with the API's names. */
function asChat({ choices, usage, ...body }: CallBody): CallBody {
  const { promptTokens, completionTokens, totalTokens, ...rest } = usage ?? {}
  return {
    ...body,
    choices: recordsIn(choices).map(({ index, message, delta, finishReason }) => {
      return { index, message: renamed(message), delta: renamed(delta), finish_reason: finishReason }
    }),
    usage: usage && {
      ...{ prompt_tokens: promptTokens, completion_tokens: completionTokens, total_tokens: totalTokens },
      ...{ prompt_tokens_details: { cached_tokens: rest.promptTokensDetails?.cachedTokens } }
    }
  }
}

function renamed(message: CallBody): CallBody {
  if (message === undefined || message === null) return message
  const { toolCalls, prefix: _, ...rest } = message
  return { ...rest, ...(toolCalls && { tool_calls: toolCalls }) }
}
