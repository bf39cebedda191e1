/** Traces to display: an agent with a conversation, and hostile, deep, large and running traces. */
import { randomBytes } from 'node:crypto'
import { exportOf, otlpSpan } from '../../../fixtures/bodies/otlp.ts'
import type { TestService } from '../../../fixtures/service/service.ts'

const hex = (bytes: number) => randomBytes(bytes).toString('hex')
const at = (ms: number) => new Date(Date.parse('2026-11-25T10:00:00Z') + ms).toISOString()

export interface Recorded {
  readonly id: string
  readonly spans: readonly string[]
}

async function record({ call }: TestService, trace: object): Promise<Recorded> {
  const id = hex(16)
  const answer = await call('POST', '/api/v1/traces', { body: { schemaVersion: 1, trace: { id, ...trace } } })
  if (answer.status !== 201) throw new Error(answer.text)
  const { spans = [] } = trace as { spans?: { id: string }[] }
  return { id, spans: spans.map(span => span.id) }
}

/** Records an agent that asks a model, calls a tool that fails, and asks again. */
export function recordAgent(service: TestService, over: object = {}): Promise<Recorded> {
  const [agent, first, tool, second] = [hex(8), hex(8), hex(8), hex(8)] as [string, string, string, string]
  const asked = [
    { role: 'system', content: 'You are **careful**.' },
    { role: 'user', content: 'Hello.' },
    { role: 'user', content: 'Where is my order?' }
  ]
  const call = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'lookup_order', arguments: '{"order":48213}' } }]
  }
  const result = { role: 'tool', tool_call_id: 'c1', content: '{"status":"in transit"}' }
  return record(service, {
    name: 'support-agent',
    status: 'ok',
    startedAt: at(0),
    endedAt: at(4200),
    model: 'gpt-5-mini',
    sessionId: 's/1 ä',
    userId: 'u-3',
    tags: ['billing'],
    input: 'Where is my order?',
    output: 'It comes tomorrow.',
    metadata: { release: '2.14.0', ticket: 48213 },
    usage: { inputTokens: 1200, outputTokens: 312 },
    costUsd: 0.0123,
    spans: [
      {
        id: agent,
        name: 'agent run',
        kind: 'agent',
        status: 'ok',
        startedAt: at(0),
        endedAt: at(4195),
        input: 'Where is my order?',
        output: 'It comes tomorrow.'
      },
      {
        id: first,
        parentSpanId: agent,
        name: 'chat one',
        kind: 'llm',
        status: 'ok',
        startedAt: at(10),
        endedAt: at(1900),
        model: 'gpt-5-mini',
        input: { messages: asked },
        output: { choices: [{ message: call, finish_reason: 'tool_calls' }] },
        usage: { inputTokens: 600, outputTokens: 20 },
        costUsd: 0.006,
        attributes: { temperature: 0.2, big: 1e21 }
      },
      {
        id: tool,
        parentSpanId: agent,
        name: 'lookup_order',
        kind: 'tool',
        status: 'ok',
        startedAt: at(1910),
        endedAt: at(2100),
        input: { order: 48213 },
        output: { status: 'in transit' },
        events: [{ name: 'retry', timestamp: at(2000), attributes: { attempt: 2 } }]
      },
      {
        id: second,
        parentSpanId: agent,
        name: 'chat two',
        kind: 'llm',
        status: 'ok',
        startedAt: at(2110),
        endedAt: at(4190),
        model: 'gpt-5-mini',
        input: { messages: [...asked, call, result, { role: 'user', content: 'So?' }] },
        output: {
          choices: [{ message: { role: 'assistant', content: 'It comes **tomorrow**.' }, finish_reason: 'stop' }]
        }
      }
    ],
    ...over
  })
}

const GUIDE = Array.from({ length: 30 }, (_, i) => `Rule ${i + 1}: say what you have done, and what you have not.`)

