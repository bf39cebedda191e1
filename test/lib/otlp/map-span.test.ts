import { readFileSync } from 'node:fs'
import t from 'tap'
import { readExport } from '../../../lib/otlp/read-export.ts'
import { MAX_DOCUMENT_BYTES } from '../../../lib/schema/input.ts'
import { TRUNCATED } from '../../../lib/schema/otlp.ts'
import { toProtobuf } from '../../fixtures/bodies/fuzz-otlp.ts'
import { exportOf, keyValues, otlpSpan } from '../../fixtures/bodies/otlp.ts'
import { mapAttributes, mapOne, readRequest, spansOf } from './mapped.ts'

const ROOT = new URL('../../../../', import.meta.url)

t.test('payloads captured from real senders', async t => {
  const payload = (name: string) =>
    JSON.parse(readFileSync(new URL(`test/lib/otlp/exports/${name}.json`, ROOT), 'utf8'))
  const outline = (name: string) =>
    spansOf(payload(name).request).map(({ kind, name, status, model, usage, input, output }) =>
      [kind, name, status, model, usage?.inputTokens, input !== undefined, output !== undefined].join(' ')
    )
  const model = 'gpt-4o-mini-2024-07-18'
  t.strictSame(outline('open-llmetry'), [
    `llm chat gpt-4o-mini unset ${model} 21 true true`,
    `llm chat gpt-4o-mini unset ${model} 21 true true`,
    `llm chat gpt-4o-mini unset ${model}  true true`,
    'custom answer unset   false false'
  ])
  t.strictSame(outline('gen-ai'), [
    ...Array(3).fill(`llm chat gpt-4o-mini unset ${model} 21 false false`),
    'embedding embeddings text-embedding-3-small unset text-embedding-3-small 5 false false',
    'llm chat gpt-broken error gpt-broken  false false',
    'custom answer unset   false false'
  ])
  const [chat, , , , , agent] = spansOf(payload('vercel-ai-7').request)
  t.strictSame(outline('vercel-ai-7').slice(0, 6), [
    `llm chat gpt-4o-mini unset ${model} 21 true true`,
    'tool get_weather unset   true true',
    'chain step 1 unset   false false',
    `llm chat gpt-4o-mini unset ${model} 21 true true`,
    'chain step 2 unset   false false',
    'agent weather-answer unset gpt-4o-mini 42 true true'
  ])
  t.strictSame(outline('mlflow'), [
    'retriever find ok   true true',
    'llm call ok gpt-4o-mini 5 true true',
    'agent answer ok   true true'
  ])
  t.strictSame(outline('logfire'), [
    `llm Chat Completion with 'gpt-4o-mini' unset ${model} 5 false false`,
    'custom Answer to Sunny? unset   false false'
  ])
  t.match(chat?.input, [
    { role: 'system', parts: [{ content: 'Be brief.' }] },
    { role: 'user', parts: [{ content: 'How is the weather in Graz?' }] }
  ])
  t.match(agent, { attributes: { 'otel.name': 'invoke_agent gpt-4o-mini' }, hints: { ownName: 'weather-answer' } })
})

