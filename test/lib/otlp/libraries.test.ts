/** Tests where some libraries deviate from the conventions that they follow, as found by `npm run otlp-libraries`. */
import t from 'tap'
import { mapAttributes, mapFrom } from './mapped.ts'

const text = (content: string) => ({ type: 'text', content })
const user = { role: 'user', parts: [text('Sunny?')] }
const system = { role: 'system', parts: [text('Be short.')] }
const answer = { role: 'assistant', parts: [text('Yes.')] }
const instructions = JSON.stringify(system.parts)

t.test('pydantic-ai: a run has all messages in one list, and its result separately', async t => {
  const run = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.system_instructions': instructions }
  const messages = [user, answer, { role: 'user', parts: [text('Warm?')] }, answer]
  const all = JSON.stringify(messages)
  const first = mapAttributes({ ...run, 'pydantic_ai.all_messages': all, final_result: 'Yes.' })
  t.strictSame([first.input, first.output], [[system, user], 'Yes.'])
  t.equal(first.attributes['pydantic_ai.all_messages'], all, 'which contain more')
  t.equal(first.attributes.final_result, undefined)
  const second = mapAttributes({ ...run, 'pydantic_ai.all_messages': all, 'pydantic_ai.new_message_index': 2 })
  t.strictSame([second.input, second.output], [[system, ...messages.slice(0, 3)], undefined])
  t.strictSame(mapAttributes({ ...run, 'pydantic_ai.all_messages': JSON.stringify([user]) }).input, [system, user])
  t.strictSame(mapAttributes({ ...run, 'pydantic_ai.all_messages': 'no list' }).input, [system])
  t.match(mapAttributes({ final_result: 'Yes.' }), { output: undefined, attributes: { final_result: 'Yes.' } })
})

t.test('OpenLIT: instructions that are also among the messages', async t => {
  const both = { 'gen_ai.input.messages': JSON.stringify([system, user]), 'gen_ai.system_instructions': instructions }
  t.strictSame(mapAttributes(both).input, [system, user])
  t.strictSame(mapAttributes({ ...both, 'gen_ai.system_instructions': '[]' }).input, [system, user])
})

t.test('LiteLLM: a message without parts, and the tool call with older names', async t => {
  const empty = JSON.stringify([{ role: 'assistant', parts: [], finish_reason: 'tool_calls' }])
  const call = { 'gen_ai.completion.0.function_call.name': 'get_weather' }
  t.strictSame(mapAttributes({ 'gen_ai.output.messages': empty, ...call }).output, [
    { function_call: { name: 'get_weather' } }
  ])
  t.strictSame(mapAttributes({ 'gen_ai.output.messages': empty }).output, JSON.parse(empty))
  t.strictSame(mapAttributes({ 'gen_ai.output.messages': JSON.stringify([answer]), ...call }).output, [answer])
})

t.test('Semantic Kernel: a list without messages', async t => {
  const mapped = mapAttributes({ 'gen_ai.input.messages': '[]', 'gen_ai.output.messages': '[]' })
  t.strictSame([mapped.input, mapped.output], [undefined, undefined])
  t.match(mapped.attributes, { 'gen_ai.input.messages': '[]' })
})

t.test("MLflow: quotation marks around the application's values", async t => {
  const idsOf = ({ hints: { sessionId, userId } }: ReturnType<typeof mapFrom>) => [sessionId, userId]
  const quoted = { 'session.id': '"s-1"', 'user.id': '"u-1"' }
  t.strictSame(idsOf(mapAttributes({ ...quoted, 'mlflow.spanType': '"AGENT"' })), ['s-1', 'u-1'])
  t.strictSame(idsOf(mapFrom({ 'telemetry.sdk.name': 'mlflow' }, { attributes: quoted })), ['s-1', 'u-1'])
  t.strictSame(idsOf(mapAttributes(quoted)), ['"s-1"', '"u-1"'], 'other senders do not quote')
  const others = { 'session.id': '17', 'user.id': '{"name":"u"}', 'mlflow.spanType': '"AGENT"' }
  t.strictSame(idsOf(mapAttributes(others)), ['17', '{"name":"u"}'])
})