/** Records the same agent with different instructions: it looks nothing up, and asks for a refund, which fails. */
export function recordAgentAgain(service: TestService, over: object = {}): Promise<Recorded> {
  const [agent, first, refund] = [hex(8), hex(8), hex(8)] as [string, string, string]
  const system = GUIDE.with(14, 'Rule 15: say what you have done **at once**, and what you have not.').join('\n')
  const messages = [
    { role: 'system', content: system },
    { role: 'user', content: 'Where is my order?' }
  ]
  return record(service, {
    name: 'support-agent',
    status: 'error',
    startedAt: at(60_000),
    endedAt: at(63_000),
    model: 'gpt-5',
    input: 'Where is my order?',
    output: 'It comes on Monday.',
    usage: { inputTokens: 900, outputTokens: 400 },
    costUsd: 0.02,
    spans: [
      {
        id: agent,
        name: 'agent run',
        kind: 'agent',
        status: 'error',
        startedAt: at(60_000),
        endedAt: at(62_990),
        input: 'Where is my order?',
        output: 'It comes on Monday.'
      },
      {
        id: first,
        parentSpanId: agent,
        name: 'chat one',
        kind: 'llm',
        status: 'ok',
        startedAt: at(60_010),
        endedAt: at(61_500),
        model: 'gpt-5',
        input: { messages },
        output: {
          choices: [{ message: { role: 'assistant', content: 'It comes on Monday.' }, finish_reason: 'stop' }]
        },
        usage: { inputTokens: 900, outputTokens: 400 },
        costUsd: 0.02
      },
      {
        id: refund,
        parentSpanId: agent,
        name: 'refund',
        kind: 'tool',
        status: 'error',
        startedAt: at(61_600),
        endedAt: at(62_000),
        input: { order: 48213 }
      }
    ],
    ...over
  })
}

export const EVIL =
  '<script>document.title="broken"</script><img src=x onerror="document.title=1"> [go](javascript:document.title=1) ![i](https://elsewhere.invalid/i.png) \u202egnp.exe\u202c \u0000'

export function recordHostile(service: TestService): Promise<Recorded> {
  const image = (url: string) => ({ type: 'image_url', image_url: { url } })
  return record(service, {
    name: '<script>document.title="broken"</script>\u202eevil',
    status: 'error',
    startedAt: at(0),
    endedAt: at(900),
    tags: ['<b>'],
    sessionId: 'a/b?c#d&e=f',
    userId: '"><svg onload=1>',
    metadata: { __proto__: 1, '<img src=x onerror=1>': EVIL },
    spans: [
      {
        id: hex(8),
        name: '"><script>1</script>',
        kind: 'agent',
        status: 'error',
        startedAt: at(0),
        endedAt: at(900),
        input: [
          { role: 'user', content: EVIL },
          { role: '<i>role</i>', content: '>'.repeat(5000) },
          { role: 'user', content: '*a_'.repeat(6000) }
        ],
        output: {
          role: 'assistant',
          content: [
            image('javascript:document.title=1'),
            image('https://elsewhere.invalid/a.png'),
            image('data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9IjEiPjwvc3ZnPg=='),
            { type: 'text', text: EVIL }
          ]
        },
        attributes: { link: 'javascript:document.title=1', nested: JSON.stringify({ a: [1] }) }
      },
      {
        id: hex(8),
        parentSpanId: hex(8),
        name: 'orphan',
        kind: 'tool',
        startedAt: at(100),
        endedAt: at(1500),
        input: 'x'
      }
    ]
  })
}

/** Records two hundred spans, each a child of the previous span. */
export function recordDeep(service: TestService): Promise<Recorded> {
  const ids = Array.from({ length: 200 }, () => hex(8))
  const spans = ids.map((id, i) => ({
    id,
    parentSpanId: i === 0 ? null : ids[i - 1],
    name: `level ${i}`,
    kind: 'chain',
    startedAt: at(i * 10),
    endedAt: at(20_000 - i * 10),
    input: { level: i }
  }))
  const metadata = { spoor: { spansLeftOut: { count: 126, kinds: { custom: 123, llm: 3 } } } }
  return record(service, { name: 'deep', status: 'ok', startedAt: at(0), endedAt: at(20_000), metadata, spans })
}

