/** Reads the parts of a message's content, recognising the field names that libraries use. */
import { mediaOf, readDataUri } from '../ui/media.ts'
import { isFields, type MessageFields, type MessagePart, pick, pickText, textOf, unpack } from './message.ts'

/** Reads content: a string, one part, or a list of parts. */
export function readContent(content: unknown): MessagePart[] {
  if (content == null || content === '') return []
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  if (Array.isArray(content)) return content.flatMap(readContent)
  if (isFields(content)) return readMessagePart(content)
  return [{ kind: 'data', label: 'value', value: content }]
}

type Reader = (part: MessageFields) => MessagePart | MessagePart[] | undefined

const text: Reader = part => {
  const found = pickText(part, 'text', 'content', 'refusal', 'transcript')
  return found === undefined ? undefined : found === '' ? [] : { kind: 'text', text: found }
}
const thinking: Reader = part => {
  const found = pickText(part, 'thinking', 'text', 'reasoning', 'content')
  if (found !== undefined) return found === '' ? [] : { kind: 'thinking', text: found }
  // OpenAI's Responses API sends a summary in parts.
  const summary = pick(part, 'summary', 'reasoningText')
  const texts = readContent(isFields(summary) ? pick(summary, 'text') : summary)
  const joined = texts.flatMap(each => (each.kind === 'text' ? [each.text] : [])).join('\n\n')
  return joined === '' ? [] : { kind: 'thinking', text: joined }
}
const hiddenThinking: Reader = () => ({ kind: 'thinking', text: '', redacted: true })
const call: Reader = part => {
  const inner = isFields(part.function) ? part.function : part
  const name = pickText(inner, 'name', 'toolName', 'tool_name')
  if (name === undefined) return undefined
  const given = pick(inner, 'arguments', 'input', 'args', 'parameters')
  return { kind: 'call', id: idOf(part), name, arguments: unpack(given) }
}
const result: Reader = part => ({
  kind: 'result',
  id: pickText(part, 'tool_use_id', 'tool_call_id', 'toolCallId', 'call_id', 'callId', 'toolUseId', 'id'),
  name: pickText(part, 'toolName', 'tool_name', 'name'),
  content: resultContent(pick(part, 'content', 'output', 'result', 'response')),
  failed: part.is_error === true || part.isError === true || part.status === 'error'
})
const image: Reader = part => {
  const source = pick(part, 'image_url', 'source', 'image', 'url', 'data', 'bytes', 'uri')
  const type = mimeOf(part) ?? 'image/png'
  return fileOf(source, type, 'image')
}
const audio: Reader = part => {
  const inner = isFields(part.input_audio) ? part.input_audio : isFields(part.audio) ? part.audio : part
  const format = pickText(inner, 'format')
  const type = mimeOf(inner) ?? mimeOf(part) ?? (format === undefined ? 'audio/wav' : `audio/${format}`)
  return fileOf(pick(inner, 'data', 'source', 'url', 'uri'), type, 'audio')
}
const file: Reader = part => {
  const inner = isFields(part.file) ? part.file : part
  const source = pick(inner, 'file_data', 'data', 'source', 'content', 'uri', 'url', 'file_url', 'fileUri', 'file_uri')
  const name = pickText(inner, 'filename', 'fileName', 'name', 'title', 'file_id')
  return fileOf(source ?? name, mimeOf(inner) ?? mimeOf(part) ?? 'application/octet-stream', name ?? 'file')
}

const READERS: Readonly<Record<string, Reader>> = {
  text,
  input_text: text,
  output_text: text,
  summary_text: text,
  refusal: text,
  thinking,
  reasoning: thinking,
  reasoning_content: thinking,
  reasoning_text: thinking,
  redacted_thinking: hiddenThinking,
  'redacted-reasoning': hiddenThinking,
  tool_use: call,
  server_tool_use: call,
  mcp_tool_use: call,
  tool_call: call,
  'tool-call': call,
  function: call,
  function_call: call,
  custom_tool_call: call,
  tool_result: result,
  mcp_tool_result: result,
  web_search_tool_result: result,
  'tool-result': result,
  tool_call_response: result,
  function_call_output: result,
  custom_tool_call_output: result,
  image_url: image,
  image,
  input_image: image,
  audio,
  input_audio: audio,
  output_audio: audio,
  file,
  document: file,
  input_file: file,
  blob: file,
  uri: file
}

