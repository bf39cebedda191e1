/**
 * Reads responses from OpenAI's Responses API, whole and streamed. The last event usually contains the whole response,
 * but a stream may end early, and some proxies leave the output of the last event empty.
 */
import { type Answered, type CallBody, type Collector, failureOf } from '../model-call.ts'
import { isRecord } from './merge.ts'
import { defined, readOpenAIUsage } from './usage.ts'

export function readResponse(body: CallBody): Answered {
  const { model, output, id, status, error, incomplete_details, service_tier } = body
  const { usage, costUsd, attributes } = readOpenAIUsage(body.usage)
  const isFailed = Boolean(error) || status === 'failed'
  return {
    output: Array.isArray(output) && output.length === 0 && isFailed ? undefined : output,
    model,
    usage,
    costUsd,
    attributes: defined({
      'response.id': id,
      'response.status': status,
      incomplete_details: incomplete_details ?? undefined,
      service_tier: service_tier ?? undefined,
      ...attributes
    }),
    ...(isFailed && { failure: failureOf(error ?? { message: 'the response failed' }) })
  }
}

/** Deltas by event type, with the member of the item or of its part that each extends. */
const DELTAS: Readonly<Record<string, readonly [list: 'content' | 'summary' | undefined, member: string]>> = {
  'response.output_text.delta': ['content', 'text'],
  'response.refusal.delta': ['content', 'refusal'],
  'response.reasoning_text.delta': ['content', 'text'],
  'response.reasoning_summary_text.delta': ['summary', 'text'],
  'response.function_call_arguments.delta': [undefined, 'arguments'],
  'response.mcp_call_arguments.delta': [undefined, 'arguments'],
  'response.custom_tool_call_input.delta': [undefined, 'input'],
  'response.code_interpreter_call_code.delta': [undefined, 'code']
}

export function collectResponse(): Collector {
  let last: CallBody = {}
  let failure: CallBody
  const items = new Map<number, CallBody>()
  return {
    add(event) {
      const { type, response, output_index: place, item } = event
      // The first and last events of a response contain the whole response so far.
      if (isRecord(response)) last = response
      else if (type === 'error') failure = event.error ?? event
      else if (isRecord(item)) items.set(place, structuredClone(item))
      else if (items.has(place)) addToItem(items.get(place), event)
    },
    answered() {
      const gathered = [...items].sort(([a], [b]) => a - b).map(([, item]) => item)
      const isWhole = Array.isArray(last.output) && last.output.length > 0
      const output = isWhole ? last.output : gathered.length > 0 ? gathered : undefined
      return readResponse({ ...last, output, error: last.error ?? failure })
    }
  }
}

function addToItem(item: CallBody, event: CallBody): void {
  const { type, delta, part, content_index, summary_index } = event
  if (type === 'response.content_part.added') {
    item.content ??= []
    item.content[content_index] = structuredClone(part)
  } else if (type === 'response.reasoning_summary_part.added') {
    item.summary ??= []
    item.summary[summary_index] = structuredClone(part)
  }
  const [list, member] = DELTAS[type] ?? []
  if (member === undefined || typeof delta !== 'string') return
  const target = list === undefined ? item : partOf(item, list, content_index ?? summary_index ?? 0, member)
  target[member] = (target[member] ?? '') + delta
}

function partOf(item: CallBody, list: 'content' | 'summary', place: number, member: string): CallBody {
  item[list] ??= []
  const type = list === 'summary' ? 'summary_text' : member === 'refusal' ? 'refusal' : 'output_text'
  // A refusal's part may have been announced as text.
  const part = item[list][place]
  if (part === undefined || (member === 'refusal' && part.refusal === undefined)) item[list][place] = { type }
  return item[list][place]
}
