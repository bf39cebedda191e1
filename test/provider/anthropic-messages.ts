/** Imitates Anthropic's Messages API, with whole or streamed responses. */
import { type Answer, type Model, resultText } from './answer.ts'
import { answeringModel, CHAT_USAGE, piecesOf } from './facts.ts'
import type { Body, NewId, Reply, ServerSentEvent } from './reply.ts'

export function messages(body: Body, newId: NewId, model: Model): Reply {
  const answer = model({
    tools: (body.tools ?? []).map(({ name, input_schema: schema }: Body) => ({ name, schema })),
    results: body.messages.flatMap(resultsOf),
    mayCall: body.tool_choice?.type !== 'none',
    schema: body.output_config?.format?.schema ?? body.output_format?.schema
  })
  const block = blockOf(answer, newId)
  const message = {
    id: newId('msg_'),
    type: 'message',
    role: 'assistant',
    model: answeringModel(body.model),
    content: [block],
    stop_reason: block.type === 'tool_use' ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage
  }
  return body.stream ? { events: stream(message, block) } : { json: message }
}

function resultsOf({ content }: Body): string[] {
  const blocks: Body[] = Array.isArray(content) ? content : []
  return blocks.filter(({ type }) => type === 'tool_result').map(({ content }) => resultText(content))
}

type Block = ReturnType<typeof blockOf>

function blockOf({ text, call }: Answer, newId: NewId) {
  if (call === undefined) return { type: 'text' as const, text }
  return { type: 'tool_use' as const, id: newId('toolu_'), name: call.name, input: call.input }
}

function stream(message: { stop_reason: string; stop_sequence: null }, block: Block): ServerSentEvent[] {
  const { stop_reason, stop_sequence } = message
  const begun = { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } }
  const events = [
    { type: 'message_start', message: begun },
    { type: 'content_block_start', index: 0, content_block: emptied(block) },
    { type: 'ping' },
    ...deltas(block).map(delta => ({ type: 'content_block_delta', index: 0, delta })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage: { output_tokens: CHAT_USAGE.output } },
    { type: 'message_stop' }
  ]
  return events.map(data => ({ event: data.type, data }))
}

const emptied = (block: Block) => (block.type === 'text' ? { ...block, text: '' } : { ...block, input: {} })

const deltas = (block: Block): object[] =>
  block.type === 'text'
    ? piecesOf(block.text).map(text => ({ type: 'text_delta', text }))
    : piecesOf(JSON.stringify(block.input)).map(partial_json => ({ type: 'input_json_delta', partial_json }))

/** Anthropic's `input_tokens` exclude cached tokens, and thinking tokens are not counted separately. */
const usage = {
  input_tokens: CHAT_USAGE.input - CHAT_USAGE.cached,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: CHAT_USAGE.cached,
  cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
  output_tokens: CHAT_USAGE.output,
  service_tier: 'standard'
}
