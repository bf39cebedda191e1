/**
 * Reads a recorded input or output as messages if the value is a conversation of a known shape. There is one shape per
 * library format. A shape reads a whole value or rejects it.
 */

import {
  isFields,
  type Message,
  type MessageFields,
  type MessagePart,
  pick,
  pickText,
  textOf,
  unpack
} from './message.ts'
import { isPartType, readContent, readMessagePart } from './message-parts.ts'

export interface Shape {
  readonly name: string
  /** Returns the messages; undefined if the value does not have this shape. */
  read(value: unknown): Message[] | undefined
}

/** Reads all items of a list. Returns undefined if the list is empty or any item is unreadable. */
function each(value: unknown, read: (item: MessageFields) => Message | undefined): Message[] | undefined {
  const items = Array.isArray(value) ? value : [value]
  if (items.length === 0) return undefined
  const messages: Message[] = []
  for (const item of items) {
    const message = isFields(item) ? read(item) : undefined
    if (message === undefined) return undefined
    messages.push(message)
  }
  return messages
}

function message(role: string, parts: readonly MessagePart[], finish?: string): Message {
  return { role, parts, ...(finish !== undefined && { finish }) }
}

/** Reads an OpenAI-style message, including members other than its content. */
function openAiParts(fields: MessageFields): MessagePart[] {
  const calls = pick(fields, 'tool_calls', 'toolCalls')
  const reasoning = pickText(fields, 'reasoning_content', 'reasoning')
  const legacy = fields.function_call
  return [
    ...(reasoning ? [{ kind: 'thinking' as const, text: reasoning }] : []),
    ...readContent(fields.content),
    ...(typeof fields.refusal === 'string' && fields.refusal !== ''
      ? [{ kind: 'text' as const, text: fields.refusal }]
      : []),
    ...(isFields(fields.audio) && typeof fields.audio.data === 'string'
      ? readMessagePart({ type: 'audio', audio: { format: 'wav', ...fields.audio } })
      : []),
    ...(Array.isArray(calls)
      ? calls.flatMap(one => (isFields(one) ? readMessagePart({ ...one, type: 'tool_call' }) : []))
      : []),
    ...(isFields(legacy) ? readMessagePart({ ...legacy, type: 'function_call' }) : [])
  ]
}

function chatMessage(fields: MessageFields): Message | undefined {
  const role = textOf(fields.role)
  if (role === undefined || Array.isArray(fields.parts)) return undefined
  if (
    !('content' in fields) &&
    pick(fields, 'tool_calls', 'toolCalls', 'function_call', 'refusal', 'audio') === undefined
  ) {
    return undefined
  }
  const parts = openAiParts(fields)
  const answered = pickText(fields, 'tool_call_id', 'toolCallId')
  // A tool message is a single result, regardless of the parts in its content.
  if ((role === 'tool' || role === 'function') && !parts.some(({ kind }) => kind === 'result')) {
    return message(
      role,
      readMessagePart({ type: 'tool_result', id: answered, name: fields.name, content: fields.content })
    )
  }
  return { ...message(role, parts), ...(typeof fields.name === 'string' && { name: fields.name }) }
}

/** Messages of OpenAI's chat completions, Anthropic, the AI SDK and Bedrock. Only the message parts differ. */
const chat: Shape = { name: 'chat', read: value => each(value, chatMessage) }

const choices: Shape = {
  name: 'chat completion',
  read(value) {
    if (!isFields(value) || !Array.isArray(value.choices)) return undefined
    return each(value.choices, choice => {
      const inner = isFields(choice.message) ? choice.message : isFields(choice.delta) ? choice.delta : undefined
      const finish = pickText(choice, 'finish_reason', 'finishReason')
      if (inner === undefined) {
        return typeof choice.text === 'string' ? message('assistant', readContent(choice.text)) : undefined
      }
      return message(textOf(inner.role) ?? 'assistant', openAiParts(inner), finish)
    })
  }
}

const RESPONSE_ITEMS = new Map(
  Object.entries({
    reasoning: 'assistant',
    function_call: 'assistant',
    custom_tool_call: 'assistant',
    function_call_output: 'tool',
    custom_tool_call_output: 'tool'
  })
)

function responseItem(item: MessageFields): Message | undefined {
  const type = textOf(item.type)
  if (type === 'message' || (type === undefined && item.role !== undefined)) {
    const role = textOf(item.role)
    return role === undefined ? undefined : message(role, readContent(item.content))
  }
  if (type === undefined) return undefined
  const role = RESPONSE_ITEMS.get(type)
  if (role !== undefined) return message(role, readMessagePart(item))
  // Calls of built-in tools, such as search and code execution.
  if (/_call(?:_output)?$|^item_reference$|^mcp_/.test(type)) {
    return message('assistant', [{ kind: 'data', label: type.replaceAll('_', ' '), value: item }])
  }
  return undefined
}

