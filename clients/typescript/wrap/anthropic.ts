/** `spoor/client/anthropic`: records messages of Anthropic's client as steps. */
import type { Spoor } from '../spoor.ts'
import { type Answered, type CallBody, type CallMethod, type Collector, settingsOf, watchCreate } from './model-call.ts'

/** Records this client's calls and returns the client. The client works as before, including streams and helpers. */
export function wrapAnthropic<C extends object>(client: C, spoor: Spoor): C {
  const { messages, beta } = client as CallBody
  watchCreate(messages, spoor, MESSAGES)
  watchCreate(beta?.messages, spoor, MESSAGES)
  return client
}

const MESSAGES: CallMethod = {
  name: 'anthropic.messages',
  describe(request) {
    const { model, system, messages } = request
    return {
      kind: 'llm',
      provider: 'anthropic',
      model,
      input: system === undefined ? messages : [{ role: 'system', content: system }, ...messages],
      attributes: settingsOf(request, ['model', 'system', 'messages', 'stream'])
    }
  },
  read: readMessage,
  collect: collectMessage
}

function readMessage({ id, role, content, model, stop_reason, usage = {} }: CallBody): Answered {
  const { cache_creation_input_tokens: written, cache_read_input_tokens: read } = usage
  // `input_tokens` excludes tokens written to or read from the cache.
  const inputTokens = (usage.input_tokens ?? 0) + (written ?? 0) + (read ?? 0)
  return {
    output: { role, content },
    model,
    usage: { inputTokens, outputTokens: usage.output_tokens },
    attributes: {
      'response.id': id,
      stop_reason,
      ...(written > 0 && { cache_creation_input_tokens: written }),
      ...(read > 0 && { cache_read_input_tokens: read })
    }
  }
}

function collectMessage(): Collector {
  let whole: CallBody = { role: 'assistant', content: [] }
  /** JSON of each tool input. The JSON arrives in pieces. */
  const inputs: string[] = []
  return {
    add(event) {
      if (event.type === 'message_start') whole = { ...event.message, content: [] }
      else if (event.type === 'content_block_start') whole.content[event.index] = { ...event.content_block }
      else if (event.type === 'content_block_delta') {
        inputs[event.index] = addDelta(whole.content[event.index], event.delta, inputs[event.index] ?? '')
      } else if (event.type === 'content_block_stop' && inputs[event.index]) {
        whole.content[event.index].input = JSON.parse(inputs[event.index]!)
      } else if (event.type === 'message_delta') {
        whole.stop_reason = event.delta?.stop_reason
        whole.usage = { ...whole.usage, ...withoutNulls(event.usage) }
      }
    },
    answered: () => readMessage(whole)
  }
}

/** Adds a delta to a content block. Returns the JSON of the block's input so far. */
function addDelta(block: CallBody, delta: CallBody, input: string): string {
  if (delta.type === 'text_delta') block.text = (block.text ?? '') + delta.text
  else if (delta.type === 'thinking_delta') block.thinking = (block.thinking ?? '') + delta.thinking
  else if (delta.type === 'signature_delta') block.signature = delta.signature
  else if (delta.type === 'citations_delta') block.citations = [...(block.citations ?? []), delta.citation]
  else if (delta.type === 'input_json_delta') return input + delta.partial_json
  return input
}

const withoutNulls = (usage: CallBody) =>
  Object.fromEntries(Object.entries(usage ?? {}).filter(([, value]) => value !== null))