/** Records two hundred spans, one of which has a conversation of nearly 750 KiB with `messageCount` messages. */
export function recordLarge(service: TestService, messageCount = 219, word = 'bold'): Promise<Recorded> {
  const paragraph = `A paragraph with **${word}**, \`code\` and a [link](https://example.com).\n\n`
  const messages = Array.from({ length: messageCount }, (_, i) => ({
    role: i % 2 === 0 ? 'user' : 'assistant',
    content: `${i}: ${paragraph.repeat(46)}`
  }))
  const [root, model] = [hex(8), hex(8)]
  const rest = Array.from({ length: 198 }, (_, i) => ({
    id: hex(8),
    parentSpanId: root,
    name: `step ${i}`,
    kind: 'tool',
    startedAt: at(i * 10),
    endedAt: at(i * 10 + 9),
    input: { i }
  }))
  const spans = [
    { id: root, name: 'run', kind: 'agent', startedAt: at(0), endedAt: at(9000) },
    {
      id: model,
      parentSpanId: root,
      name: 'long chat',
      kind: 'llm',
      startedAt: at(1),
      endedAt: at(8000),
      input: messages,
      output: 'done'
    },
    ...rest
  ]
  return record(service, { name: 'large', status: 'ok', startedAt: at(0), endedAt: at(9000), spans })
}

/** Records two spans: one with JSON of thousands of small values, one with a Markdown list of thousands of items. */
export function recordWide(service: TestService): Promise<Recorded> {
  const row = (i: number) => Object.fromEntries(Array.from({ length: 50 }, (_, k) => [`field ${k}`, `${i}.${k}`]))
  const list = Array.from({ length: 12_000 }, (_, i) => `- item ${i}`).join('\n')
  const common = { kind: 'llm', startedAt: at(0), endedAt: at(1000) }
  const spans = [
    {
      id: hex(8),
      name: 'json',
      ...common,
      input: { table: Array.from({ length: 50 }, (_, i) => row(i)), more: Array.from({ length: 5000 }, (_, i) => i) }
    },
    { id: hex(8), name: 'list', ...common, input: [{ role: 'user', content: list }], output: 'x' }
  ]
  return record(service, { name: 'wide', status: 'ok', startedAt: at(0), endedAt: at(1000), spans })
}

export function recordRunning(service: TestService): Promise<Recorded> {
  return record(service, { name: 'running', startedAt: new Date(Date.now() - 5000).toISOString(), input: 'x' })
}

/** Records 100 turns of 98 model calls each, of which one failed. */
export async function recordLong({ call }: Pick<TestService, 'call'>) {
  const [traceId, root, failed] = [hex(16), hex(8), hex(8)]
  const turns = Array.from({ length: 100 }, (_, i) => {
    const turn = hex(8)
    const own = { 'openinference.span.kind': 'CHAIN' }
    const calls = Array.from({ length: 98 }, (_, k) => {
      const common = { traceId, parentSpanId: turn, start: 100 * i + k, end: 100 * i + k + 0.5 }
      const attributes = {
        'gen_ai.operation.name': 'chat',
        'gen_ai.output.messages': `[{"role":"assistant","parts":[{"type":"text","content":"Answer ${i}.${k}"}]}]`,
        'gen_ai.usage.input_tokens': 10
      }
      const id = i === 60 && k === 40 ? { spanId: failed, status: 2 } : {}
      return otlpSpan({ ...common, ...id, name: 'chat', attributes })
    })
    const common = { traceId, spanId: turn, parentSpanId: root, name: `turn ${i}`, attributes: own }
    return [otlpSpan({ ...common, start: 100 * i, end: 100 * i + 99 }), ...calls]
  })
  const agent = { 'gen_ai.operation.name': 'invoke_agent' }
  const all = [
    otlpSpan({ traceId, spanId: root, name: 'long run', start: 0, end: 10_000, attributes: agent }),
    ...turns.flat()
  ]
  for (let from = 0; from < all.length; from += 3000) {
    const body = exportOf(...all.slice(from, from + 3000))
    const { status, text } = await call('POST', '/api/v1/otlp/v1/traces', { body })
    if (status !== 200) throw new Error(text)
  }
  return { id: traceId, failed, spanCount: all.length }
}
