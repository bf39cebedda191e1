import t from 'tap'
import { nameOfAgentEvent, readAgentEvent } from '../../../../lib/otlp/agents/agent-events.ts'
import type { LogRecord } from '../../../../lib/otlp/logs/decode.ts'

const SCOPE = 'com.anthropic.claude_code.events'

function recordOf(name: string, attributes: object, scopeName = ''): LogRecord {
  return {
    origin: { resource: new Map(), scopeName },
    ...{ traceId: '', spanId: '', micros: 1, eventName: '', body: null, isUnsampled: false },
    attributes: new Map(Object.entries({ 'event.name': name, ...attributes }))
  }
}

const CLAUDE = { 'session.id': 's', 'prompt.id': 'p' }
const CODEX = { 'conversation.id': 's' }
const GEMINI = { 'session.id': 's', prompt_id: 'p' }
const COUNTS = { input_tokens: 12, output_tokens: '340', cache_read_tokens: 18000, cache_creation_tokens: 900 }

/** Event names, attributes, and the expected result. */
const EVENTS: readonly (readonly [string, object, object])[] = [
  ['claude_code.user_prompt', { ...CLAUDE, prompt: 'hi' }, { kind: 'prompt', prompt: 'p', input: [{ content: 'hi' }] }],
  ['claude_code.user_prompt', { ...CLAUDE, prompt: '<REDACTED>' }, { kind: 'prompt', input: undefined }],
  ['claude_code.assistant_response', { ...CLAUDE, response: 'ok', request_id: 'r' }, { callId: 'r', ends: false }],
  [
    'claude_code.api_request',
    { ...CLAUDE, ...COUNTS, cost_usd: '0.5', duration_ms: '9', model: 'm' },
    { usage: { inputTokens: 18912, outputTokens: 340 }, costUsd: 0.5, durationMs: 9, model: 'm', callId: undefined }
  ],
  ['claude_code.api_request', { ...CLAUDE, cost_usd: 0 }, { costUsd: 0, usage: { inputTokens: undefined } }],
  ['claude_code.api_request', { ...CLAUDE, cost_usd: -1, input_tokens: 'many' }, { costUsd: undefined }],
  ['claude_code.api_error', { ...CLAUDE, error: 'overloaded' }, { kind: 'request', ends: true, failure: 'overloaded' }],
  [
    'claude_code.tool_result',
    { ...CLAUDE, tool_use_id: 't', tool_name: 'Bash', success: 'false', tool_input: '{"a":1}' },
    { kind: 'tool', callId: 't', tool: 'Bash', input: { a: 1 }, failure: '' }
  ],
  ['claude_code.tool_result', { ...CLAUDE, success: true }, { failure: undefined, input: undefined }],
  ['codex.user_prompt', { ...CODEX, prompt: 'hi' }, { kind: 'prompt', prompt: '', input: [{ content: 'hi' }] }],
  [
    'codex.sse_event',
    { ...CODEX, input_token_count: '17903', cached_token_count: '17817', output_token_count: '120' },
    { kind: 'request', usage: { inputTokens: 17903, cacheReadTokens: 17817, outputTokens: 120 } }
  ],
  [
    'codex.tool_result',
    { ...CODEX, call_id: 'c', arguments: '{}', output: 'x' },
    { callId: 'c', input: {}, output: 'x' }
  ],
  [
    'gemini_cli.api_response',
    { ...GEMINI, input_token_count: 5, output_token_count: 2, thoughts_token_count: 1, total_token_count: 8 },
    { usage: { inputTokens: 5, outputTokens: 3 } }
  ],
  [
    'qwen-code.api_response',
    { ...GEMINI, input_token_count: 5, output_token_count: 2, thoughts_token_count: 1, total_token_count: 7 },
    { usage: { inputTokens: 5, outputTokens: 2 } }
  ],
  [
    'gemini_cli.api_response',
    {
      ...GEMINI,
      response_text: '[{"candidates":[{"content":{"parts":[{"text":"yes"},{"functionCall":{"name":"f"}}]}}]}]'
    },
    { output: [{ role: 'assistant', parts: [{ content: 'yes' }, { type: 'tool_call', name: 'f' }] }] }
  ],
  [
    'gemini_cli.api_response',
    {
      ...GEMINI,
      response_text: JSON.stringify([
        { candidates: [{ index: 0, content: { parts: [{ text: 'It is ' }] } }] },
        { candidates: [{ index: 0, content: { parts: [{ text: 'sunny.' }, { functionCall: { name: 'f' } }] } }] }
      ])
    },
    { output: [{ role: 'assistant', parts: [{ content: 'It is sunny.' }, { type: 'tool_call', name: 'f' }] }] }
  ],
  ['qwen-code.tool_call', { ...GEMINI, function_name: 'ls', success: true }, { kind: 'tool', tool: 'ls' }],
  [
    'copilot_chat.tool.call',
    { 'gen_ai.conversation.id': 's', 'gen_ai.tool.name': 'readFile', 'gen_ai.tool.call.id': 'c', success: false },
    { kind: 'tool', tool: 'readFile', callId: 'c', failure: '' }
  ]
]

t.test("coding agents' events state the data of their calls", t => {
  for (const [name, attributes, expected] of EVENTS) {
    t.match(readAgentEvent(recordOf(name, attributes)), { session: 's', ...expected }, name)
  }
  t.end()
})

t.test('events without a session, of other kinds, or of other programs are ignored', t => {
  t.equal(readAgentEvent(recordOf('claude_code.api_request', { model: 'm' })), undefined)
  t.equal(readAgentEvent(recordOf('claude_code.plugin_loaded', CLAUDE)), undefined)
  t.equal(readAgentEvent(recordOf('codex.sse_event', CODEX)), undefined, 'without tokens')
  t.equal(readAgentEvent(recordOf('user_prompt', CLAUDE)), undefined)
  t.equal(readAgentEvent(recordOf('', CLAUDE, SCOPE)), undefined)
  t.end()
})

t.test("the names of Claude Code's events may lack the prefix", t => {
  t.match(readAgentEvent(recordOf('user_prompt', { ...CLAUDE, prompt: 'hi' }, SCOPE)), { kind: 'prompt' })
  t.match(readAgentEvent(recordOf('claude_code.user_prompt', CLAUDE, SCOPE)), { kind: 'prompt' })
  t.equal(nameOfAgentEvent(recordOf('plugin_loaded', {}, SCOPE)), 'claude_code.plugin_loaded')
  t.end()
})
