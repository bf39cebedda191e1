/** Imitates OpenAI's chat completions, with whole or streamed responses. */
import { type Answer, type Model, resultText } from './answer.ts'
import { answeringModel, CHAT_USAGE, piecesOf } from './facts.ts'
import type { Body, NewId, Reply, ServerSentEvent } from './reply.ts'

const CREATED = 1_780_000_000

export function chatCompletion(body: Body, newId: NewId, model: Model): Reply {
  const answer = model({
    tools: (body.tools ?? []).map((tool: Body) => ({ name: tool.function.name, schema: tool.function.parameters })),
    results: body.messages.filter(({ role }: Body) => role === 'tool').map(({ content }: Body) => resultText(content)),
    mayCall: body.tool_choice !== 'none',
    schema: body.response_format?.json_schema?.schema
  })
  const head = { id: newId('chatcmpl-'), created: CREATED, model: answeringModel(body.model), service_tier: 'default' }
  const calls = callsOf(answer, newId)
  return body.stream ? { events: chunks(body, head, answer, calls) } : { json: completion(head, answer, calls) }
}

type Call = ReturnType<typeof callsOf>[number]

function callsOf({ call }: Answer, newId: NewId) {
  if (call === undefined) return []
  const called = { name: call.name, arguments: JSON.stringify(call.input) }
  return [{ id: newId('call_'), type: 'function', function: called }]
}

const finishReason = (calls: readonly Call[]) => (calls.length > 0 ? 'tool_calls' : 'stop')

function completion(head: object, { text }: Answer, calls: readonly Call[]) {
  const content = calls.length > 0 ? { content: null, tool_calls: calls } : { content: text }
  const message = { role: 'assistant', ...content, refusal: null, annotations: [] }
  return {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(calls) }],
    usage
  }
}

/** The token counts come last, and only if the request asks for them. */
function chunks(body: Body, head: object, { text }: Answer, calls: readonly Call[]): ServerSentEvent[] {
  const isUsageWanted = body.stream_options?.include_usage === true
  const common = { ...head, object: 'chat.completion.chunk', ...(isUsageWanted ? { usage: null } : {}) }
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    data: { ...common, choices: [{ index: 0, delta, logprobs: null, finish_reason }] }
  })
  return [
    chunk({ role: 'assistant', content: calls.length > 0 ? null : '', refusal: null }),
    ...piecesOf(calls.length > 0 ? '' : text).map(content => chunk({ content })),
    ...calls.flatMap(callDeltas).map(call => chunk({ tool_calls: [call] })),
    chunk({}, finishReason(calls)),
    ...(isUsageWanted ? [{ data: { ...common, choices: [], usage } }] : []),
    { data: '[DONE]' }
  ]
}

function callDeltas(call: Call, index: number) {
  const { name, arguments: text } = call.function
  return [
    { index, ...call, function: { name, arguments: '' } },
    ...piecesOf(text).map(piece => ({ index, function: { arguments: piece } }))
  ]
}

const usage = {
  prompt_tokens: CHAT_USAGE.input,
  completion_tokens: CHAT_USAGE.output,
  total_tokens: CHAT_USAGE.total,
  prompt_tokens_details: { cached_tokens: CHAT_USAGE.cached, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: CHAT_USAGE.reasoning, audio_tokens: 0 }
}