export function isPartType(type: unknown): type is string {
  return typeof type === 'string' && Object.hasOwn(READERS, type)
}

export function readMessagePart(part: MessageFields): MessagePart[] {
  const read = isPartType(part.type) ? READERS[part.type]!(part) : untyped(part)
  if (read === undefined) return [{ kind: 'data', label: textOf(part.type) ?? 'value', value: part }]
  return Array.isArray(read) ? read : [read]
}

/** Recognises an untyped part by its fields. Gemini and Bedrock send such parts. */
function untyped(part: MessageFields): MessagePart | MessagePart[] | undefined {
  if (part.thought === true && typeof part.text === 'string') return { kind: 'thinking', text: part.text }
  if (typeof part.text === 'string') return text(part)
  const calls = pick(part, 'functionCall', 'function_call', 'toolUse')
  if (isFields(calls)) return call(calls)
  const results = pick(part, 'functionResponse', 'function_response', 'toolResult')
  if (isFields(results)) return result(results)
  const inline = pick(part, 'inlineData', 'inline_data')
  if (isFields(inline)) return fileOf(inline.data, mimeOf(inline) ?? 'application/octet-stream', 'file')
  const elsewhere = pick(part, 'fileData', 'file_data')
  if (isFields(elsewhere)) return file(elsewhere)
  if (isFields(part.reasoningContent)) return thinking(part.reasoningContent)
  if (isFields(part.executableCode)) return { kind: 'data', label: 'executable code', value: part.executableCode }
  return undefined
}

/** Reads a tool's result as parts if the result consists entirely of known parts, otherwise as a single value. */
function resultContent(content: unknown): MessagePart[] {
  const value = unpackOutput(content)
  if (value === undefined) return []
  if (typeof value === 'string') return value === '' ? [] : [{ kind: 'text', text: value }]
  const list = Array.isArray(value) ? value : [value]
  const known = list.length > 0 && list.every(each => isFields(each) && isKnownPart(each))
  return known
    ? list.flatMap(each => readMessagePart(each as MessageFields))
    : [{ kind: 'data', label: 'result', value }]
}

const isKnownPart = (part: MessageFields) =>
  isPartType(part.type) || (Object.keys(part).length === 1 && typeof part.text === 'string')

/** Unwraps an output that the AI SDK has labelled with a type: `{type: 'text' | 'json' | …, value}`. */
function unpackOutput(content: unknown): unknown {
  const told = isFields(content) && typeof content.type === 'string' && 'value' in content
  return told ? content.value : unpack(content)
}

function idOf(part: MessageFields): string | undefined {
  return pickText(part, 'call_id', 'callId', 'toolCallId', 'tool_call_id', 'toolUseId', 'id')
}

function mimeOf(part: MessageFields): string | undefined {
  const source = isFields(part.source) ? part.source : part
  return pickText(source, 'media_type', 'mediaType', 'mimeType', 'mime_type')
}

/** Reads a file that is given as a data URI, as base64 or as an address, directly or as the member of an object. */
function fileOf(source: unknown, type: string, label: string): MessagePart | undefined {
  if (isFields(source)) {
    const given = pick(source, 'url', 'data', 'uri', 'bytes', 'file_id', 'base64')
    return given === undefined ? undefined : fileOf(given, mimeOf(source) ?? type, label)
  }
  if (typeof source !== 'string') return undefined
  const media = readDataUri(source) ?? (looksEncoded(source) ? mediaOf(type, source) : undefined)
  if (media !== undefined) return { kind: 'media', media }
  return { kind: 'link', label, address: source.length > 2000 ? `${source.slice(0, 2000)}…` : source }
}

/** Returns whether a string is base64 rather than an address or a name. */
function looksEncoded(text: string): boolean {
  return (
    text.length >= 16 &&
    text.length % 4 !== 1 &&
    !/^[a-z][a-z0-9+.-]*:/i.test(text.slice(0, 40)) &&
    /^[A-Za-z0-9+/_=-]+$/.test(text.slice(0, 500))
  )
}
