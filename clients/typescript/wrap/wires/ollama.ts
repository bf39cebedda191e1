/** Reads answers of Ollama's API, whole and streamed. */
import type { Answered, CallBody, Collector } from '../model-call.ts'
import { isRecord, mergeInto } from './merge.ts'
import { defined, tokenCount } from './usage.ts'

/** Reads an answer of `chat`, with a message, or of `generate`, with a text. */
export function readOllama({ model, message, response, thinking, ...body }: CallBody): Answered {
  return {
    output: message ?? (thinking ? { response, thinking } : response),
    model,
    usage: defined({
      inputTokens: tokenCount(body.prompt_eval_count),
      outputTokens: tokenCount(body.eval_count)
    }),
    attributes: defined({ finish_reason: body.done_reason })
  }
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
