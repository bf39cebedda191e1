/** Tests transcripts of Claude Code that differ from the fixtures of version 2.1.332. */
import t from 'tap'
import { ClaudeCodeTranscript } from '../../../../lib/moving/transcripts/claude-code.ts'
import { parseExact } from '../../../../lib/trace/json/exact-json.ts'
import { outlineOf, REAL_TRANSCRIPTS, stepsOf, type TestLine } from './transcripts.ts'

const SESSION = '11111111-1111-4111-8111-111111111111'
let lines = 0

/** Returns a line of the session, one second after the previous line. */
function line(type: string, more: TestLine): TestLine {
  lines++
  const timestamp = new Date(Date.UTC(2026, 0, 1) + lines * 1000).toISOString()
  return { type, uuid: `line ${lines}`, timestamp, sessionId: SESSION, version: '1.0.0', isSidechain: false, ...more }
}

const user = (content: unknown, more: TestLine = {}) => line('user', { message: { role: 'user', content }, ...more })

const assistant = (id: string, block: TestLine, stop: string | null = null, more: TestLine = {}, output = 1) =>
  line('assistant', {
    message: {
      ...{ id, role: 'assistant', model: 'claude-x', content: [block], stop_reason: stop },
      usage: { input_tokens: 3, cache_read_input_tokens: 10, cache_creation_input_tokens: 5, output_tokens: output }
    },
    ...more
  })

const text = (text: string) => ({ type: 'text', text })
const call = (id: string, name = 'Bash', input: TestLine = { command: 'ls' }) => ({ type: 'tool_use', id, name, input })
const result = (id: string, content: unknown, more: TestLine = {}) =>
  user([{ type: 'tool_result', tool_use_id: id, content, ...more }])

const convert = (lines: readonly TestLine[], quietMs = 0) => stepsOf(new ClaudeCodeTranscript(), lines, quietMs)

t.test("a message on several lines is one call with its final usage, even around its tools' results", t => {
  const steps = convert([
    user('Go.'),
    assistant('m1', { type: 'thinking', thinking: 'Hm.' }),
    assistant('m1', call('t1'), null, {}, 20),
    result('t1', 'one'),
    assistant('m1', call('t2'), 'tool_use', {}, 60),
    result('t2', [{ type: 'text', text: 'two' }], { is_error: true }),
    assistant('m2', text('Done.'), 'end_turn', {}, 7),
    user('Next.')
  ])
  t.same(outlineOf(steps), [
    'claude-code > execute_tool Bash ok',
    'claude-code > execute_tool Bash error',
    'claude-code > chat claude-x ok',
    'claude-code > chat claude-x ok',
    'root > invoke_agent claude-code ok'
  ])
  t.match(steps[2]?.attributes, {
    'gen_ai.usage.input_tokens': 18,
    'gen_ai.usage.output_tokens': 60,
    'gen_ai.usage.cache_read.input_tokens': 10,
    'gen_ai.usage.cache_creation.input_tokens': 5,
    'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: 'Go.' }] }])
  })
  t.match(steps[3]?.attributes['gen_ai.input.messages'], /"response":"one".*"response":"two"/)
  t.equal(steps[4]?.endMs, steps[3]?.endMs)
  t.end()
})

t.test('a pause finishes the last prompt: a short pause if its last message says that it ends', t => {
  const begin = [user('Go.'), assistant('m1', call('t1'), 'tool_use'), result('t1', 'one')]
  const silent = [...begin, assistant('m2', text('Done.'))]
  const ended = [...begin, assistant('m2', text('Done.'), 'end_turn')]
  t.equal(convert(silent, 599_000).length, 2)
  t.equal(convert(silent, 600_000).length, 4)
  t.equal(convert(ended, 9000).length, 2)
  t.equal(convert(ended, 10_000).length, 4)
  t.equal(convert(begin, 3_600_000).length, 1, 'a model call that is still running')
  t.equal(convert([...begin, assistant('m2', call('t2'), 'tool_use')], 3_600_000).length, 2, 'a tool that is running')
  t.equal(convert([...ended, line('system', { subtype: 'turn_duration' })]).length, 4)
  t.equal(convert([...ended, line('attachment', {})]).length, 2)
  t.end()
})

t.test('commands, their output, notes and summaries are not prompts', t => {
  const steps = convert([
    user('Caveat: …', { isMeta: true }),
    user('<command-name>/model</command-name>'),
    user('<local-command-stdout>Set model</local-command-stdout>'),
    user('<command-name>/review</command-name>'),
    user([text('Review the code.')], { isMeta: true }),
    assistant('m1', text('Fine.'), 'end_turn'),
    user('This session is continued …', { isCompactSummary: true }),
    user('<bash-input>ls</bash-input>'),
    user('Go on.'),
    assistant('m2', text('Gone.'), 'end_turn'),
    line('cost-state', {})
  ])
  t.same(outlineOf(steps), [
    ...['claude-code > chat claude-x ok', 'root > invoke_agent claude-code ok'],
    ...['claude-code > chat claude-x ok', 'root > invoke_agent claude-code ok']
  ])
  t.match(steps[1]?.attributes['gen_ai.input.messages'], /review/)
  t.end()
})

