/** Imitates OpenAI's Responses API, with whole or streamed responses. */
import { type Answer, type Model, resultText, type Tool } from './answer.ts'
import { answeringModel, CHAT_USAGE, piecesOf } from './facts.ts'
import type { Body, NewId, Reply, ServerSentEvent } from './reply.ts'

export function responses(body: Body, newId: NewId, model: Model): Reply {
  const answer = model({
    tools: toolsOf(body.tools ?? []),
    results: resultsOf(body.input),
    mayCall: body.tool_choice !== 'none',
    schema: body.text?.format?.schema
  })
  const begun = responseTo(body, newId('resp_'))
  const item = itemOf(answer, newId)
  const done = { ...begun, status: 'completed', output: [item], usage }
  return body.stream ? { events: numbered(stream(begun, item, done)) } : { json: done }
}

/** Returns the functions, including those in namespaces. */
function toolsOf(tools: readonly Body[], namespace?: string): Tool[] {
  return tools.flatMap(({ type, name, parameters, tools: members }) => {
    if (type === 'namespace') return toolsOf(members, name)
    return type === 'function' ? [{ name, namespace, schema: parameters }] : []
  })
}

function resultsOf(input: Body): string[] {
  const items: Body[] = Array.isArray(input) ? input : []
  return items.filter(({ type }) => type === 'function_call_output').map(({ output }) => resultText(output))
}

function responseTo(body: Body, id: string) {
  return {
    id,
    object: 'response',
    created_at: 1_780_000_000,
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    model: answeringModel(body.model),
    output: [] as Item[],
    parallel_tool_calls: true,
    previous_response_id: body.previous_response_id ?? null,
    reasoning: { effort: null, summary: null },
    service_tier: 'default',
    store: true,
    temperature: body.temperature ?? 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: body.tools ?? [],
    top_p: 1,
    truncation: 'disabled',
    usage: null,
    user: null,
    metadata: body.metadata ?? {}
  }
}

type Item = ReturnType<typeof itemOf>

function itemOf({ text, call }: Answer, newId: NewId) {
  if (call === undefined) {
    const content = [{ type: 'output_text' as const, annotations: [], logprobs: [], text }]
    return { type: 'message' as const, id: newId('msg_'), status: 'completed', role: 'assistant', content }
  }
  return {
    type: 'function_call' as const,
    id: newId('fc_'),
    call_id: newId('call_'),
    name: call.name,
    ...(call.namespace !== undefined && { namespace: call.namespace }),
    arguments: JSON.stringify(call.input),
    status: 'completed'
  }
}

type Event = { readonly type: string } & Record<string, unknown>

function stream(begun: object, item: Item, done: object): Event[] {
  const at = { item_id: item.id, output_index: 0 }
  return [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    { type: 'response.output_item.added', output_index: 0, item: { ...item, ...emptied(item), status: 'in_progress' } },
    ...(item.type === 'message' ? textEvents(at, item.content[0]!) : callEvents(at, item.arguments)),
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: done }
  ]
}

const emptied = (item: Item) => (item.type === 'message' ? { content: [] } : { arguments: '' })

function textEvents(item: object, part: { readonly text: string }): Event[] {
  const at = { ...item, content_index: 0 }
  const piece = (delta: string) => ({ type: 'response.output_text.delta', ...at, delta, logprobs: [] })
  return [
    { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
    ...piecesOf(part.text).map(piece),
    { type: 'response.output_text.done', ...at, text: part.text, logprobs: [] },
    { type: 'response.content_part.done', ...at, part }
  ]
}

function callEvents(at: object, text: string): Event[] {
  return [
    ...piecesOf(text).map(delta => ({ type: 'response.function_call_arguments.delta', ...at, delta })),
    { type: 'response.function_call_arguments.done', ...at, arguments: text }
  ]
}

const numbered = (events: readonly Event[]): ServerSentEvent[] =>
  events.map((event, i) => ({ event: event.type, data: { ...event, sequence_number: i } }))

const usage = {
  input_tokens: CHAT_USAGE.input,
  input_tokens_details: { cached_tokens: CHAT_USAGE.cached },
  output_tokens: CHAT_USAGE.output,
  output_tokens_details: { reasoning_tokens: CHAT_USAGE.reasoning },
  total_tokens: CHAT_USAGE.total
}
