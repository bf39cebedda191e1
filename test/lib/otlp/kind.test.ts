import t from 'tap'
import { mapAttributes, mapOne } from './mapped.ts'

const USAGE = { 'gen_ai.usage.input_tokens': 10, 'gen_ai.usage.output_tokens': 5, 'gen_ai.usage.cost': 0.25 }
const CALL = { 'gen_ai.request.model': 'm', ...USAGE }

/** For each attribute that states a kind, values that name no kind. */
const UNKNOWN: Record<string, readonly string[]> = {
  'gen_ai.operation.name': ['create_memory', 'my-operation', 'toString', ''],
  'openinference.span.kind': ['UNKNOWN', 'GUARDRAIL', 'PROMPT', 'MINE'],
  'langfuse.observation.type': ['span', 'SPAN', 'event', 'evaluator', 'mine'],
  'traceloop.span.kind': ['unknown', 'mine'],
  'mlflow.spanType': ['"UNKNOWN"', '"PARSER"', 'MEMORY', '"MINE"', '{bad'],
  'ai.operationId': ['ai.invented', 'mine'],
  'llm.request.type': ['unknown', 'mine']
}

t.test('an unknown value is ignored: the next convention, tool, model or usage decides', async t => {
  for (const [name, values] of Object.entries(UNKNOWN)) {
    for (const value of values) {
      const title = `${name}=${value}`
      const reported = { [name]: value }
      t.equal(mapAttributes(reported).kind, 'custom', title)
      t.match(mapAttributes({ ...reported, ...CALL }), { kind: 'llm', model: 'm', costUsd: 0.25 }, title)
      t.strictSame(mapAttributes({ ...reported, ...CALL }).usage, { inputTokens: 10, outputTokens: 5 })
      t.equal(mapAttributes({ ...reported, ...USAGE }).kind, 'llm', `${title} with usage`)
      t.match(mapAttributes({ ...reported, ...CALL, 'gen_ai.tool.name': 'search' }), { kind: 'tool', name: 'search' })
      t.equal(mapAttributes({ ...reported, 'gen_ai.tool.call.id': 'c' }).kind, 'tool')
      const [next, known] =
        name === 'gen_ai.operation.name'
          ? ['openinference.span.kind', 'AGENT']
          : ['gen_ai.operation.name', 'invoke_agent']
      t.equal(mapAttributes({ ...reported, ...CALL, [next]: known }).kind, 'agent', `${title} before ${next}`)
    }
  }
})

t.test('a known kind is kept, whatever else the span states', async t => {
  for (const [name, value, kind] of [
    ['traceloop.span.kind', 'task', 'chain'],
    ['openinference.span.kind', 'CHAIN', 'chain'],
    ['gen_ai.operation.name', 'invoke_agent', 'agent'],
    ['gen_ai.operation.name', 'execute_tool', 'tool'],
    ['ai.operationId', 'ai.generateText', 'chain'],
    ['mlflow.spanType', '"RERANKER"', 'reranker']
  ] as const) {
    t.match(mapAttributes({ [name]: value, ...CALL }), { kind, usage: { inputTokens: 10 }, costUsd: 0.25 })
  }
})

t.test('a known operation in a different spelling', async t => {
  const spellings: Record<string, readonly string[]> = {
    llm: [
      ...[
        'llm_call',
        'chat.completions',
        'chat.streaming_completions',
        'text.completions',
        'responses',
        'Chat',
        'CHAT'
      ],
      ...['generateText', 'generate_text', 'GenerateContent', 'generateContentStream', 'chat-completion', 'llm', 'LLM']
    ],
    tool: ['tool_call', 'ToolCall', 'Execute_Tool', 'executeTool', 'tools/call', 'function_call'],
    agent: ['Invoke_Agent', 'invokeAgent', 'agent'],
    chain: ['Workflow', 'schedule_tool_calls', 'agentStep'],
    embedding: ['Embeddings', 'embed', 'embedMany'],
    retriever: ['RETRIEVAL', 'retrieve'],
    reranker: ['reRank', 'reranking']
  }
  for (const [kind, values] of Object.entries(spellings)) {
    for (const value of values) t.equal(mapAttributes({ 'gen_ai.operation.name': value }).kind, kind, value)
  }
  for (const [name, value, kind] of [
    ['openinference.span.kind', 'llm', 'llm'],
    ['openinference.span.kind', 'Agent', 'agent'],
    ['langfuse.observation.type', 'GENERATION', 'llm'],
    ['langfuse.observation.type', 'Tool', 'tool'],
    ['traceloop.span.kind', 'TASK', 'chain'],
    ['mlflow.spanType', '"chat_model"', 'llm'],
    ['mlflow.spanType', 'ChatModel', 'llm'],
    ['llm.request.type', 'CHAT', 'llm']
  ] as const) {
    t.equal(mapAttributes({ [name]: value }).kind, kind, `${name}=${value}`)
  }
})

t.test('token counts make a span without a kind a call, under each of their names', async t => {
  for (const attributes of [
    { 'gen_ai.usage.input_tokens': 1 },
    { 'gen_ai.usage.completion_tokens': 1 },
    { 'llm.usage.prompt_tokens': 1 },
    { 'llm.usage.total_tokens': 1 },
    { 'llm.token_count.prompt': 1 },
    { 'ai.usage.outputTokens': 1 },
    { 'langfuse.observation.usage_details': '{"input":1}' },
    { 'mlflow.chat.tokenUsage': '{"input_tokens":1}' },
    { usage_details_json: '{"input":1}' }
  ]) {
    t.equal(mapAttributes(attributes).kind, 'llm', JSON.stringify(attributes))
  }
  const served = { attributes: { 'gen_ai.usage.input_tokens': 1 }, kind: 2 }
  t.match(mapOne(served), { kind: 'custom', usage: { inputTokens: 1 } }, "a server span adds up its request's calls")
})