t.test('kinds, in each dialect', async t => {
  const kinds: Record<string, [string, ...string[]][]> = {
    'gen_ai.operation.name': [
      [
        'llm',
        'chat',
        'text_completion',
        'generate_content',
        'completion',
        'generate',
        'image_generation',
        'ai.transcribe'
      ],
      ['agent', 'invoke_agent', 'create_agent'],
      ['tool', 'execute_tool'],
      ['chain', 'invoke_workflow', 'plan', 'agent_step'],
      ['retriever', 'retrieval', 'search_memory'],
      ['embedding', 'embeddings'],
      ['reranker', 'rerank'],
      ['custom', 'create_memory', 'toString']
    ],
    'openinference.span.kind': [
      ...['llm', 'agent', 'tool', 'chain', 'retriever', 'embedding', 'reranker'].map(
        kind => [kind, kind.toUpperCase()] as [string, string]
      ),
      ['custom', 'GUARDRAIL', 'EVALUATOR', 'PROMPT', 'UNKNOWN']
    ],
    'llm.request.type': [
      ['llm', 'chat', 'completion'],
      ['embedding', 'embedding'],
      ['reranker', 'rerank']
    ],
    'traceloop.span.kind': [
      ['agent', 'agent'],
      ['tool', 'tool'],
      ['chain', 'workflow', 'task'],
      ['custom', 'unknown', 'toString']
    ],
    'langfuse.observation.type': [
      ['llm', 'generation'],
      ...['agent', 'tool', 'chain', 'retriever', 'embedding'].map(kind => [kind, kind] as [string, string]),
      ['custom', 'span', 'event', 'guardrail', 'evaluator']
    ],
    'mlflow.spanType': [
      ['llm', '"LLM"', '"CHAT_MODEL"', 'LLM'],
      ...['agent', 'tool', 'chain', 'retriever', 'embedding', 'reranker'].map(
        kind => [kind, `"${kind.toUpperCase()}"`] as [string, string]
      ),
      ['chain', '"WORKFLOW"', '"TASK"'],
      ['custom', '"PARSER"', '"UNKNOWN"', '"MINE"', '{bad']
    ],
    'ai.operationId': [
      ['llm', 'ai.generateText.doGenerate', 'ai.streamText.doStream', 'ai.generateObject.doGenerate'],
      ['tool', 'ai.toolCall'],
      ['embedding', 'ai.embed.doEmbed', 'ai.embedMany.doEmbed'],
      ['reranker', 'ai.rerank.doRerank'],
      ['chain', 'ai.generateText', 'ai.streamObject', 'ai.embedMany'],
      ['custom', 'ai.invented', 'ai.', '']
    ]
  }
  for (const [name, lists] of Object.entries(kinds)) {
    for (const [kind, ...values] of lists) {
      for (const value of values) t.equal(mapAttributes({ [name]: value }).kind, kind, `${name}=${value}`)
    }
  }
  t.equal(mapAttributes({ 'gen_ai.tool.name': 'search' }).kind, 'tool')
  t.equal(mapAttributes({ 'gen_ai.retrieval.query.text': 'q' }).kind, 'retriever')
  t.equal(mapAttributes({ 'db.system': 'Pinecone' }).kind, 'retriever')
  t.equal(mapAttributes({ 'db.vector.query.top_k': 3 }).kind, 'retriever')
  t.equal(mapAttributes({ 'db.system': 'postgresql' }).kind, 'custom')
  for (const name of ['db.system', ...Object.keys(kinds)]) {
    t.equal(mapAttributes({ [name]: { toString: 1, valueOf: 1 } }).kind, 'custom', `${name} is not text`)
  }
  t.equal(mapAttributes({ 'gen_ai.request.model': 'm' }).kind, 'llm', 'a span with a model name')
  t.equal(
    mapAttributes({ 'ai.model.id': 'm', 'ai.operationId': 'ai.streamText' }).kind,
    'chain',
    'unless it is a wrapper'
  )
})

const used = (inputTokens: number, outputTokens: number, totalTokens?: number) => ({
  inputTokens,
  outputTokens,
  ...(totalTokens !== undefined && { totalTokens })
})

