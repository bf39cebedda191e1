/**
 * The bodies that the benchmark records: runs of an assistant that plans, searches, calls tools and answers. The bodies
 * are the same in every run of the benchmark. Values that must differ between traces are placeholders of fixed width
 * (template.ts).
 */
import type { EndBody, IngestBody, SpanInput, SpansBody, TraceInput } from '../../../lib/schema/input.ts'
import { createProse, type Prose } from './prose.ts'
import { COST_PLACE, END_PLACE, MINUTE_PLACE, SESSION_PLACE, TRACE_ID_PLACE } from './template.ts'

export interface BodyShape {
  readonly spans: number
  /** Exact length of a body, in bytes of UTF-8. */
  readonly bytes: number
  /** Number of different bodies. */
  readonly variants: number
}

export const SHAPES = {
  small: { spans: 1, bytes: 2_300, variants: 64 },
  typical: { spans: 8, bytes: 18_000, variants: 64 },
  large: { spans: 200, bytes: 1_700_000, variants: 4 },
  /** `--stored` fills the tables with these bodies: typical traces with little text. */
  stored: { spans: 8, bytes: 7_000, variants: 64 }
} as const satisfies Record<string, BodyShape>
export type BodyKind = keyof typeof SHAPES

/** A typical trace, in the pieces in which it is streamed. */
export interface StreamedBodies {
  readonly start: IngestBody
  readonly appends: readonly SpansBody[]
  readonly end: EndBody
}

const NAMES = [
  'support-assistant',
  'research-agent',
  'invoice-triage',
  'code-review',
  'onboarding-chat',
  'report-writer'
]
const MODELS = ['gpt-5-mini', 'claude-sonnet-4-5', 'gemini-2.5-flash', 'mistral-large-2']
const PROVIDERS = ['openai', 'anthropic', 'google', 'mistral']
const TAGS = ['production', 'beta', 'eu', 'us', 'nightly', 'customer', 'internal', 'v2']
const TOOLS = ['search_orders', 'fetch_customer', 'run_sql', 'send_email', 'read_calendar', 'convert_currency']
/** After the agent's own span, the kinds of step repeat in this order. */
const STEPS = ['llm', 'retriever', 'tool', 'llm', 'tool', 'chain', 'llm'] as const
const APPENDS = 4
/** All times of a trace are within one minute, so that moving them means replacing the minute. */
const LAST_MS = 59_000

/** Returns the body of a kind and variant. The same arguments always give an equal body. */
export function ingestBody(kind: BodyKind, variant: number): IngestBody {
  const shape = SHAPES[kind]
  const build = (textLength: number): IngestBody => {
    const seed = variant + shape.spans * 1_000
    // Texts have their own random numbers. Otherwise the shorter texts of a stored trace would also change its other
    // values, which must equal those of the typical trace.
    const texts = createProse(seed, variant % 4 === 3)
    return { schemaVersion: 1, trace: buildTrace({ ...createProse(seed), text: texts.text }, shape.spans, textLength) }
  }
  // The text length per span is adjusted until a short answer can fill the remaining bytes of the body.
  const mostRest = 100 + shape.bytes / 100
  let textLength = shape.bytes / shape.spans / 2
  let body: IngestBody
  let rest: number
  do {
    body = build(textLength)
    rest = shape.bytes - Buffer.byteLength(JSON.stringify(body))
    textLength = Math.max(8, textLength + (rest - mostRest / 2) / shape.spans)
  } while (rest < 0 || rest > mostRest)
  body.trace.output = {
    answer: createProse(variant)
      .text(rest)
      .replace(/[^a-zA-Z ]/g, ' ')
  }
  return body
}

/** Returns the typical trace of a variant as a start, four appends of two spans, and an end. */
export const streamedBodies = (variant: number): StreamedBodies =>
  streamed(ingestBody('typical', variant), SHAPES.typical.spans / APPENDS)

/** Returns a whole trace as a start, appends of `each` spans, and an end. */
export function streamed({ trace }: IngestBody, each: number): StreamedBodies {
  const { status, endedAt, output, usage, costUsd, spans = [], ...start } = trace
  return {
    start: { schemaVersion: 1, trace: start },
    appends: Array.from({ length: Math.ceil(spans.length / each) }, (_, i) => ({
      schemaVersion: 1,
      spans: spans.slice(i * each, (i + 1) * each)
    })),
    end: {
      schemaVersion: 1,
      endedAt: endedAt!,
      status: status!,
      output,
      ...(usage && { usage }),
      ...(costUsd !== undefined && { costUsd })
    }
  }
}

