import t from 'tap'
import { keyValues } from '../../../fixtures/bodies/otlp.ts'
import { mapFrom, mapOne } from '../mapped.ts'

const event = (name: string, attributes: object) => ({ name, timeUnixNano: '1', attributes: keyValues(attributes) })

t.test("Claude Code's counts exclude the cache, and its GenAI counts are not added to them", async t => {
  const net = { input_tokens: 12, output_tokens: 340, cache_read_tokens: '18000', cache_creation_tokens: 900 }
  const name = 'claude_code.llm_request'
  const parts = { cacheReadTokens: 18_000, cacheWriteTokens: 900 }
  const usage = { inputTokens: 18_912, outputTokens: 340 }
  const before = mapOne({ name, attributes: { 'gen_ai.request.model': 'm', ...net } })
  t.match(before, { kind: 'llm', model: 'm', callDetails: parts })
  t.strictSame(before.usage, usage)
  t.strictSame(mapOne({ name, attributes: { ...net, cache_read_tokens: 3, cache_creation_tokens: 0 } }).usage, {
    inputTokens: 15,
    outputTokens: 340
  })
  const genAi = { 'gen_ai.usage.input_tokens': 18_912, 'gen_ai.usage.output_tokens': 340 }
  const cached = { 'gen_ai.usage.cache_read.input_tokens': 18_000, 'gen_ai.usage.cache_write.input_tokens': 900 }
  t.strictSame(
    mapOne({ name, attributes: { ...net, ...genAi, ...cached } }).usage,
    usage,
    'gross counts take precedence'
  )
  t.strictSame(mapOne({ name, attributes: { ...net, ...genAi } }).usage, usage)
  const half = { ...net, 'gen_ai.usage.output_tokens': 340 }
  t.strictSame(mapOne({ name, attributes: half }).usage, usage, 'each count under its own name')
  t.equal(mapOne({ name: 'other', attributes: net }).usage, undefined, 'the names are too general for other dialects')
})

t.test('Claude Code: prompts, arguments and outputs', async t => {
  t.match(mapOne({ name: 'claude_code.interaction', attributes: { user_prompt: 'fix it' } }), {
    kind: 'agent',
    input: 'fix it',
    attributes: { user_prompt: undefined }
  })
  const redacted = mapOne({ name: 'claude_code.interaction', attributes: { user_prompt: '<REDACTED>' } })
  t.match(redacted, { input: undefined, attributes: { user_prompt: '<REDACTED>' } })
  t.equal(mapOne({ name: 'mine', attributes: { user_prompt: 'fix it' } }).input, undefined)
  const name = 'claude_code.tool'
  const output = event('tool.output', { bash_command: 'ls', output: 'a.txt' })
  t.match(mapOne({ name, attributes: { tool_name: 'Bash', full_command: 'ls' }, events: [output] }), {
    kind: 'tool',
    name: 'Bash',
    input: 'ls',
    output: 'a.txt',
    events: [{ name: 'tool.output', attributes: { output: 'a.txt' } }]
  })
  t.match(mapOne({ name, attributes: { 'gen_ai.tool.name': 'Bash', tool_name: 'other' }, events: [output] }), {
    name: 'Bash',
    input: 'ls'
  })
  t.match(mapOne({ name, attributes: { tool_input: '{"path":"a"}' } }), { input: { path: 'a' }, output: undefined })
  const edited = event('tool.output', { file_path: 'a', diff: '+b' })
  t.match(mapOne({ name, attributes: { file_path: 'a' }, events: [edited] }), {
    input: { file_path: 'a' },
    output: { file_path: 'a', diff: '+b' }
  })
  t.equal(mapOne({ name: 'claude_code.tool.execution', attributes: { 'gen_ai.tool.call.id': 'c' } }).kind, 'custom')
})

