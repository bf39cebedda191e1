/**
 * Reads coding agents' log records: prompts, responses, model requests and tool uses. Each agent has its own event and
 * attribute names, and only this module reads those names.
 */
import { type Json, memberOf, plainNumber } from '../../trace/json/exact-json.ts'
import { sumKnown } from '../../trace/span-sums.ts'
import { type LogRecord, nameOfEvent } from '../logs/decode.ts'
import type { ReportedCounts } from '../token-counts.ts'
import { readForm } from '../wire/attribute-values.ts'
import type { StepKind } from './ids.ts'

export interface AgentEvent {
  readonly kind: StepKind
  readonly session: string
  /** The prompt's id; empty if the agent does not identify prompts. */
  readonly prompt: string
  /** The id that the agent reports for the request or tool use. */
  readonly callId: string | undefined
  /** Whether the record ends a call and therefore becomes a step. Other records only add to a call. */
  readonly ends: boolean
  readonly input?: Json
  readonly output?: Json
  /** Token counts, with cached and reasoning tokens included in the input and the output. */
  readonly usage?: ReportedCounts
  readonly costUsd?: number | undefined
  readonly model?: string | undefined
  readonly provider?: string | undefined
  readonly tool?: string | undefined
  readonly durationMs?: number | undefined
  /** The error of a failed call; empty if the agent does not report a reason. */
  readonly failure?: string | undefined
  /** Names of attributes whose values are in the fields above. */
  readonly taken: readonly string[]
}

/** Attributes of one record. Reading an attribute marks it as taken. */
class Attributes {
  readonly #of: LogRecord
  readonly taken: string[] = ['event.timestamp']

  constructor(record: LogRecord) {
    this.#of = record
  }

  get(name: string): Json {
    const value = this.#of.attributes.get(name)
    if (value !== undefined) this.taken.push(name)
    return value
  }

  /** Returns the first of these attributes that is a non-empty string. */
  text(...names: readonly string[]): string | undefined {
    for (const name of names) {
      const value = this.#of.attributes.get(name)
      if (typeof value !== 'string' || value === '') continue
      this.taken.push(name)
      return value
    }
    return undefined
  }

