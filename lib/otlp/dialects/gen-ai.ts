/** OpenTelemetry's conventions for generative AI. Older names are included, because some libraries still send them. */
import { type Json, memberOf } from '../../trace/json/exact-json.ts'
import { isSameSystem, systemMessage } from '../content/system-message.ts'
import { type AttributeSource, composed, type Dialect, indexed, kindBy, loose, structured } from '../dialect.ts'
import type { Fields } from '../fields.ts'
import { readForm } from '../wire/attribute-values.ts'
import type { OtlpEvent } from '../wire/request.ts'

const byOperation = kindBy('gen_ai.operation.name')
const TOOL_NAMES = ['gen_ai.tool.name', 'gen_ai.tool.call.id', 'gen_ai.tool.call_id']

export const genAi: Dialect = {
  kind(fields) {
    const kind = byOperation(fields)
    if (kind !== undefined) return kind
    if (TOOL_NAMES.some(name => fields.has(name))) return 'tool'
    return fields.has('gen_ai.retrieval.query.text') ? 'retriever' : undefined
  },
  model: ['gen_ai.response.model', 'gen_ai.request.model'],
  provider: ['gen_ai.provider.name', 'gen_ai.system'],
  inputTokens: ['gen_ai.usage.input_tokens', 'gen_ai.usage.prompt_tokens', 'llm.usage.prompt_tokens'],
  outputTokens: ['gen_ai.usage.output_tokens', 'gen_ai.usage.completion_tokens', 'llm.usage.completion_tokens'],
  totalTokens: ['gen_ai.usage.total_tokens'],
  cacheReadTokens: [
    'gen_ai.usage.cache_read.input_tokens',
    'gen_ai.usage.cache_read_input_tokens',
    'gen_ai.usage.details.cache_read_tokens',
    'gen_ai.usage.prompt_tokens_details.cache_read',
    'gen_ai.usage.input_tokens.cached',
    'gen_ai.usage.cached_tokens'
  ],
  cacheWriteTokens: [
    'gen_ai.usage.cache_creation.input_tokens',
    'gen_ai.usage.cache_write.input_tokens',
    'gen_ai.usage.cache_creation_input_tokens',
    'gen_ai.usage.details.cache_write_tokens',
    'gen_ai.usage.prompt_tokens_details.cache_write'
  ],
  reasoningTokens: [
    'gen_ai.usage.reasoning.output_tokens',
    'gen_ai.usage.reasoning_tokens',
    'gen_ai.usage.details.reasoning_tokens',
    'gen_ai.usage.completion_tokens_details.reasoning',
    'gen_ai.usage.output_tokens.reasoning'
  ],
  // LiteLLM, pydantic-ai and OpenRouter use their own names.
  cost: [
    'gen_ai.usage.cost',
    'gen_ai.usage.total_cost',
    'gen_ai.usage.cost_usd',
    'gen_ai.cost.total_cost',
    'gen_ai.cost.total',
    'operation.cost',
    'trace.metadata.openrouter.total_cost'
  ],
  costParts: ['gen_ai.usage.input_cost', 'gen_ai.usage.output_cost'],
  input: [
    composed(readInput),
    loose('gen_ai.tool.call.arguments'),
    loose('gen_ai.retrieval.query.text'),
    loose('gen_ai.prompt'),
    indexed('gen_ai.prompt'),
    fromDetails('gen_ai.input.messages'),
    fromEvents('gen_ai.content.prompt', 'gen_ai.prompt'),
    messagesOfEvents(['system', 'user', 'assistant', 'tool'].map(role => `gen_ai.${role}.message`)),
    composed(fields => withInstructions(fields, []))
  ],
  output: [
    composed(readOutput),
    structured('gen_ai.tool.call.result'),
    loose('gen_ai.retrieval.documents'),
    loose('gen_ai.completion'),
    indexed('gen_ai.completion'),
    fromDetails('gen_ai.output.messages'),
    fromEvents('gen_ai.content.completion', 'gen_ai.completion'),
    messagesOfEvents(['gen_ai.choice'])
  ],
  names: { agent: ['gen_ai.agent.name'], tool: ['gen_ai.tool.name'] },
  trace: {
    rootName: ['gen_ai.agent.name'],
    sessionId: ['gen_ai.conversation.id', 'session.id'],
    userId: ['user.id']
  }
}

/**
 * Returns the input messages. Returns undefined for an empty list, which Semantic Kernel sends if there are no
 * messages.
 */
function readInput(fields: Fields): Json {
  const messages = fields.find(['gen_ai.input.messages'])
  const list = messages && readForm(messages.value, 'json')
  if (messages === undefined || isEmpty(list)) return undefined
  fields.take(messages.name)
  return Array.isArray(list) ? withInstructions(fields, list) : list
}

/**
 * Prepends the separately sent instructions to the list as a system message. OpenLIT sends instructions both separately
 * and in the list, so a list that already begins with that message stays unchanged. Returns undefined if the result
 * would be empty.
 */
export function withInstructions(fields: Fields, list: readonly Json[]): Json {
  const system = systemMessage(fields.takeFirst(['gen_ai.system_instructions']))
  if (system !== undefined && !isSameSystem(list[0], system)) return [system, ...list]
  return list.length === 0 ? undefined : [...list]
}

/**
 * Returns the output messages, or undefined if no message has parts and older attributes have content (as with
 * LiteLLM's tool calls).
 */
function readOutput(fields: Fields): Json {
  const messages = fields.find(['gen_ai.output.messages'])
  const list = messages && readForm(messages.value, 'json')
  if (messages === undefined || isEmpty(list)) return undefined
  const says = !Array.isArray(list) || list.some(message => !isEmpty(memberOf(message, 'parts')))
  if (!says && fields.names('gen_ai.completion.').length > 0) return undefined
  fields.take(messages.name)
  return list
}

const isEmpty = (list: Json): boolean => Array.isArray(list) && list.length === 0

/** Reads an event's attribute. The event itself stays among the span's events, with all its attributes. */
function fromEvents(event: string, attribute: string): AttributeSource {
  return composed((_, events) => {
    const found = events.find(({ name, attributes }) => name === event && attributes.has(attribute))
    return found && readForm(found.attributes.get(attribute), 'loose')
  })
}

function fromDetails(attribute: string): AttributeSource {
  return fromEvents('gen_ai.client.inference.operation.details', attribute)
}

/** Converts each event to a message. If an event does not state a role, the role comes from the event's name. */
function messagesOfEvents(names: readonly string[]): AttributeSource {
  return composed((_, events) => {
    const messages = events.filter(({ name }) => names.includes(name)).map(messageOf)
    return messages.length === 0 ? undefined : messages
  })
}

function messageOf({ name, attributes }: OtlpEvent): Json {
  const [, role] = /^gen_ai\.(\w+)\.message$/.exec(name) ?? []
  const parts = [...attributes].map(([key, value]) => [key, readForm(value, 'loose')])
  return { ...(role !== undefined && { role }), ...Object.fromEntries(parts) }
}