t.test('fields, in each dialect', async t => {
  const message = { role: 'user', content: 'hi' }
  const cases: [Record<string, unknown>, object][] = [
    [
      { 'gen_ai.request.model': 'a', 'gen_ai.response.model': 'b' },
      { model: 'b', attributes: { 'gen_ai.request.model': 'a' } }
    ],
    [{ 'gen_ai.system': 'old', 'gen_ai.provider.name': 'new' }, { provider: 'new' }],
    [
      { 'gen_ai.usage.prompt_tokens': 3, 'gen_ai.usage.completion_tokens': '4' },
      { usage: { inputTokens: 3, outputTokens: 4 } }
    ],
    [{ 'llm.usage.total_tokens': 9 }, { usage: { totalTokens: 9 } }],
    [{ 'gen_ai.usage.input_tokens': -1 }, { usage: undefined, attributes: { 'gen_ai.usage.input_tokens': -1 } }],
    [{ 'gen_ai.usage.input_cost': 0.25, 'gen_ai.usage.output_cost': 0.5 }, { costUsd: 0.75 }],
    [
      { 'llm.model_name': 'asked', 'llm.response.model_name': 'answered' },
      { model: 'answered', attributes: { 'llm.model_name': 'asked' } }
    ],
    [{ 'gen_ai.cost.total_cost': 0.5 }, { costUsd: 0.5, attributes: { 'gen_ai.cost.total_cost': undefined } }],
    [{ 'operation.cost': 0.25 }, { costUsd: 0.25 }],
    [
      { 'pydantic_ai.all_messages': JSON.stringify([message, { role: 'assistant' }]), final_result: '{"a":1}' },
      { input: [message], output: { a: 1 }, attributes: { final_result: undefined } }
    ],
    [
      { 'mlflow.spanInputs': '{"q":1}', 'mlflow.spanOutputs': '"done"', 'mlflow.llm.model': '"m"' },
      {
        input: { q: 1 },
        output: 'done',
        model: 'm',
        attributes: { 'mlflow.spanInputs': undefined, 'mlflow.llm.model': undefined }
      }
    ],
    [
      {
        'mlflow.chat.tokenUsage': '{"input_tokens":5,"output_tokens":6,"total_tokens":11}',
        'mlflow.llm.provider': 'p'
      },
      { usage: { inputTokens: 5, outputTokens: 6, totalTokens: 11 }, provider: 'p' }
    ],
    [{ 'mlflow.llm.cost': '{"input_cost":0.25,"output_cost":0.5,"total_cost":0.75}' }, { costUsd: 0.75 }],
    [{ 'mlflow.llm.model': '{"a":1}' }, { model: '{"a":1}' }],
    [
      { 'mlflow.spanType': '"UNKNOWN"', 'gen_ai.operation.name': 'execute_tool' },
      { kind: 'tool', attributes: { 'mlflow.spanType': '"UNKNOWN"' } }
    ],
    [
      { 'logfire.msg': 'Chat with m', 'logfire.msg_template': 'Chat with {model}' },
      {
        name: 'Chat with m',
        hints: { ownName: 'Chat with m' },
        attributes: { 'otel.name': 'step', 'logfire.msg': undefined, 'logfire.msg_template': 'Chat with {model}' }
      }
    ],
    [
      { 'logfire.msg': 'answers run', 'gen_ai.agent.name': 'answers', 'gen_ai.operation.name': 'invoke_agent' },
      { name: 'answers', attributes: { 'logfire.msg': 'answers run' } }
    ],
    [{ 'logfire.msg': 'm'.repeat(501) }, { name: 'm'.repeat(500), attributes: { 'logfire.msg': 'm'.repeat(501) } }],
    [{ 'llm.cost.total': 2, 'llm.cost.prompt': 1 }, { costUsd: 2 }],
    [{ 'langfuse.observation.cost_details': '{"input":0.25,"output":0.5}' }, { costUsd: 0.75 }],
    [{ 'langfuse.observation.usage_details': '{bad' }, { usage: undefined }],
    [{ 'mlflow.chat.tokenUsage': '{"input_tokens":3,"output_tokens":4,"total_tokens":7}' }, { usage: used(3, 4, 7) }],
    [{ 'gen_ai.cost.total_cost': 0.5 }, { costUsd: 0.5 }],
    [{ 'operation.cost': 0.5 }, { costUsd: 0.5 }],
    [{ 'llm.model_name': 'asked', 'llm.response.model_name': 'served' }, { model: 'served' }],
    [
      {
        'mlflow.llm.model': '"m"',
        'mlflow.llm.provider': '"p"',
        'mlflow.spanInputs': '{"q":1}',
        'mlflow.spanOutputs': '"so"'
      },
      { kind: 'llm', model: 'm', provider: 'p', input: { q: 1 }, output: 'so' }
    ],
    [{ 'logfire.msg': 'asked for 3 rows', 'logfire.msg_template': 'asked for {n} rows' }, { name: 'asked for 3 rows' }],
    [
      { 'langfuse.observation.output': '"\\"pro\\""', 'langfuse.observation.input': '"how?"' },
      { output: '"pro"', input: 'how?' }
    ],
    [{ 'traceloop.entity.output': '"done"' }, { output: 'done' }],
    [{ 'langfuse.observation.output': '"\\"done\\""' }, { output: '"done"' }],
    [
      { 'langfuse.observation.output': '"done"', 'langfuse.observation.input': 'hi' },
      { input: 'hi', output: 'done' }
    ],
    [
      { 'traceloop.entity.input': '"hi"', 'traceloop.entity.output': '12' },
      { input: 'hi', output: 12 }
    ],
    [{ 'gen_ai.prompt.0.role': 'user', 'gen_ai.prompt.0.content': 'hi' }, { input: [message] }],
    [
      { 'gen_ai.completion.0.content': 'yes', 'gen_ai.completion.0.tool_calls.0.name': 'f' },
      { output: [{ content: 'yes', tool_calls: [{ name: 'f' }] }] }
    ],
    [
      { 'llm.input_messages.1.message.role': 'user', 'llm.input_messages.0.message.role': 'system' },
      { input: [{ message: { role: 'system' } }, { message: { role: 'user' } }] }
    ],
    [{ 'llm.input_messages.7.message.role': 'user' }, { input: { 7: { message: { role: 'user' } } } }],
    [
      { 'input.value': '{"a":1}', 'input.mime_type': 'application/json' },
      { input: { a: 1 }, attributes: { 'input.value': undefined } }
    ],
    [{ 'input.value': '{"a":1}', 'input.mime_type': 'text/plain' }, { input: '{"a":1}' }],
    [{ 'input.value': '12', 'input.mime_type': 'application/json' }, { input: 12 }],
    [{ 'input.value': '{bad', 'input.mime_type': 'application/json' }, { input: '{bad' }],
    ...['LLM', 'RETRIEVER', 'RERANKER', 'CHAIN'].map((kind): [Record<string, unknown>, object] => [
      {
        'openinference.span.kind': kind,
        'input.value': '{"lc":1}',
        'output.value': '[<NodeWithScore>]',
        ...(kind === 'RERANKER' && { 'reranker.query': 'q', 'reranker.output_documents.0.document.content': 'd' }),
        ...(kind === 'RETRIEVER' && { 'retrieval.documents.0.document.content': 'd' }),
        ...((kind === 'LLM' || kind === 'CHAIN') && {
          'llm.input_messages.0.message.content': 'q',
          'llm.output_messages.0.message.content': 'd'
        })
      },
      kind === 'LLM'
        ? {
            input: [{ message: { content: 'q' } }],
            output: [{ message: { content: 'd' } }],
            attributes: { 'input.value': '{"lc":1}', 'output.value': '[<NodeWithScore>]' }
          }
        : kind === 'CHAIN'
          ? { input: { lc: 1 }, output: '[<NodeWithScore>]' }
          : { input: kind === 'RERANKER' ? 'q' : { lc: 1 }, output: [{ document: { content: 'd' } }] }
    ]),
    [{ 'retrieval.documents.0.document.content': 'd' }, { output: [{ document: { content: 'd' } }] }],
    [
      { 'traceloop.entity.input': '{"q":1}', 'traceloop.entity.output': 'done' },
      { input: { q: 1 }, output: 'done' }
    ],
    [
      { 'gen_ai.input.messages': [message], 'gen_ai.system_instructions': 'be brief' },
      { input: [{ role: 'system', parts: [{ type: 'text', content: 'be brief' }] }, message] }
    ],
    [
      { 'gen_ai.input.messages': 'not a list', 'gen_ai.system_instructions': 's' },
      { input: 'not a list', attributes: { 'gen_ai.system_instructions': 's' } }
    ],
    [
      { 'gen_ai.tool.call.arguments': '{"a":1}', 'gen_ai.tool.call.result': '"r"' },
      { input: { a: 1 }, output: 'r' }
    ],
    [
      { 'ai.response.text': 'said', 'ai.response.toolCalls': '[{"toolName":"f"}]' },
      { output: { text: 'said', toolCalls: [{ toolName: 'f' }] } }
    ],
    [{ 'ai.response.object': '{"a":1}' }, { output: { a: 1 } }],
    [
      { 'ai.values': ['"x"', '"y"'], 'ai.embeddings': ['[1,2]'] },
      { input: ['x', 'y'], output: [[1, 2]] }
    ],
    [{ 'langfuse.observation.level': 'ERROR' }, { status: 'error' }],
    [
      { 'openinference.span.kind': 'TOOL', 'tool.name': 'search' },
      { name: 'search', attributes: { 'otel.name': 'step' } }
    ],
    [
      { 'gen_ai.request.model': 'm'.repeat(201) },
      { model: 'm'.repeat(200), attributes: { 'gen_ai.request.model': 'm'.repeat(201) } }
    ]
  ]
  for (const [attributes, expected] of cases)
    t.match(mapAttributes(attributes), expected, JSON.stringify(attributes).slice(0, 99))
})