/** Items of OpenAI's Responses API, or a complete request or response of that API. */
const responses: Shape = {
  name: 'responses',
  read(value) {
    if (isFields(value) && Array.isArray(value.output) && value.object === 'response')
      return each(value.output, responseItem)
    if (isFields(value) && (typeof value.input === 'string' || Array.isArray(value.input)) && 'instructions' in value) {
      const input =
        typeof value.input === 'string' ? [message('user', readContent(value.input))] : each(value.input, responseItem)
      if (input === undefined) return undefined
      const system = textOf(value.instructions)
      return system ? [message('system', readContent(system)), ...input] : input
    }
    // Messages that have a role but no type belong to the chat shape.
    const items = Array.isArray(value) ? value : [value]
    const typed = items.some(item => isFields(item) && typeof item.type === 'string')
    return typed ? each(value, responseItem) : undefined
  }
}

/** A complete response or request of Anthropic's API. */
const anthropic: Shape = {
  name: 'anthropic',
  read(value) {
    if (!isFields(value)) return undefined
    if (value.type === 'message' && Array.isArray(value.content)) {
      return [message(textOf(value.role) ?? 'assistant', readContent(value.content), textOf(value.stop_reason))]
    }
    return undefined
  }
}

const GEMINI_ROLES = new Map([
  ['model', 'assistant'],
  ['function', 'tool']
])

function geminiContent(fields: MessageFields, finish?: string): Message | undefined {
  if (!Array.isArray(fields.parts) || (fields.parts.length === 0 && fields.role === undefined)) return undefined
  const role = textOf(fields.role) ?? 'user'
  return message(GEMINI_ROLES.get(role) ?? role, fields.parts.flatMap(readContent), finish)
}

const gemini: Shape = {
  name: 'gemini',
  read(value) {
    if (isFields(value) && Array.isArray(value.candidates)) {
      return each(value.candidates, ({ content, finishReason }) =>
        isFields(content) ? geminiContent({ role: 'model', ...content }, textOf(finishReason)) : undefined
      )
    }
    if (isFields(value) && value.contents !== undefined) {
      const contents =
        typeof value.contents === 'string'
          ? [message('user', readContent(value.contents))]
          : each(value.contents, geminiContent)
      if (contents === undefined) return undefined
      const instruction = pick(value, 'systemInstruction', 'system_instruction')
      const system = isFields(instruction) ? geminiContent({ ...instruction, role: 'system' }) : undefined
      return system === undefined ? contents : [system, ...contents]
    }
    return undefined
  }
}

/** Messages with a role and parts: OpenTelemetry's conventions, the AI SDK's UI messages and Gemini's contents. */
const parts: Shape = {
  name: 'parts',
  read: value => each(value, fields => geminiContent(fields, pickText(fields, 'finish_reason', 'finishReason')))
}

/** A list of parts without a role: an AI SDK response or Anthropic content. */
const bareParts: Shape = {
  name: 'bare parts',
  read(value) {
    const items = Array.isArray(value) ? value : [value]
    if (items.length === 0 || !items.every(item => isFields(item) && isPartType(item.type))) return undefined
    const roles = items.every(item => /result|response|output$/.test((item as MessageFields).type as string))
      ? 'tool'
      : 'assistant'
    return [message(roles, items.flatMap(readContent))]
  }
}

/** A complete AI SDK result, which has text in addition to its parts. */
const generated: Shape = {
  name: 'generated',
  read(value) {
    if (!isFields(value)) return undefined
    const calls = value.toolCalls
    if (typeof value.text !== 'string' && !Array.isArray(calls)) return undefined
    const known = ['text', 'toolCalls', 'reasoning', 'finishReason', 'role', 'files', 'reasoningText']
    if (!Object.keys(value).every(key => known.includes(key))) return undefined
    const thinking = pickText(value, 'reasoning', 'reasoningText')
    return [
      message(
        'assistant',
        [
          ...(thinking ? [{ kind: 'thinking' as const, text: thinking }] : []),
          ...readContent(value.text),
          ...(Array.isArray(calls)
            ? calls.flatMap(one => (isFields(one) ? readMessagePart({ ...one, type: 'tool_call' }) : []))
            : [])
        ],
        textOf(value.finishReason)
      )
    ]
  }
}

const LANGCHAIN_ROLES = new Map(
  Object.entries({
    human: 'user',
    ai: 'assistant',
    AIMessageChunk: 'assistant',
    system: 'system',
    tool: 'tool',
    function: 'tool',
    HumanMessage: 'user',
    AIMessage: 'assistant',
    SystemMessage: 'system',
    ToolMessage: 'tool'
  })
)

