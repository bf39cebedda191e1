/**
 * `spoor-client/ai-sdk`: records model calls of Vercel's AI SDK as steps, by a middleware:
 * `wrapLanguageModel({ model, middleware: spoorMiddleware(spoor) })`. It reads the results of AI SDK 5, 6 and 7.
 */
import type { Spoor } from '../spoor.ts'
import {
  type Answered,
  type CallBody,
  type CallMethod,
  type Collector,
  failureOf,
  requireSpoor,
  watchCalls
} from './model-call.ts'
import { isRecord, recordsIn } from './wires/merge.ts'
import { defined, firstCount, tokenCount } from './wires/usage.ts'

interface ModelCall {
  readonly doGenerate: () => PromiseLike<CallBody>
  readonly doStream: () => PromiseLike<CallBody>
  readonly params: CallBody
  readonly model: CallBody
}

/** Returns a middleware for `wrapLanguageModel`. Tools are recorded if their functions are observed. */
export function spoorMiddleware(spoor: Spoor) {
  requireSpoor('spoorMiddleware(spoor)', spoor)
  const record = (call: () => PromiseLike<CallBody>, { params, model }: ModelCall) => {
    const recorded = { call }
    watchCalls(recorded, 'call', spoor, CALL)
    return (recorded.call as (request: CallBody) => PromiseLike<CallBody>)({ params, model })
  }
  return {
    specificationVersion: 'v3' as const,
    wrapGenerate: (call: ModelCall): PromiseLike<CallBody> => record(call.doGenerate, call),
    wrapStream: (call: ModelCall): PromiseLike<CallBody> => record(call.doStream, call)
  }
}

const CALL: CallMethod = {
  name: 'ai.model',
  describe({ params, model }) {
    const { prompt, abortSignal: _, headers: _headers, includeRawChunks: _raw, ...attributes } = params
    return {
      kind: 'llm',
      provider: model.provider,
      model: model.modelId,
      input: prompt,
      attributes: defined(attributes)
    }
  },
  read: readResult,
  collect: collectParts,
  stream: {
    of: answer => answer?.stream,
    replace: (answer, parts) => ({ ...answer, stream: streamOf(parts) })
  }
}

function readResult({ content, finishReason, usage, response, error }: CallBody): Answered {
  // AI SDK 6 and 7 nest the counts.
  const { inputTokens: input, outputTokens: output, ...counts } = isRecord(usage) ? usage : ({} as CallBody)
  const reason = finishReason?.unified ?? finishReason
  return {
    output: recordsIn(content).length > 0 ? { role: 'assistant', content } : undefined,
    model: response?.modelId,
    usage: defined({
      inputTokens: firstCount(input?.total, input),
      outputTokens: firstCount(output?.total, output),
      totalTokens: tokenCount(counts.totalTokens)
    }),
    attributes: defined({
      'response.id': response?.id,
      finish_reason: reason,
      cache_read_input_tokens: firstCount(input?.cacheRead, counts.cachedInputTokens),
      cache_creation_input_tokens: tokenCount(input?.cacheWrite),
      reasoning_tokens: firstCount(output?.reasoning, counts.reasoningTokens)
    }),
    ...(error !== undefined && { failure: error instanceof Error ? error : failureOf(error) })
  }
}

function collectParts(): Collector {
  const whole: CallBody = {}
  const content: CallBody[] = []
  const open = new Map<string, CallBody>()
  return {
    add(part) {
      const [, kind, step] = /^(text|reasoning)-(start|delta|end)$/.exec(part.type) ?? []
      if (kind !== undefined) {
        const key = `${kind} ${part.id}`
        const block = open.get(key) ?? { type: kind, text: '' }
        if (!open.has(key)) content.push(block)
        open.set(key, block)
        if (step === 'delta') block.text += part.delta ?? ''
      } else if (['tool-call', 'tool-result', 'source', 'file'].includes(part.type)) content.push(part)
      else if (part.type === 'finish') Object.assign(whole, { usage: part.usage, finishReason: part.finishReason })
      else if (part.type === 'response-metadata') whole.response = { ...whole.response, ...defined(part) }
      else if (part.type === 'error') whole.error = part.error
    },
    answered: () => readResult({ ...whole, content })
  }
}

/** Returns a stream that reads nothing ahead of its reader. */
function streamOf(parts: AsyncIterable<CallBody>): ReadableStream<CallBody> {
  const iterator = parts[Symbol.asyncIterator]()
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await iterator.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await iterator.return?.()
      }
    },
    { highWaterMark: 0 }
  )
}