  /** Returns the first non-negative number among these attributes. Some versions send numbers as strings. */
  number(...names: readonly string[]): number | undefined {
    for (const name of names) {
      const value = plainNumber(this.#of.attributes.get(name))
      const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
      if (typeof number !== 'number' || !Number.isFinite(number) || number < 0) continue
      this.taken.push(name)
      return number
    }
    return undefined
  }

  count(...names: readonly string[]): number | undefined {
    const number = this.number(...names)
    return number !== undefined && Number.isSafeInteger(number) ? number : undefined
  }

  /** Whether an attribute is false, as a boolean or a string. */
  isFalse(name: string): boolean {
    return String(this.get(name)) === 'false'
  }
}

const REDACTED = '<REDACTED>'
const messageOf = (role: string, text: string | undefined): Json =>
  text === undefined || text === REDACTED ? undefined : [{ role, content: text }]

type Read = Omit<AgentEvent, 'taken'>
type Reader = (event: string, attributes: Attributes) => Read | undefined

type About = Pick<AgentEvent, 'session' | 'prompt'>

const promptOf = (about: About, callId: string | undefined, text: string | undefined): Read => ({
  ...{ kind: 'prompt', ...about, callId, ends: true },
  input: messageOf('user', text)
})

/** Reads the end of a model request whose id is in the attribute `id`. */
const requestOf = (attributes: Attributes, about: About, id: string): Read => ({
  ...{ kind: 'request', ...about, callId: attributes.text(id), ends: true },
  ...{ model: attributes.text('model'), durationMs: attributes.number('duration_ms') }
})

/** Reads the end of a tool use. `names` holds the names of the attributes that differ by agent. */
function toolUseOf(
  attributes: Attributes,
  about: About,
  names: { id: string; tool: string; input: readonly string[]; output?: readonly string[]; error?: string },
  failed = attributes.isFalse('success')
): Read {
  return {
    ...{ kind: 'tool', ...about, callId: attributes.text(names.id), ends: true },
    ...{ tool: attributes.text(names.tool), durationMs: attributes.number('duration_ms') },
    input: readForm(attributes.text(...names.input), 'loose'),
    output: readForm(attributes.text(...(names.output ?? [])), 'loose'),
    ...(failed && { failure: (names.error && attributes.text(names.error)) ?? '' })
  }
}

/**
 * Reads Claude Code's records (https://docs.claude.com/en/docs/claude-code/monitoring-usage). Input tokens exclude
 * cached tokens.
 */
const claudeCode: Reader = (event, attributes) => {
  const session = attributes.text('session.id')
  if (session === undefined) return undefined
  const prompt = attributes.text('prompt.id') ?? ''
  const about = { session, prompt }
  switch (event) {
    case 'user_prompt': {
      const text = attributes.text('prompt', 'prompt_text')
      attributes.get('prompt_text')
      return promptOf(about, prompt, text)
    }
    case 'assistant_response':
      return {
        ...{ kind: 'request' as const, ...about, callId: attributes.text('request_id'), ends: false },
        output: messageOf('assistant', attributes.text('response'))
      }
    case 'api_request': {
      const cacheReadTokens = attributes.count('cache_read_tokens')
      const cacheWriteTokens = attributes.count('cache_creation_tokens')
      const usage = {
        inputTokens: sumKnown([attributes.count('input_tokens'), cacheReadTokens, cacheWriteTokens]) ?? undefined,
        outputTokens: attributes.count('output_tokens'),
        cacheReadTokens,
        cacheWriteTokens
      }
      const request = requestOf(attributes, about, 'request_id')
      return { ...request, usage, costUsd: attributes.number('cost_usd'), provider: 'anthropic' }
    }
    case 'api_error': {
      const request = requestOf(attributes, about, 'request_id')
      return { ...request, provider: 'anthropic', failure: attributes.text('error') ?? '' }
    }
    case 'tool_decision':
      return { kind: 'tool', ...about, callId: attributes.text('tool_use_id'), ends: false }
    case 'tool_result':
      return toolUseOf(attributes, about, {
        ...{ id: 'tool_use_id', tool: 'tool_name', error: 'error' },
        ...{ input: ['tool_input', 'tool_parameters'], output: ['tool_output', 'tool_result', 'output'] }
      })
    default:
      return undefined
  }
}

/**
 * Reads Codex's records. The records do not name a prompt, and records of model requests do not name a trace. Input
 * tokens include cached tokens.
 */
const codex: Reader = (event, attributes) => {
  const session = attributes.text('conversation.id')
  if (session === undefined) return undefined
  const about = { session, prompt: '' }
  switch (event) {
    case 'user_prompt':
      return promptOf(about, undefined, attributes.text('prompt'))
    case 'sse_event': {
      const inputTokens = attributes.count('input_token_count')
      if (inputTokens === undefined) return undefined
      const usage = {
        inputTokens,
        outputTokens: attributes.count('output_token_count'),
        cacheReadTokens: attributes.count('cached_token_count'),
        cacheWriteTokens: attributes.count('cache_write_token_count'),
        reasoningTokens: attributes.count('reasoning_token_count')
      }
      return { kind: 'request', ...about, callId: undefined, ends: true, usage, model: attributes.text('model') }
    }
    case 'tool_decision':
      return { kind: 'tool', ...about, callId: attributes.text('call_id'), ends: false }
    case 'tool_result': {
      const use = toolUseOf(attributes, about, { id: 'call_id', tool: 'tool_name', input: ['arguments'] })
      // The output is text, even if it looks like JSON.
      return { ...use, output: attributes.text('output') }
    }
    default:
      return undefined
  }
}

/** Reads the records of Gemini CLI and of its fork Qwen Code. */
const geminiCli: Reader = (event, attributes) => {
  const session = attributes.text('session.id')
  if (session === undefined) return undefined
  const prompt = attributes.text('prompt_id') ?? ''
  const about = { session, prompt }
  switch (event) {
    case 'user_prompt':
      return promptOf(about, prompt, attributes.text('prompt'))
    case 'api_response': {
      const reasoningTokens = attributes.count('thoughts_token_count')
      const usage = {
        inputTokens: attributes.count('input_token_count'),
        outputTokens: outputOf(attributes, reasoningTokens),
        cacheReadTokens: attributes.count('cached_content_token_count'),
        reasoningTokens
      }
      const request = requestOf(attributes, about, 'response_id')
      return { ...request, usage, output: answerOf(attributes.text('response_text')) }
    }
    case 'api_error': {
      const request = requestOf(attributes, about, 'response_id')
      return { ...request, failure: attributes.text('error', 'error_message') ?? '' }
    }
    case 'tool_call':
      return toolUseOf(attributes, about, {
        id: 'call_id',
        tool: 'function_name',
        input: ['function_args'],
        error: 'error'
      })
    default:
      return undefined
  }
}

/** Returns the messages of a Gemini API response, or any other text as a single message. */
function answerOf(text: string | undefined): Json {
  const responses = readForm(text, 'loose')
  const candidates = listOf(responses).flatMap(response => listOf(memberOf(response, 'candidates')))
  if (candidates.length === 0) return messageOf('assistant', text)
  // A stream is a list of responses, each with the next part of the same candidates.
  const messages = new Map<number, Json[]>()
  for (const candidate of candidates) {
    const index = Number(memberOf(candidate, 'index') ?? 0)
    const parts = listOf(memberOf(memberOf(candidate, 'content'), 'parts')).map(partOf)
    messages.set(index, [...(messages.get(index) ?? []), ...parts])
  }
  return [...messages.values()].map(parts => ({ role: 'assistant', parts: joinTexts(parts) }))
}

/** Joins consecutive text parts. */
function joinTexts(parts: readonly Json[]): readonly Json[] {
  const joined: Json[] = []
  for (const part of parts) {
    const before = textOf(joined.at(-1))
    const text = textOf(part)
    if (before === undefined || text === undefined) joined.push(part)
    else joined[joined.length - 1] = { type: 'text', content: before + text }
  }
  return joined
}

function textOf(part: Json): string | undefined {
  const content = memberOf(part, 'type') === 'text' ? memberOf(part, 'content') : undefined
  return typeof content === 'string' ? content : undefined
}

function partOf(part: Json): Json {
  const text = memberOf(part, 'text')
  if (text !== undefined) return { type: 'text', content: text }
  const call = memberOf(part, 'functionCall')
  if (call === undefined) return part
  const [id, name, args] = ['id', 'name', 'args'].map(member => memberOf(call, member))
  return { type: 'tool_call', id, name, arguments: args }
}

const listOf = (value: Json): readonly Json[] => (Array.isArray(value) ? value : [])

/**
 * Returns the output count with thoughts included. If Gemini's own count excludes them, the total exceeds input plus
 * output.
 */
function outputOf(attributes: Attributes, thoughts: number | undefined): number | undefined {
  const [input, output, total] = ['input_token_count', 'output_token_count', 'total_token_count'].map(name =>
    attributes.count(name)
  )
  if (output === undefined || thoughts === undefined || total === undefined) return output
  return (input ?? 0) + output + thoughts === total ? output + thoughts : output
}

/**
 * Reads the records of GitHub Copilot Chat in VS Code, which reports model calls as events of the GenAI conventions.
 */
const copilotChat: Reader = (event, attributes) => {
  const session = attributes.text('gen_ai.conversation.id', 'session.id', 'copilot_chat.session_id')
  if (session === undefined || event !== 'tool.call') return undefined
  const failed = attributes.isFalse('success') || attributes.isFalse('gen_ai.tool.success')
  const names = {
    ...{ id: 'gen_ai.tool.call.id', tool: 'gen_ai.tool.name', error: 'error.type' },
    ...{ input: ['gen_ai.tool.call.arguments'], output: ['gen_ai.tool.call.result'] }
  }
  return toolUseOf(attributes, { session, prompt: '' }, names, failed)
}

const READERS: readonly (readonly [prefix: string, read: Reader])[] = [
  ['claude_code.', claudeCode],
  ['codex.', codex],
  ['gemini_cli.', geminiCli],
  ['qwen-code.', geminiCli],
  ['copilot_chat.', copilotChat]
]
/** Scopes whose event names lack the agent's prefix. */
const SCOPES: Readonly<Record<string, string>> = { 'com.anthropic.claude_code.events': 'claude_code.' }

/**
 * Returns the event name with the agent's prefix if the record comes from an agent; otherwise the record's own name.
 */
export function nameOfAgentEvent(record: LogRecord): string {
  const name = nameOfEvent(record)
  const prefix = SCOPES[record.origin.scopeName]
  return prefix === undefined || name === '' || name.startsWith(prefix) ? name : prefix + name
}

/** Reads a coding agent's record. Returns undefined for other records. */
export function readAgentEvent(record: LogRecord): AgentEvent | undefined {
  const name = nameOfAgentEvent(record)
  const [prefix, read] = READERS.find(([prefix]) => name.startsWith(prefix)) ?? []
  if (prefix === undefined || read === undefined) return undefined
  const attributes = new Attributes(record)
  const event = read(name.slice(prefix.length), attributes)
  return event === undefined ? undefined : { ...event, taken: attributes.taken }
}