function buildTrace(prose: Prose, spanCount: number, textLength: number): TraceInput {
  const provider = prose.integer(PROVIDERS.length)
  const spans = buildSpans(prose, spanCount, textLength, provider)
  const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 }
  for (const span of spans) {
    usage.inputTokens += span.usage?.inputTokens ?? 0
    usage.outputTokens += span.usage?.outputTokens ?? 0
  }
  usage.totalTokens = usage.inputTokens + usage.outputTokens
  return {
    id: TRACE_ID_PLACE,
    name: prose.pick(NAMES),
    status: 'ok',
    startedAt: timeAt(0),
    endedAt: `${END_PLACE}Z`,
    provider: PROVIDERS[provider]!,
    model: MODELS[provider]!,
    sessionId: `session-${SESSION_PLACE}`,
    userId: `user-${prose.hex(6)}`,
    tags: [prose.pick(TAGS.slice(0, 4)), prose.pick(TAGS.slice(4))],
    input: { question: prose.text(Math.min(400, textLength / 4)) },
    output: { answer: '' },
    metadata: {
      app: 'assistant',
      release: '4.12.0',
      region: prose.pick(['eu-west-1', 'us-east-2']),
      commit: prose.hex(12)
    },
    usage,
    costUsd: Number(COST_PLACE),
    spans
  }
}

function buildSpans(prose: Prose, count: number, textLength: number, provider: number): SpanInput[] {
  const spans: SpanInput[] = []
  const step = LAST_MS / (count + 1)
  for (let i = 0; i < count; i++) {
    const isRoot = i === 0 && count > 1
    const kind = isRoot ? 'agent' : STEPS[(count > 1 ? i - 1 : i) % STEPS.length]!
    const startedAt = Math.floor(i * step)
    spans.push({
      id: prose.hex(16),
      parentSpanId: i === 0 ? null : spans[0]!.id,
      ...buildStep(prose, kind, textLength, startedAt, provider),
      status: 'ok',
      startedAt: timeAt(startedAt),
      endedAt: timeAt(isRoot ? LAST_MS : startedAt + Math.floor(step * (0.3 + 0.7 * prose.random())))
    })
  }
  return spans
}

type Step = Omit<SpanInput, 'id' | 'startedAt' | 'endedAt'>

/** Builds the fields that differ between kinds. `textLength` is the approximate total length of their strings. */
function buildStep(
  prose: Prose,
  kind: (typeof STEPS)[number] | 'agent',
  textLength: number,
  at: number,
  provider: number
): Step {
  const share = (part: number) => prose.text(textLength * part)
  switch (kind) {
    case 'llm':
      return {
        name: 'chat.completion',
        kind,
        provider: PROVIDERS[provider]!,
        model: MODELS[provider]!,
        ...modelCall(prose, share)
      }
    case 'retriever':
      return {
        name: 'knowledge-base.search',
        kind,
        input: { query: share(0.06), topK: 4 },
        output: [0.91, 0.84, 0.71].map(score => ({
          id: `doc-${prose.hex(8)}`,
          score,
          content: share(0.31),
          metadata: { source: `handbook/${prose.pick(NAMES)}.md`, page: prose.integer(80) }
        })),
        attributes: {
          'db.system': 'vector',
          'retrieval.index': 'handbook-2026',
          'retrieval.candidates': 40 + prose.integer(60)
        }
      }
    case 'tool': {
      const name = prose.pick(TOOLS)
      return {
        name,
        kind,
        input: { arguments: { query: share(0.1), limit: 5, includeArchived: false } },
        output: {
          ok: true,
          rows: [0.3, 0.3, 0.3].map(part => ({
            id: prose.integer(1e9),
            note: share(part),
            amount: prose.integer(1e5) / 100
          }))
        },
        attributes: { 'tool.name': name, 'tool.call_id': `call_${prose.hex(12)}`, 'tool.retries': 0 }
      }
    }
    default:
      return {
        name: kind === 'agent' ? prose.pick(NAMES) : 'compose-answer',
        kind,
        input: { task: share(0.4) },
        output: { result: share(0.6) },
        attributes: { 'agent.step': prose.integer(9), 'agent.framework': 'homegrown', 'agent.run_id': prose.hex(16) },
        events: [
          { name: 'step.started', timestamp: timeAt(at), attributes: { attempt: 1 } },
          { name: 'step.finished', timestamp: timeAt(at) }
        ]
      }
  }
}

function modelCall(prose: Prose, share: (part: number) => string): Partial<Step> {
  const inputTokens = 200 + prose.integer(4_000)
  const outputTokens = 20 + prose.integer(900)
  const callId = `call_${prose.hex(12)}`
  return {
    input: {
      messages: [
        { role: 'system', content: share(0.25) },
        { role: 'user', content: share(0.15) },
        {
          role: 'assistant',
          content: null,
          // Models write tool calls as a JSON string within JSON.
          tool_calls: [
            { id: callId, function: { name: prose.pick(TOOLS), arguments: JSON.stringify({ query: share(0.1) }) } }
          ]
        },
        { role: 'tool', tool_call_id: callId, content: share(0.2) }
      ]
    },
    output: { role: 'assistant', content: share(0.3), finishReason: 'stop' },
    attributes: {
      'gen_ai.request.temperature': prose.pick([0, 0.2, 0.7]),
      'gen_ai.request.max_tokens': 1_024,
      'gen_ai.response.id': `resp_${prose.hex(24)}`,
      'gen_ai.response.finish_reasons': ['stop']
    },
    usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens },
    costUsd: money(inputTokens * 2.5e-7 + outputTokens * 2e-6)
  }
}

const timeAt = (ms: number) => `${MINUTE_PLACE}:${(ms / 1_000).toFixed(3).padStart(6, '0')}Z`
const money = (usd: number) => Math.round(usd * 1e7) / 1e7