t.test('abandoned tool calls fail, and the root of an interrupted prompt stays unset', t => {
  const steps = convert([
    user('Go.'),
    assistant('m1', call('t1'), 'tool_use'),
    user([text('[Request interrupted by user for tool use]')]),
    user('And now?'),
    assistant('m2', call('t2'), 'tool_use'),
    user('Once more.')
  ])
  t.same(outlineOf(steps), [
    ...['claude-code > chat claude-x ok', 'root > invoke_agent claude-code unset'],
    'claude-code > execute_tool Bash error',
    ...[
      'claude-code > chat claude-x ok',
      'claude-code > execute_tool Bash error',
      'root > invoke_agent claude-code unset'
    ]
  ])
  t.equal(steps[2]?.message, 'the transcript has no result for this call')
  t.end()
})

t.test("a real session, with a message during the agent's work, and Escape", t => {
  const { lines } = REAL_TRANSCRIPTS.find(({ name }) => name.includes('521ebb33'))!
  const steps = convert(lines)
  t.same(outlineOf(steps), [
    ...['claude-code > execute_tool Bash ok', 'claude-code > chat claude-sonnet-4-5 ok'],
    ...['claude-code > chat claude-sonnet-4-5 ok', 'root > invoke_agent claude-code ok'],
    ...['claude-code > execute_tool Bash error', 'claude-code > chat claude-sonnet-4-5 ok'],
    'root > invoke_agent claude-code unset',
    ...['claude-code > chat claude-sonnet-4-5 ok', 'root > invoke_agent claude-code ok']
  ])
  t.match(steps[2]?.attributes['gen_ai.input.messages'], /tool_call_response.*Also this/)
  t.end()
})

t.test('subagents of old versions, whose lines are in the session, belong to the call that started them', t => {
  const aside = { isSidechain: true }
  const task = user('Count.', { ...aside, parentUuid: null })
  const first = assistant('m2', call('t2'), 'tool_use', { ...aside, parentUuid: task.uuid })
  const found: TestLine = { ...result('t2', '7'), ...aside, parentUuid: first.uuid }
  const steps = convert(
    [
      user('Go.'),
      assistant('m1', call('t1', 'Task', { prompt: 'Count.', subagent_type: 'counter' }), 'tool_use'),
      task,
      first,
      found,
      assistant('m3', text('Seven.'), 'end_turn', { ...aside, parentUuid: found.uuid }),
      result('t1', 'Seven.'),
      assistant('m4', text('There are seven.'), 'end_turn')
    ],
    10_000
  )
  t.same(outlineOf(steps), [
    'counter > execute_tool Bash ok',
    'counter > chat claude-x ok',
    'claude-code > execute_tool Task ok',
    'claude-code > chat claude-x ok',
    'claude-code > chat claude-x ok',
    'root > invoke_agent claude-code ok',
    'counter > chat claude-x ok',
    'Task > invoke_agent counter ok'
  ])
  t.equal(new Set(steps.map(({ traceId }) => traceId)).size, 1)
  t.end()
})

t.test('prompts are identified by their ids, and messages with the same request id by their message ids', t => {
  const request = { requestId: 'req_1' }
  const steps = convert([
    user('Go.', { promptId: 'p1' }),
    assistant('m1', call('t1'), 'tool_use', request),
    result('t1', 'one'),
    user('Faster!', { promptId: 'p1' }),
    assistant('m2', text('Done.'), 'end_turn', request),
    user('Next.', { promptId: 'p2' }),
    assistant('m3', text('Done.'), 'end_turn', request),
    user('Same id.', { promptId: 'p2' }),
    assistant('m4', text('Done.'), 'end_turn', request),
    line('cost-state', {})
  ])
  t.equal(new Set(steps.map(({ spanId }) => spanId)).size, steps.length)
  t.equal(new Set(steps.map(({ traceId }) => traceId)).size, 3)
  t.match(steps[2]?.attributes['gen_ai.input.messages'], /Faster!/)
  t.end()
})

t.test("a number in a tool's arguments keeps its notation", t => {
  const written = JSON.stringify(assistant('m1', call('t1'), 'tool_use')).replace('"ls"', '12345678901234567890')
  const steps = convert([user('Go.'), parseExact(written) as TestLine, result('t1', 'one')])
  t.equal(steps[0]?.attributes['gen_ai.tool.call.arguments'], '{"command":12345678901234567890}')
  t.end()
})

t.test('lines of any form are read', t => {
  const odd = [
    {},
    { type: 'user' },
    { type: 'user', timestamp: 7 },
    user(7),
    user(null),
    user([7, null, {}, { type: 'tool_result' }]),
    line('assistant', { message: 'none' }),
    line('assistant', { message: { content: [{ type: 'tool_use' }, 'x'] } }),
    line('assistant', { message: { id: 'm', usage: { input_tokens: -1, output_tokens: 1.5 } } })
  ]
  t.doesNotThrow(() => convert([...odd, ...odd], 600_000))
  t.end()
})