t.test('data that events state about a call remains in the events', async t => {
  const event = (name: string, attributes: object) => ({ name, timeUnixNano: '1', attributes: keyValues(attributes) })
  const legacy = mapOne({
    events: [
      event('gen_ai.system.message', { content: 'brief' }),
      event('gen_ai.user.message', { content: 'hi' }),
      event('gen_ai.choice', { index: 0, message: '{"content":"yes"}' })
    ]
  })
  t.match(legacy, {
    input: [
      { role: 'system', content: 'brief' },
      { role: 'user', content: 'hi' }
    ],
    output: [{ index: 0, message: { content: 'yes' } }],
    events: [{ name: 'gen_ai.system.message', attributes: { content: 'brief' } }, {}, {}]
  })
  const details = { 'gen_ai.input.messages': '[1]', 'gen_ai.output.messages': '[2]' }
  t.match(mapOne({ events: [event('gen_ai.client.inference.operation.details', details)] }), {
    input: [1],
    output: [2]
  })
  t.match(mapOne({ events: [event('gen_ai.content.prompt', { 'gen_ai.prompt': 'p' })] }), { input: 'p' })
  const many = Array.from({ length: 53 }, (_, i) => event(`event ${i}`, {}))
  const crowded = mapOne({ events: many })
  t.equal(crowded.events.length, 50)
  t.match(crowded.attributes['otel.events'], [{ name: 'event 50' }, { name: 'event 51' }, { name: 'event 52' }])
})

