/**
 * Sends the spans of a run of Goose, which is not on npm or PyPI. The spans follow Goose's documentation and source:
 * messages, tokens and costs are in attributes whose names end with `_json`.
 */
import { ANSWER, CHAT_USAGE } from '../../provider/facts.ts'
import { QUESTION } from '../../senders/talk.ts'
import type { Addresses } from '../row.ts'

const TRACE = '7c1f0d3a5be94f4c8f0e6a2b9d1c4e57'
const CALL = { name: 'developer__shell', arguments: { command: 'echo sunny in Graz' } }
/** The start of the run, in ms since 1970. */
const began = Date.now() - 5_000
const nanosAt = (milliseconds: number) => `${began + milliseconds}000000`

const span = (id: number, parent: number | undefined, name: string, [from, to]: [number, number], said: object) => ({
  traceId: TRACE,
  spanId: String(id).padStart(16, '0'),
  ...(parent !== undefined && { parentSpanId: String(parent).padStart(16, '0') }),
  name,
  startTimeUnixNano: nanosAt(from),
  endTimeUnixNano: nanosAt(to),
  attributes: Object.entries(said).map(([key, value]) => ({
    key,
    value: { stringValue: typeof value === 'string' ? value : JSON.stringify(value) }
  }))
})

const user = { role: 'user', content: QUESTION }
const generation = (input: object[], output: object) => ({
  model: 'gpt-4.1',
  input_json: input,
  output_json: output,
  usage_details_json: {
    input: CHAT_USAGE.input,
    output: CHAT_USAGE.output,
    total: CHAT_USAGE.total,
    input_cached_tokens: CHAT_USAGE.cached
  },
  cost_details_json: { input: 0.00017, output: 0.00016 }
})

const spans = [
  span(1, undefined, 'invoke_agent goose', [0, 3000], {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'goose',
    'session.id': '20261127_1',
    trace_input: QUESTION,
    trace_output: ANSWER
  }),
  span(2, 1, 'provider_generation', [10, 1000], generation([user], { role: 'assistant', tool_calls: [CALL] })),
  span(3, 1, CALL.name, [1010, 1900], {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': CALL.name,
    'gen_ai.tool.call.arguments': CALL.arguments,
    'gen_ai.tool.call.result': 'sunny in Graz'
  }),
  span(4, 1, 'provider_generation', [2000, 2900], generation([user], { role: 'assistant', content: ANSWER }))
]

export async function sendGoose({ url, key }: Addresses): Promise<void> {
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'goose' } }] }
  const response = await fetch(`${url}/api/v1/otlp/v1/traces`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans }] }] })
  })
  if (response.status !== 200) throw new Error(`the payload is answered ${response.status}: ${await response.text()}`)
}
