/**
 * Coding agents that use their own names in addition to OpenTelemetry's: Claude Code, Codex and Gemini CLI. Goose has a
 * separate table, because its names are so generic that every other convention takes precedence.
 */
import { type Json, memberOf } from '../../trace/json/exact-json.ts'
import { type AttributeSource, composed, type Dialect, json, loose } from '../dialect.ts'
import type { Fields } from '../fields.ts'
import type { DialectKind } from '../kind-names.ts'
import { readForm } from '../wire/attribute-values.ts'
import type { OtlpEvent } from '../wire/request.ts'

const CLAUDE_CODE = 'claude_code.'
const isClaudeCode = ({ spanName }: Fields): boolean => spanName.startsWith(CLAUDE_CODE)

/** Kinds of Claude Code's spans. A tool's waiting time and execution are child spans of the tool's own span. */
const CLAUDE_CODE_KINDS: Readonly<Record<string, DialectKind>> = {
  'claude_code.interaction': 'agent',
  'claude_code.llm_request': 'llm',
  'claude_code.tool': 'tool',
  'claude_code.tool.execution': 'custom',
  'claude_code.tool.blocked_on_user': 'custom'
}

/** Value that replaces a prompt whose content must not be recorded. */
const REDACTED = '<REDACTED>'

/**
 * Codex spans are recognised by their process or their attributes. Codex's `thread.id` identifies a thread of the
 * process, not a session.
 */
const isCodex = (fields: Fields): boolean => fields.sender.isCodex || fields.names('codex.').length > 0

export const codingAgents: Dialect = {
  kind(fields) {
    if (isClaudeCode(fields)) return CLAUDE_CODE_KINDS[fields.spanName]
    if (fields.has('codex.turn.token_usage.input_tokens') || fields.spanName === 'session_task.turn') return 'agent'
    return fields.get('codex.tool.phase') === 'dispatch' ? 'tool' : undefined
  },
  inputTokens: ['codex.turn.token_usage.input_tokens'],
  outputTokens: ['codex.turn.token_usage.output_tokens'],
  totalTokens: ['codex.turn.token_usage.total_tokens', 'codex.usage.total_tokens'],
  cacheReadTokens: ['codex.turn.token_usage.cached_input_tokens'],
  cacheWriteTokens: ['codex.turn.token_usage.cache_write_input_tokens'],
  reasoningTokens: [
    'codex.turn.token_usage.reasoning_output_tokens',
    'codex.usage.reasoning_output_tokens',
    // The name that Qwen Code uses.
    'thoughts_token_count'
  ],
  netCounts: {
    isNet: isClaudeCode,
    inputTokens: 'input_tokens',
    outputTokens: 'output_tokens',
    cacheReadTokens: 'cache_read_tokens',
    cacheWriteTokens: 'cache_creation_tokens'
  },
  input: [ofClaudeCode(readPrompt), ofClaudeCode(readArguments), composed(readGeminiArguments)],
  output: [
    ofClaudeCode(fields => fields.takeFirst(['response.model_output'])),
    ofClaudeCode(readToolOutput),
    composed(readGeminiResult)
  ],
  trace: { ownSessionId: { isOwn: isCodex, names: ['conversation.id', 'thread_id'] } }
}

export const goose: Dialect = {
  kind: () => undefined,
  callModel: ['model', 'model_name'],
  usageDetails: ['usage_details_json'],
  costDetails: ['cost_details_json'],
  cost: ['cost_usd'],
  input: [json('input_json'), loose('trace_input')],
  output: [json('output_json'), loose('trace_output')],
  names: { tool: ['tool_name'] },
  trace: { input: ['trace_input'], output: ['trace_output'] }
}

type Compose = (fields: Fields, events: readonly OtlpEvent[]) => Json

function ofClaudeCode(compose: Compose): AttributeSource {
  const source = composed(compose)
  return (fields, events, kind) => (isClaudeCode(fields) ? source(fields, events, kind) : undefined)
}

function readPrompt(fields: Fields): Json {
  const found = fields.find(['user_prompt', 'new_context'])
  if (found === undefined || found.value === REDACTED) return undefined
  fields.take(found.name)
  return found.value
}

/** Reads a tool's arguments: the full set, or only the command or path if a short form was sent. */
function readArguments(fields: Fields, events: readonly OtlpEvent[]): Json {
  const input = fields.takeFirst(['tool_input', 'full_command'])
  if (input !== undefined) return readForm(input, 'loose')
  const command = outputEvent(events)?.attributes.get('bash_command')
  if (command !== undefined) return command
  const path = fields.find(['file_path'])
  return path && { file_path: path.value }
}

/** Reads a tool's output. Tools other than a shell report the output in several attributes. */
function readToolOutput(_: Fields, events: readonly OtlpEvent[]): Json {
  const event = outputEvent(events)
  if (event === undefined || event.attributes.size === 0) return undefined
  const output = event.attributes.get('output')
  return output === undefined ? Object.fromEntries(event.attributes) : readForm(output, 'loose')
}

const outputEvent = (events: readonly OtlpEvent[]): OtlpEvent | undefined =>
  events.find(({ name }) => name === 'tool.output')

/** Gemini CLI sends a tool's call and result under the attribute names for messages, each wrapped in unrelated data. */
function readGeminiArguments(fields: Fields): Json {
  return memberOf(readGeminiCall(fields, 'gen_ai.input.messages'), 'args')
}

function readGeminiResult(fields: Fields): Json {
  const response = memberOf(readGeminiCall(fields, 'gen_ai.output.messages'), 'response')
  const parts = memberOf(response, 'responseParts')
  const results = Array.isArray(parts)
    ? parts.map(part => memberOf(memberOf(part, 'functionResponse'), 'response')).filter(item => item !== undefined)
    : []
  return results.length === 1 ? results[0] : (memberOf(response, 'resultDisplay') ?? parts ?? response)
}

function readGeminiCall(fields: Fields, name: string): Json {
  return fields.get('gen_ai.operation.name') === 'tool_call' ? readForm(fields.get(name), 'loose') : undefined
}
