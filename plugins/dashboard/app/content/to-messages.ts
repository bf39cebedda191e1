/** Reads a recorded input or output as messages if it is a conversation of a known shape. */
import { isFields, type Message, unpack } from './message.ts'
import { readContent } from './message-parts.ts'
import { SHAPES } from './message-shapes.ts'

/** Fields that hold the conversation in complete requests and graph states. */
const WRAPPERS = ['messages', 'prompt', 'input', 'inputs', 'chat_history'] as const

/**
 * Returns undefined if the value is not a conversation. `role` is the role of a plain string: `user` for an input,
 * `assistant` for an output.
 */
export function toMessages(value: unknown, role: 'user' | 'assistant'): Message[] | undefined {
  const messages = readMessages(value, role)
  return messages && nameResults(messages)
}

/** Names each result after its call, because a result records only the call's id. */
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

function readMessages(value: unknown, role: 'user' | 'assistant'): Message[] | undefined {
  if (typeof value === 'string') {
    const unpacked = unpack(value)
    const inner = unpacked === value ? undefined : shaped(unpacked)
    return inner ?? (value === '' ? undefined : [{ role, parts: [{ kind: 'text', text: value }] }])
  }
  return shaped(value) ?? unwrapped(value, role)
}

function shaped(value: unknown): Message[] | undefined {
  for (const { read } of SHAPES) {
    const messages = read(value)
    if (messages !== undefined) return messages
  }
  return undefined
}

/** Extracts the conversation from a request: `{messages}`, `{system, messages}` or `{prompt}`. */
function unwrapped(value: unknown, role: 'user' | 'assistant'): Message[] | undefined {
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
function alone(fields: object, text: string, role: 'user' | 'assistant'): Message[] | undefined {
  const others = Object.keys(fields).filter(
    key => !['prompt', 'input', 'system', 'instructions', 'model'].includes(key)
  )
  return others.length === 0 ? [{ role, parts: [{ kind: 'text', text }] }] : undefined
}

/** Returns the names of a request's members outside its conversation, such as tools and temperature. */
export function besidesMessages(value: unknown): string[] {
  const fields = unpack(value)
  if (!isFields(fields) || 'role' in fields) return []
  const conversation = [
    ...WRAPPERS,
    'system',
    'instructions',
    'contents',
    'systemInstruction',
    'choices',
    'candidates',
    'output',
    'content',
    'type',
    'text',
    'toolCalls',
    'object',
    'generations'
  ]
  return Object.keys(fields).filter(key => !conversation.includes(key as string))
}