function langChainMessage(fields: MessageFields): Message | undefined {
  // Serialised form: {lc: 1, type: 'constructor', id: [..., 'HumanMessage'], kwargs: {content}}.
  if (fields.lc !== undefined && isFields(fields.kwargs) && Array.isArray(fields.id)) {
    return langChainMessage({ ...fields.kwargs, type: fields.id.at(-1) })
  }
  const type = textOf(fields.type)
  const role = type === undefined ? undefined : LANGCHAIN_ROLES.get(type)
  if (role === undefined) return undefined
  const inner = isFields(fields.data) && 'content' in fields.data ? fields.data : fields
  if (!('content' in inner)) return undefined
  const kwargs = isFields(inner.additional_kwargs) ? inner.additional_kwargs : {}
  const own = Array.isArray(inner.tool_calls) && inner.tool_calls.length > 0
  const joined = { role, ...inner, tool_calls: own ? inner.tool_calls : kwargs.tool_calls }
  return chatMessage(joined)
}

/** LangChain messages with `type: human | ai | …`, or the lists of lists that LangChain's callbacks use. */
const langChain: Shape = {
  name: 'langchain',
  read(value) {
    const flat = Array.isArray(value) && value.length > 0 && value.every(Array.isArray) ? value.flat() : value
    if (isFields(flat) && Array.isArray(flat.generations)) {
      const generations = flat.generations.flat()
      return each(generations, one => {
        if (isFields(one.message)) return langChainMessage(one.message)
        return typeof one.text === 'string' ? message('assistant', readContent(one.text)) : undefined
      })
    }
    return each(flat, langChainMessage)
  }
}

export const SHAPES: readonly Shape[] = [
  choices,
  anthropic,
  responses,
  chat,
  gemini,
  parts,
  langChain,
  bareParts,
  generated
]

/** Fields that hold the conversation in complete requests and graph states. */
const WRAPPERS = ['messages', 'prompt', 'input', 'inputs', 'chat_history'] as const

/** The role of a plain string: `user` for an input, `assistant` for an output, undefined if a string is no message. */
type PlainRole = 'user' | 'assistant' | undefined

/**
 * Returns undefined if the value is not a conversation. Without a role, only values whose messages state their roles
 * are conversations, as suits the inputs and outputs of tools.
 */
export function toMessages(value: unknown, role: PlainRole): Message[] | undefined {
  const messages = role === undefined ? statedMessages(value) : readMessages(value, role)
  return messages && nameResults(messages)
}

/** Gives each result the name of its call, because a result records only the call's id. */
function nameResults(messages: readonly Message[]): Message[] {
  const names = new Map<string, string>()
  return messages.map(message => {
    for (const part of message.parts) if (part.kind === 'call' && part.id !== undefined) names.set(part.id, part.name)
    if (!message.parts.some(part => part.kind === 'result' && part.name === undefined)) return message
    const parts = message.parts.map(part => {
      const name = part.kind === 'result' ? (part.name ?? names.get(part.id ?? '')) : undefined
      return part.kind === 'result' && name !== undefined ? { ...part, name } : part
    })
    return { ...message, parts }
  })
}

function statedMessages(value: unknown): Message[] | undefined {
  const found = shaped(
    unpack(value),
    SHAPES.filter(shape => shape !== bareParts && shape !== generated)
  )
  return found ?? unwrapped(value, undefined)
}

function readMessages(value: unknown, role: 'user' | 'assistant'): Message[] | undefined {
  if (typeof value === 'string') {
    const unpacked = unpack(value)
    const inner = unpacked === value ? undefined : shaped(unpacked)
    return inner ?? (value === '' ? undefined : [{ role, parts: [{ kind: 'text', text: value }] }])
  }
  return shaped(value) ?? unwrapped(value, role)
}

function shaped(value: unknown, shapes = SHAPES): Message[] | undefined {
  for (const { read } of shapes) {
    const messages = read(value)
    if (messages !== undefined) return messages
  }
  return undefined
}

/** Extracts the conversation from a request: `{messages}`, `{system, messages}` or `{prompt}`. */
function unwrapped(value: unknown, role: PlainRole): Message[] | undefined {
  if (!isFields(value)) return undefined
  for (const name of WRAPPERS) {
    const inner = unpack(value[name])
    if (inner == null) continue
    const messages = name === 'messages' || typeof inner !== 'string' ? shaped(inner) : alone(value, inner, role)
    if (messages === undefined) continue
    const system = readContent(unpack(value.system ?? value.instructions))
    return system.length === 0 ? messages : [{ role: 'system', parts: system }, ...messages]
  }
  return undefined
}

/** Reads a plain-text prompt, unless the request has other significant fields. */
function alone(fields: object, text: string, role: PlainRole): Message[] | undefined {
  if (role === undefined) return undefined
  const others = Object.keys(fields).filter(
    key => !['prompt', 'input', 'system', 'instructions', 'model'].includes(key)
  )
  return others.length === 0 ? [{ role, parts: [{ kind: 'text', text }] }] : undefined
}
