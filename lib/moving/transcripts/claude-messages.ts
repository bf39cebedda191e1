/** Reads the content of Anthropic's messages as OpenTelemetry's parts. */
import type { Json } from '../../trace/json/exact-json.ts'
import { type ContentPart, type ModelMessage, readFields, readList, stringIn } from './transcript.ts'

/** A model's message, of whose lines more may follow. */
export interface OpenMessage {
  readonly id: string
  /** The id from which the step's id is made. */
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

/** Splits a user's content into results of tools and the rest, whose text is `text`. */
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

/** Returns a tool's result: its text, or its blocks if it has others than text. */
export function readResult(content: Json): Json {
  if (!Array.isArray(content)) return content
  const blocks = content.map(readFields)
  return blocks.every(({ type }) => type === 'text') ? blocks.map(({ text }) => stringIn(text)).join('\n') : content
}
