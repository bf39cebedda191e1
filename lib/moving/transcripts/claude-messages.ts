/** Converts the content of Anthropic messages to OpenTelemetry message parts. */
import type { Json } from '../../trace/json/exact-json.ts'
import { type ContentPart, type ModelMessage, readFields, readList, stringIn } from './transcript.ts'

/** A model's message that may still receive more lines. */
export interface OpenMessage {
  readonly id: string
  /** The id from which the step's id is derived. */
  readonly callId: string
  readonly requestId: string | undefined
  readonly requestModel: string | undefined
  readonly startMs: number
  readonly news: readonly ModelMessage[]
  readonly parts: ContentPart[]
  readonly usage: Map<string, number>
  model: string | undefined
  stopReason: string | undefined
  endMs: number
}

/** Splits a user message's content into tool results and other parts. `text` is the text of the other parts. */
export function contentOf(content: Json): {
  readonly results: Json[]
  readonly parts: ContentPart[]
  readonly text: string
} {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : readList(content)
  const results = blocks.filter(block => readFields(block).type === 'tool_result')
  const parts = partsOf(blocks.filter(block => !results.includes(block)))
  const text = parts.flatMap(({ type, content }) => (type === 'text' ? [stringIn(content)] : [])).join('\n')
  return { results, parts, text }
}

export const partsOf = (content: Json): ContentPart[] => readList(content).map(partOf)

function partOf(block: Json): ContentPart {
  const fields = readFields(block)
  const { type, text, thinking, id, name, input, source } = fields
  if (type === 'text') return { type, content: text }
  if (type === 'thinking') return { type: 'reasoning', content: thinking }
  if (type === 'tool_use') return { type: 'tool_call', id, name, arguments: input }
  if (type === 'image' || type === 'document') {
    const { media_type, data } = readFields(source)
    if (typeof data === 'string')
      return { type: 'blob', modality: stringIn(type), mime_type: media_type, content: data }
  }
  return { ...fields, type: stringIn(type) }
}

/** Returns a tool's result as text, or as blocks if any block is not text. */
export function readResult(content: Json): Json {
  if (!Array.isArray(content)) return content
  const blocks = content.map(readFields)
  return blocks.every(({ type }) => type === 'text') ? blocks.map(({ text }) => stringIn(text)).join('\n') : content
}
