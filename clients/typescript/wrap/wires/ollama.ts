/** Reads responses from Ollama's API, whole and streamed. */
import type { Answered, CallBody, Collector } from '../model-call.ts'
import { isRecord, mergeInto, recordsIn } from './merge.ts'
import { defined, tokenCount } from './usage.ts'

/** Reads a response from `chat`, with a message, or from `generate`, with a text. */
export function readOllama({ model, message, response, thinking, ...body }: CallBody): Answered {
  return {
    output: isRecord(message) ? withCalls(message) : thinking ? { response, thinking } : response,
    model,
    usage: defined({
      inputTokens: tokenCount(body.prompt_eval_count),
      outputTokens: tokenCount(body.eval_count)
    }),
    attributes: defined({ finish_reason: body.done_reason })
  }
}

/** Returns a message with its tool calls in the form of OpenAI's chats, whose arguments are JSON. */
function withCalls({ tool_calls, ...message }: CallBody): CallBody {
  const calls = recordsIn(tool_calls).map(({ function: called, ...call }) => {
    const json = typeof called?.arguments === 'string' ? called.arguments : JSON.stringify(called?.arguments ?? {})
    return { type: 'function', ...call, function: { ...called, arguments: json } }
  })
  if (calls.length === 0) return message
  const { content, ...rest } = message
  return { ...rest, ...(content && { content }), tool_calls: calls }
}

export function collectOllama(): Collector {
  const whole: CallBody = {}
  return {
    add({ message, response, thinking, ...rest }) {
      Object.assign(whole, rest)
      if (isRecord(message)) {
        whole.message ??= {}
        mergeInto(whole.message, message)
      }
      mergeInto(whole, { response, thinking })
    },
    answered: () => readOllama(whole)
  }
}
