/** Tests transcripts of Codex that differ from the fixtures of version 0.171.0. */
import t from 'tap'
import { CodexTranscript } from '../../../../lib/moving/transcripts/codex.ts'
import { outlineOf, stepsOf, type TestLine } from './transcripts.ts'

let lines = 0
function line(type: string, payload: TestLine): TestLine {
  lines++
  return { timestamp: new Date(Date.UTC(2026, 0, 1) + lines * 1000).toISOString(), type, payload }
}
const event = (type: string, more: TestLine = {}) => line('event_msg', { type, ...more })
const item = (type: string, more: TestLine = {}) => line('response_item', { type, ...more })
const meta = (more: TestLine = {}) => line('session_meta', { id: 'thread', cli_version: '0.40.0', cwd: '/x', ...more })
const answer = (text: string) => item('message', { role: 'assistant', content: [{ type: 'output_text', text }] })
const count = (input: number, total = input) =>
  event('token_count', {
    info: {
      total_token_usage: { input_tokens: total },
      last_token_usage: { input_tokens: input, cached_input_tokens: 2, output_tokens: 4, reasoning_output_tokens: 1 }
    }
  })

const convert = (lines: readonly TestLine[], quietMs = 0) => stepsOf(new CodexTranscript(), lines, quietMs)

t.test('an old transcript, without turn and response ids', t => {
  const steps = convert(
    [
      meta(),
      item('message', { role: 'user', content: [{ type: 'input_text', text: '<environment_context>…' }] }),
      event('user_message', { message: 'Go.' }),
      line('turn_context', { model: 'gpt-old' }),
      event('token_count', { info: null }),
      item('function_call', { name: 'shell', arguments: '{"command":["ls"]}', call_id: 'c1' }),
      item('function_call', { name: 'shell', arguments: 'not json', call_id: 'c2' }),
      count(10),
      item('function_call_output', { call_id: 'c1', output: '{"output":"a\\n","metadata":{"exit_code":0}}' }),
      item('function_call_output', { call_id: 'c2', output: '{"output":"b\\n","metadata":{"exit_code":2}}' }),
      count(10),
      answer('Done.'),
      count(20, 30),
      event('user_message', { message: 'Next.' }),
      answer('Yes.')
    ],
    600_000
  )
  t.same(outlineOf(steps), [
    'codex > chat gpt-old ok',
    'codex > execute_tool shell ok',
    'codex > execute_tool shell error',
    'codex > chat gpt-old ok',
    'root > invoke_agent codex ok',
    'codex > chat ok',
    'root > invoke_agent codex ok'
  ])
  t.match(steps[0]?.attributes, {
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.cache_read.input_tokens': 2,
    'gen_ai.usage.reasoning.output_tokens': 1
  })
  t.match(steps[2], {
    message: 'exit code 2',
    attributes: { 'gen_ai.tool.call.arguments': 'not json', 'gen_ai.tool.call.result': '"b\\n"' }
  })
  t.match(steps[4]?.attributes['gen_ai.input.messages'], /Go\./)
  t.equal(new Set(steps.map(({ traceId }) => traceId)).size, 2)
  t.end()
})

t.test('failures are those that events, results and refusals report', t => {
  const statusOf = (output: unknown, ...events: TestLine[]) =>
    convert([
      meta(),
      event('task_started', { turn_id: 'turn' }),
      item('custom_tool_call', { name: 'tool', input: 'x', call_id: 'c' }),
      ...events,
      item('custom_tool_call_output', { call_id: 'c', output })
    ])[0]?.status
  const completed = (more: TestLine) => event('item_completed', { item: { id: 'c', ...more } })
  for (const [expected, output, ...events] of [
    ['ok', 'Process exited with code 0\nOutput:\nProcess exited with code 1'],
    ['error', 'Wall time: 0 s\nProcess exited with code 1\nOutput:\n'],
    ['error', 'unsupported call: tool'],
    ['ok', 'an unsupported call: tool'],
    ['error', { content: 'x', success: false }],
    ['error', 'x', event('exec_command_end', { call_id: 'c', exit_code: 1 })],
    ['ok', 'x', event('exec_command_end', { call_id: 'c', exit_code: 0 })],
    ['error', 'x', event('mcp_tool_call_end', { call_id: 'c', result: { Err: 'down' } })],
    ['error', 'x', event('mcp_tool_call_end', { call_id: 'c', result: { Ok: { isError: true } } })],
    ['error', 'x', completed({ type: 'CommandExecution', status: 'failed' })],
    ['error', 'x', completed({ type: 'McpToolCall', status: 'failed', error: { message: 'down' } })],
    ['ok', 'x', completed({ type: 'CommandExecution', status: 'completed', exit_code: 0 })]
  ] as [string, unknown, ...TestLine[]][]) {
    t.equal(statusOf(output, ...events), expected, JSON.stringify([output, events.map(({ payload }) => payload)]))
  }
  t.end()
})

t.test('an aborted turn, a failed turn, and a turn that the next one ends', t => {
  const begin = (turn_id: string) => event('task_started', { turn_id })
  const steps = convert([
    meta(),
    begin('a'),
    item('function_call', { name: 'shell', arguments: '{}', call_id: 'c1' }),
    event('turn_aborted', { turn_id: 'a', reason: 'interrupted' }),
    begin('b'),
    event('error', { message: 'quota exceeded' }),
    event('task_complete', { turn_id: 'b' }),
    begin('c'),
    answer('Done.'),
    begin('d')
  ])
  t.same(outlineOf(steps), [
    ...['codex > chat ok', 'codex > execute_tool shell error', 'root > invoke_agent codex unset'],
    'root > invoke_agent codex error',
    ...['codex > chat ok', 'root > invoke_agent codex ok']
  ])
  t.equal(steps[3]?.message, 'quota exceeded')
  t.end()
})

t.test('arguments that are nested too deeply are text', t => {
  const text = '['.repeat(100_000) + ']'.repeat(100_000)
  const call = item('function_call', { name: 'tool', arguments: text, call_id: 'c' })
  const steps = convert([
    meta(),
    event('task_started'),
    call,
    item('function_call_output', { call_id: 'c', output: '' })
  ])
  t.equal(steps[0]?.attributes['gen_ai.tool.call.arguments'], text)
  t.end()
})

t.test('lines of any form are read', t => {
  const odd = [{}, line('event_msg', {}), event('item_completed'), event('token_count', { info: 7 }), item('message')]
  const calls = [
    item('function_call'),
    item('function_call', { call_id: 'c' }),
    item('function_call_output', { call_id: 'c' })
  ]
  const some = [...odd, ...calls, item('web_search_call', { status: 'completed' }), line('token_usage_record', {})]
  t.doesNotThrow(() => convert([...some, meta(), ...some, event('task_started'), ...some, ...some], 600_000))
  t.end()
})