t.test('Codex: turns, usage and sessions', async t => {
  const turn = {
    'codex.turn.token_usage.input_tokens': '35806',
    'codex.turn.token_usage.cached_input_tokens': '35634',
    'codex.turn.token_usage.cache_write_input_tokens': '0',
    'codex.turn.token_usage.output_tokens': '240',
    'codex.turn.token_usage.reasoning_output_tokens': '128',
    'codex.turn.token_usage.total_tokens': '36046',
    model: 'gpt-5.1-codex'
  }
  const mapped = mapOne({ name: 'session_task.turn', attributes: turn })
  t.match(mapped, {
    kind: 'agent',
    model: 'gpt-5.1-codex',
    callDetails: { cacheReadTokens: 35_634, cacheWriteTokens: 0, reasoningTokens: 128 }
  })
  t.strictSame(mapped.usage, { inputTokens: 35_806, outputTokens: 240, totalTokens: 36_046 })
  t.match(mapOne({ name: 'get_model_info', attributes: { model: 'm' } }), { kind: 'custom', model: undefined })
  const ids = { 'conversation.id': 'c', 'thread.id': '7' }
  const codex = { 'service.name': 'codex_cli_rs' }
  t.equal(mapFrom(codex, { attributes: ids }).hints.sessionId, 'c')
  t.equal(mapFrom(codex, { attributes: { thread_id: 't' } }).hints.sessionId, 't')
  t.equal(mapFrom(codex, { attributes: { 'thread.id': '7' } }).hints.sessionId, undefined, 'a thread of the process')
  t.equal(mapFrom(codex, { attributes: { ...ids, 'session.id': 's' } }).hints.sessionId, 's')
  t.equal(mapOne({ attributes: { ...ids, 'codex.turn.phase': 'sampling' } }).hints.sessionId, 'c')
  t.equal(mapOne({ attributes: ids }).hints.sessionId, undefined, 'not from Codex')
  t.equal(mapFrom({ 'service.name': 'codexes' }, { attributes: ids }).hints.sessionId, undefined)
})

t.test('Gemini CLI: tools by call', async t => {
  const call = { callId: 'c', name: 'read', args: { path: 'a' } }
  const part = { functionResponse: { id: 'c', name: 'read', response: { output: 'text' } } }
  const result = { status: 'success', request: call, response: { callId: 'c', responseParts: [part] } }
  const attributes = {
    'gen_ai.operation.name': 'tool_call',
    'gen_ai.tool.name': 'read',
    'gen_ai.input.messages': JSON.stringify(call),
    'gen_ai.output.messages': JSON.stringify(result)
  }
  t.match(mapOne({ name: 'tool_call', attributes }), {
    kind: 'tool',
    name: 'read',
    input: { path: 'a' },
    output: { output: 'text' }
  })
  const failed = { status: 'error', response: { resultDisplay: 'no such file' } }
  t.equal(
    mapOne({ attributes: { ...attributes, 'gen_ai.output.messages': JSON.stringify(failed) } }).output,
    'no such file'
  )
})

t.test('Goose: JSON under its own names', async t => {
  const attributes = {
    usage_details_json: '{"input":100,"output":20,"total":120,"input_cached_tokens":40}',
    cost_details_json: '{"input":0.25,"output":0.5}',
    input_json: '[{"role":"user","content":"hi"}]',
    output_json: '{"role":"assistant","content":"yes"}',
    model: 'goose-m'
  }
  const call = mapOne({ name: 'provider_generation', attributes })
  t.match(call, {
    kind: 'llm',
    model: 'goose-m',
    costUsd: 0.75,
    input: [{ role: 'user', content: 'hi' }],
    output: { role: 'assistant', content: 'yes' },
    callDetails: { cacheReadTokens: 40 }
  })
  t.strictSame(call.usage, { inputTokens: 100, outputTokens: 20, totalTokens: 120 })
  const agent = { 'gen_ai.operation.name': 'invoke_agent', trace_input: 'ask', trace_output: 'answer' }
  t.match(mapOne({ name: 'invoke_agent goose', attributes: agent }), {
    input: 'ask',
    output: 'answer',
    hints: { input: '"ask"', output: '"answer"', ownName: 'invoke_agent goose' }
  })
})

t.test('a cost under each name', async t => {
  for (const name of [
    'gen_ai.usage.cost',
    'gen_ai.usage.total_cost',
    'gen_ai.usage.cost_usd',
    'gen_ai.cost.total',
    'gen_ai.cost.total_cost',
    'cost_usd',
    'trace.metadata.openrouter.total_cost',
    'operation.cost',
    'llm.cost.total'
  ]) {
    for (const cost of [0.25, '0.25', 0]) {
      const { costUsd, attributes } = mapOne({ attributes: { [name]: cost } })
      t.equal(costUsd, Number(cost), name)
      t.equal(attributes[name], undefined)
    }
    t.equal(mapOne({ attributes: { [name]: -1 } }).costUsd, undefined)
  }
})