t.test('repeated values are kept once', async t => {
  const [question, answer] = ['why? '.repeat(100), 'so. '.repeat(100)]
  const NOTE = '[as in input or output]'
  const request = { model: 'm', n: 1.5, messages: [{ role: 'user', content: question }, { content: `${question}!` }] }
  const span = mapAttributes({
    'openinference.span.kind': 'LLM',
    'llm.input_messages.0.message.content': question,
    'llm.output_messages.0.message.content': answer,
    'input.value': JSON.stringify(request),
    'output.value': JSON.stringify({ id: 'r-1', choices: [{ message: { content: answer } }] }),
    'llm.prompt': question
  })
  t.same(span.input, [{ message: { content: question } }])
  t.equal(span.attributes['output.value'], `{"id":"r-1","choices":[{"message":{"content":"${NOTE}"}}]}`)
  const [message, other] = request.messages
  const left = { ...request, messages: [{ ...message, content: NOTE }, other] }
  t.equal(span.attributes['input.value'], JSON.stringify(left), 'a text that is only similar is kept')
  t.equal(span.attributes['llm.prompt'], question, 'values that are not raw requests or responses are kept')
  const python = `ChatMessage(content='${question}')`
  const repr = mapAttributes({
    'openinference.span.kind': 'LLM',
    'llm.input_messages.0.message.content': question,
    'input.value': python
  })
  t.equal(repr.attributes['input.value'], python, 'invalid JSON is kept')
})

t.test('values that no column can hold are repaired, and kept as sent', async t => {
  const odd = mapOne({ name: 'a\u0000b\ud800' })
  t.equal(odd.name, 'a\ufffdb\ufffd')
  t.equal(odd.attributes['otel.name'], 'a\u0000b\ud800')
  const long = mapOne({ name: '😀'.repeat(501) })
  t.equal([...long.name].length, 500)
  t.equal(long.attributes['otel.name'], '😀'.repeat(501))
  t.equal(mapOne({ name: '' }).name, 'unnamed')
  const backwards = mapOne({ start: 5, end: 3 })
  t.equal(backwards.endedAt, backwards.startedAt)
  t.equal(backwards.attributes['otel.end_time'], '2026-11-21T00:00:03.000Z')
  t.equal(
    mapAttributes({ 'otel.span_kind': 'mine' }).attributes['otel.span_kind'],
    'mine',
    'the sent value comes first'
  )
})

t.test('if there are more events or links than a document can hold, reading stops at the limit', async t => {
  const event = { name: 'x', timeUnixNano: '0' }
  const link = { traceId: '', spanId: '' }
  for (const [name, given, dropped] of [
    ['otel.events', { events: Array.from({ length: 100_000 }, () => event) }, 'otel.dropped_events_count'],
    ['otel.links', { links: Array.from({ length: 100_000 }, () => link) }, 'otel.dropped_links_count']
  ] as const) {
    const request = exportOf({ ...otlpSpan(), ...given })
    for (const { traces } of [readRequest(request), readExport(toProtobuf(request), 'protobuf')]) {
      const attributes = JSON.parse([...traces.values()].flat()[0]?.span.attributes?.stored ?? '{}')
      t.match(attributes[name], /^\[\{.* bytes in all\]$/, `${name} is cut`)
      const [cut] = attributes[TRUNCATED]
      t.ok(
        cut.bytes > MAX_DOCUMENT_BYTES - 100_000 && cut.bytes < 1.5 * MAX_DOCUMENT_BYTES,
        `${cut.bytes} bytes were read`
      )
      t.ok(attributes[dropped] > 50_000 && attributes[dropped] < 100_000, `${attributes[dropped]} were not read`)
    }
  }
})
