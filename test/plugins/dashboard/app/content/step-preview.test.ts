import fc from 'fast-check'
import t from 'tap'
import {
  answerOf,
  mainArgument,
  previewOfStep,
  promptOf
} from '../../../../../plugins/dashboard/app/content/step-preview.ts'

t.test("a call's main argument", async t => {
  t.equal(mainArgument({ limit: 5, command: 'ls -la', cwd: '/' }), 'ls -la')
  t.equal(mainArgument('{"file_path":"a.ts","content":"long"}'), 'a.ts', 'of arguments encoded as JSON in a string')
  t.equal(mainArgument({ arguments: '{"query":"red shoes"}' }), 'red shoes', 'of wrapped arguments')
  t.equal(mainArgument({ input: 'plain' }), 'plain')
  t.equal(mainArgument({ cmd: ['git', 'log'] }), 'git log')
  t.equal(mainArgument({ order: 48213 }), 'order: 48213', 'with its name, if the name is unusual')
  t.equal(mainArgument(['a', 1]), 'a 1')
  t.equal(mainArgument({ nested: { deep: true } }), '')
  const call = { id: 'call_1', type: 'function', function: { name: 'open', arguments: '{"path":"a.ts"}' } }
  t.equal(mainArgument([call]), 'open a.ts', "of a model's call recorded as the tool's input")
  t.equal(mainArgument([call, call]), 'open a.ts, open a.ts')
  t.equal(mainArgument({ type: 'tool_use', id: 't1', name: 'open', input: { path: 'a.ts' } }), 'open a.ts')
  t.equal(mainArgument({ name: 'open', args: { path: 'a.ts' }, id: '1', type: 'tool_call' }), 'open a.ts')
  t.equal(mainArgument({ type: 'tool-call', toolCallId: '1', toolName: 'open', args: { path: 'a.ts' } }), 'open a.ts')
  t.equal(mainArgument({ functionCall: { name: 'open', args: { path: 'a.ts' } } }), 'open a.ts')
  t.equal(mainArgument({ name: 'list', arguments: {} }), 'list')
  t.equal(mainArgument({ name: 'Ada', args: 1, more: true }), 'Ada', 'not of arguments with a known name')
  for (const nothing of [undefined, null, {}, [], '']) t.equal(mainArgument(nothing), '')
})

t.test("a model's answer is its text or, without text, its calls", async t => {
  const call = { id: '1', type: 'function', function: { name: 'search', arguments: '{"q":"tea"}' } }
  t.equal(answerOf({ choices: [{ message: { role: 'assistant', content: 'Hello.' } }] }), 'Hello.')
  t.equal(answerOf({ role: 'assistant', content: '', tool_calls: [call, call] }), '→ search tea, → search tea')
  t.equal(answerOf({ role: 'assistant', content: 'I look.', tool_calls: [call] }), 'I look.')
  t.equal(answerOf('{"city":"Ghent"}'), '{"city":"Ghent"}')
  t.equal(answerOf({ score: 0.5 }), 'score: 0.5')
  t.equal(answerOf(undefined), '')
})

t.test("a prompt is the user's message that has no answer yet", async t => {
  const asked = { role: 'user', content: 'And now?' }
  t.equal(promptOf([{ role: 'assistant', content: 'Hello.' }, asked]), 'And now?')
  t.equal(promptOf([asked, { role: 'assistant', content: 'Hello.' }]), '')
  t.equal(promptOf([asked, { role: 'tool', tool_call_id: '1', content: 'x' }]), '')
  t.equal(promptOf('Hello?'), 'Hello?')
  const added = '<system-reminder>\nBe careful.\n</system-reminder>\nAnd now?'
  t.equal(promptOf([{ role: 'user', content: added }]), 'And now?', 'without additions by a coding agent')
  t.equal(promptOf('<system-reminder>x</system-reminder>'), '<system-reminder>x</system-reminder>')
  const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: '1', content: 'x' }] }
  t.equal(promptOf([asked, result]), '', "Anthropic's tool results are in user messages")
})

t.test('each kind of step shows its most informative part', async t => {
  t.equal(previewOfStep('llm', [{ role: 'user', content: 'Q' }], 'A'), 'A')
  t.equal(previewOfStep('tool', { path: 'a' }, 'long result'), 'a')
  t.equal(previewOfStep('tool', undefined, { found: 3 }), '3')
  t.equal(previewOfStep('tool', 'I look.\n```\nls -la\n```\n', ''), 'ls -la', 'a command with an explanation')
  t.equal(previewOfStep('tool', 'I look.\n```\n```', ''), 'I look.\n```\n```')
  t.equal(previewOfStep('agent', [{ role: 'user', content: 'Q' }], 'A'), 'Q')
  t.equal(previewOfStep('agent', undefined, 'A'), 'A')
  t.equal(previewOfStep('custom', { rows: 2 }, null), 'rows: 2')
})

t.test('a large value takes linear time and little stack', async t => {
  const many = Array.from({ length: 300_000 }, (_, i) => ({ i }))
  t.equal(previewOfStep('tool', many, null), '0 1 2 3 4 5 6 7')
  const opened = '<system-reminder>'.repeat(40_000)
  t.equal(promptOf(opened).length, opened.length)
  t.equal(promptOf(`${'<system-reminder>x</system-reminder>'.repeat(20_000)}now`), 'now')
})

t.test('any recorded value has a text preview', async () => {
  const kinds = fc.constantFrom('llm', 'tool', 'agent', 'custom', 'retriever')
  fc.assert(
    fc.property(kinds, fc.jsonValue(), fc.jsonValue(), (kind, input, output) => {
      return typeof previewOfStep(kind, input, output) === 'string' && typeof promptOf(input) === 'string'
    })
  )
})
