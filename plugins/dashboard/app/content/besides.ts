/** Finds the data of a request or response other than its messages: tools, temperature, response format. */
import { type JsonNode, memberAt, membersOf, readString, sourceOf } from './json-text.ts'
import { wholeJson } from './whole-json.ts'

/** Members that hold the conversation, which the page shows as messages. */
const CONVERSATION: readonly string[] = [
  ...['messages', 'prompt', 'input', 'inputs', 'contents', 'chat_history', 'system', 'instructions', 'role', 'content'],
  ...['systemInstruction', 'system_instruction', 'choices', 'output', 'candidates', 'generations', 'text', 'parts'],
  ...['toolCalls', 'tool_calls', 'reasoning', 'reasoningText', 'finishReason', 'finish_reason', 'stop_reason', 'type']
]
/** Attributes that state parameters of a call, by name or by the beginning of the name. */
const ATTRIBUTES = [
  ...['llm.invocation_parameters', 'gen_ai.tool.definitions', 'gen_ai.output.type', 'ai.prompt.tools'],
  ...['ai.prompt.toolChoice', 'model_request_parameters']
]
const PREFIXES = ['gen_ai.request.', 'ai.settings.', 'llm.request.']
const LEFT_OUT = ['gen_ai.request.model', 'llm.request.type']

export interface Parameter {
  readonly name: string
  /** JSON text in which `node` is the value. */
  readonly text: string
  readonly node: JsonNode
}

/** Returns the members of a value other than its conversation. A value that is not an object has none. */
export function besidesMessages(text: string, node: JsonNode | undefined): Parameter[] {
  if (node?.kind !== 'object') return []
  return membersOf(text, node).flatMap(({ key, node }) => {
    const name = readString(text, key!)
    // The Responses API takes an output format in `text`.
    const isConversation = CONVERSATION.includes(name) && !(name === 'text' && node.kind === 'object')
    return isConversation || node.kind === 'null' ? [] : [{ name, text, node }]
  })
}

/** Returns the parameters that a call's attributes state. */
export function parametersIn(text: string, attributes: JsonNode | undefined): Parameter[] {
  if (attributes?.kind !== 'object') return []
  return membersOf(text, attributes).flatMap(({ key, node }) => {
    const name = readString(text, key!)
    const prefix = PREFIXES.find(each => name.startsWith(each))
    if ((prefix === undefined && !ATTRIBUTES.includes(name)) || LEFT_OUT.includes(name)) return []
    return [
      unpacked({ name: prefix === undefined ? name.replace(/^.*\./, '') : name.slice(prefix.length), text, node })
    ]
  })
}

/** Reads a value that is encoded as JSON in a string, as in OpenTelemetry attributes. */
function unpacked(parameter: Parameter): Parameter {
  const { text, node, name } = parameter
  if (node.kind !== 'string') return parameter
  const inner = readString(text, node)
  const whole = wholeJson(inner)
  return whole === undefined ? parameter : { name, text: inner, node: whole }
}

/** Returns the names of the tools that a list of definitions offers; empty if the value is not such a list. */
export function toolNames({ text, node }: Parameter): string[] {
  const items = node.kind === 'array' ? membersOf(text, node).map(each => each.node) : []
  const names = items.flatMap(item => {
    const inner = memberAt(text, item, 'function')
    const name = memberAt(text, inner?.kind === 'object' ? inner : item, 'name')
    return name?.kind === 'string' ? [readString(text, name)] : []
  })
  if (names.length > 0 || node.kind !== 'object') return names
  // The AI SDK's settings and some recorders name tools by the keys of an object.
  const members = membersOf(text, node)
  return members.length > 0 && members.every(each => each.node.kind === 'object')
    ? members.map(({ key }) => readString(text, key!))
    : []
}

/** Returns a scalar value's text; undefined for objects and arrays. */
export function scalarText({ text, node }: Parameter): string | undefined {
  if (node.kind === 'object' || node.kind === 'array') return undefined
  return node.kind === 'string' ? readString(text, node) : sourceOf(text, node)
}
