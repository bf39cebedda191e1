/** Reads responses from Anthropic's Messages API, whole and streamed. */
import { type Answered, type CallBody, type Collector, failureOf } from '../model-call.ts'
import { isRecord } from './merge.ts'
import { defined, tokenCount } from './usage.ts'

export function readAnthropic(body: CallBody): Answered {
  const { id, role, content, model, stop_reason, stop_sequence, stop_details, error } = body
  const usage = isRecord(body.usage) ? body.usage : {}
  const [written, read] = [tokenCount(usage.cache_creation_input_tokens), tokenCount(usage.cache_read_input_tokens)]
  const input = tokenCount(usage.input_tokens)
  const all = [input, written, read].filter(count => count !== undefined)
  return {
    output: content === undefined ? undefined : { role, content },
    model,
    usage: defined({
      // `input_tokens` excludes tokens written to or read from the cache.
      inputTokens: all.length === 0 ? undefined : all.reduce((sum, count) => sum + count, 0),
      outputTokens: tokenCount(usage.output_tokens)
    }),
    attributes: defined({
      'response.id': id,
      stop_reason: stop_reason ?? undefined,
      stop_sequence: stop_sequence ?? undefined,
      stop_details: stop_details ?? undefined,
      cache_creation_input_tokens: written,
      cache_read_input_tokens: read,
      service_tier: usage.service_tier ?? undefined
    }),
    ...(error && { failure: failureOf(error) })
  }
}

export function collectAnthropic(): Collector {
  let whole: CallBody
  const blocks = new Map<number, CallBody>()
  /** JSON of each tool input. The JSON arrives in pieces. */
  const inputs = new Map<number, string>()
  const message = () => {
    whole ??= { role: 'assistant' }
    return whole
  }
  return {
    add(event) {
      const { type, index, delta } = event
      if (type === 'message_start') {
        // This event's count of output tokens is provisional. The last event has the final one.
        const { output_tokens: _, ...usage } = event.message.usage ?? {}
        whole = { ...event.message, usage }
      } else if (type === 'content_block_start') blocks.set(index, structuredClone(event.content_block))
      else if (type === 'content_block_delta' && isRecord(delta)) {
        if (delta.type === 'input_json_delta') inputs.set(index, (inputs.get(index) ?? '') + delta.partial_json)
        else {
          if (!blocks.has(index)) blocks.set(index, { type: String(delta.type).replace(/_delta$/, '') })
          addDelta(blocks.get(index), delta)
        }
      } else if (type === 'message_delta') {
        Object.assign(message(), defined({ ...delta }))
        message().usage = { ...message().usage, ...withoutNulls(event.usage) }
      } else if (type === 'error') message().error = event.error
    },
    answered() {
      for (const [index, json] of inputs) if (json !== '' && blocks.has(index)) blocks.get(index).input = parsed(json)
      const content = [...blocks].sort(([a], [b]) => a - b).map(([, block]) => block)
      return whole === undefined && content.length === 0 ? {} : readAnthropic({ ...message(), content })
    }
  }
}

function addDelta(block: CallBody, delta: CallBody): void {
  if (delta.type === 'citations_delta') block.citations = [...(block.citations ?? []), delta.citation]
  // The deltas of texts, thinking and signatures, each with a member of the same name.
  const name = String(delta.type).replace(/_delta$/, '')
  if (typeof delta[name] === 'string') block[name] = (block[name] ?? '') + delta[name]
}

/** Returns the text itself if the stream ended within the JSON. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return json
  }
}

const withoutNulls = (usage: CallBody) =>
  Object.fromEntries(Object.entries(usage ?? {}).filter(([, value]) => value !== null))
