/**
 * Generates ordinary traces for the 24 hours before a given time, so that lists look like the lists of a busy project.
 * Names, models, sizes, times, failures and scores vary.
 */
import type { ScoreInput, SpanInput } from '../schema/input.ts'
import { clock, type DemoTrace, spanId, traceId } from './parts.ts'

const DAY_MS = 24 * 3_600_000

interface Model {
  readonly provider: string
  readonly model: string
  /** Price in US dollars per million tokens. */
  readonly input: number
  readonly output: number
  /** Time per output token, in milliseconds. */
  readonly pace: number
}

const MODELS: readonly Model[] = [
  { provider: 'openai', model: 'gpt-5-mini', input: 0.25, output: 2, pace: 9 },
  { provider: 'anthropic', model: 'claude-sonnet-4-5', input: 3, output: 15, pace: 16 },
  { provider: 'google', model: 'gemini-2.5-flash', input: 0.3, output: 2.5, pace: 6 },
  { provider: 'mistralai', model: 'mistral-small-2506', input: 0.1, output: 0.3, pace: 7 }
]

const RUNS: readonly { readonly name: string; readonly tag: string; readonly tools: readonly string[] }[] = [
  { name: 'support-agent', tag: 'support', tools: ['lookup_order', 'search_policy', 'create_ticket'] },
  { name: 'catalogue-search', tag: 'search', tools: ['search_shelf'] },
  { name: 'review-change', tag: 'review', tools: ['read_file', 'run_tests'] },
  { name: 'translate-blurb', tag: 'translation', tools: [] },
  { name: 'classify-mail', tag: 'mail', tools: [] }
]

const QUESTIONS = [
  'Which edition of the atlas is in stock?',
  'Please shorten the blurb to 300 characters.',
  'My parcel has not arrived. What can I do?',
  'Is there a reading this month for children?',
  'Sort this mail: an invoice, a complaint, or an order?'
]
const ERRORS = ['RateLimitError', 'TimeoutError', 'InvalidRequestError']

type Random = () => number

/** Generates `count` traces before `end`, oldest first. `random` returns numbers from 0 up to but not including 1. */
export function ordinaryTraces(end: number, count: number, random: Random = Math.random): DemoTrace[] {
  const starts = Array.from({ length: Math.max(0, count) }, () => end - random() * DAY_MS).sort((a, b) => a - b)
  return starts.map(start => ordinaryTrace(Math.round(start), random))
}

const pick = <T>(list: readonly T[], random: Random): T => list[Math.floor(random() * list.length)]!

function ordinaryTrace(start: number, random: Random): DemoTrace {
  const run = pick(RUNS, random)
  const model = pick(MODELS, random)
  const question = pick(QUESTIONS, random)
  const isFailed = random() < 0.07
  const { spans, durationMs, usage, costUsd } = stepsOf(run, model, question, isFailed, start, random)
  const at = clock(start)
  const answer = `Done: ${question.slice(0, -1).toLowerCase()}.`
  return {
    body: {
      schemaVersion: 1,
      trace: {
        id: traceId(),
        name: run.name,
        status: isFailed ? 'error' : 'ok',
        startedAt: at(0),
        endedAt: at(durationMs),
        provider: model.provider,
        model: model.model,
        tags: ['demo', run.tag],
        userId: `demo-customer-${Math.floor(random() * 40)}`,
        sessionId: `demo-chat-${10 + Math.floor(random() * 60)}`,
        input: question,
        ...(!isFailed && { output: answer }),
        usage,
        costUsd,
        spans
      }
    },
    scores: scoresOf(isFailed, random)
  }
}

/** Generates model calls, with a tool call between consecutive model calls. If the run fails, its last step fails. */
function stepsOf(
  { name, tools }: (typeof RUNS)[number],
  model: Model,
  question: string,
  isFailed: boolean,
  start: number,
  random: Random
) {
  const at = clock(start)
  const rootId = spanId()
  const spans: SpanInput[] = []
  let now = 5
  let [sent, received, cost] = [0, 0, 0]
  const calls = tools.length === 0 ? 1 : 1 + Math.ceil(random() * 3)
  for (let i = 0; i < calls; i++) {
    const isLast = i === calls - 1
    const [input, output] = [Math.round(200 + 900 * (i + random())), Math.round(20 + 260 * random() ** 2)]
    const fails = isFailed && isLast
    const took = fails ? 60 + 5_000 * random() ** 3 : 180 + output * model.pace * (0.7 + random())
    const price = (input * model.input + output * model.output) / 1e6
    spans.push({
      id: spanId(),
      parentSpanId: rootId,
      name: `chat ${model.model}`,
      kind: 'llm',
      status: fails ? 'error' : 'ok',
      startedAt: at(now),
      endedAt: at(now + took),
      provider: model.provider,
      model: model.model,
      input: [
        { role: 'system', content: 'You work for a bookshop. Be brief.' },
        { role: 'user', content: question }
      ],
      ...(fails
        ? { attributes: { 'error.type': pick(ERRORS, random) } }
        : {
            output: { role: 'assistant', content: isLast ? 'Done.' : 'I will look it up.' },
            usage: tokens(input, output),
            costUsd: price
          })
    })
    if (!fails) [sent, received, cost] = [sent + input, received + output, cost + price]
    now += took
    if (isLast) break
    const toolMs = 20 + 700 * random() ** 2
    spans.push({
      id: spanId(),
      parentSpanId: rootId,
      name: pick(tools, random),
      kind: 'tool',
      status: 'ok',
      startedAt: at(now + 2),
      endedAt: at(now + 2 + toolMs),
      input: { question },
      output: { found: Math.ceil(random() * 9) }
    })
    now += toolMs + 4
  }
  const root: SpanInput = {
    id: rootId,
    name,
    kind: tools.length === 0 ? 'chain' : 'agent',
    status: isFailed ? 'error' : 'ok',
    startedAt: at(0),
    endedAt: at(now + 3),
    input: question
  }
  return { spans: [root, ...spans], durationMs: now + 5, usage: tokens(sent, received), costUsd: cost }
}

function tokens(inputTokens: number, outputTokens: number) {
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens }
}

function scoresOf(isFailed: boolean, random: Random): ScoreInput[] {
  const scores: ScoreInput[] = []
  if (random() < 0.4) {
    const value = Math.round(100 * (isFailed ? 0.4 * random() : 0.55 + 0.45 * random())) / 100
    scores.push({ name: 'helpfulness', dataType: 'numeric', value })
  }
  if (random() < 0.2) scores.push({ name: 'resolved', dataType: 'boolean', value: !isFailed && random() < 0.9 })
  return scores
}
