/**
 * Steps are spans that represent coding agents' calls and are made from log records (lib/otlp/agents). If the program
 * sends a span for the same call, the step is not stored, or is removed. The step's tokens and cost are then kept among
 * the trace's ranks, and are used for the span if the span reports none. The trace therefore depends only on which
 * spans and records have arrived, never on their order.
 */
import type { UsageFields } from '../prepared.ts'
import { sumKnown } from '../span-sums.ts'
import { SpanTree } from '../span-tree.ts'
import { hasUsage, isCall } from '../span-usage.ts'
import { type GatheredSpan, gatheredUsage } from './gathered-span.ts'
import type { CountedSpan } from './left-out.ts'
import { isCells, isString, orNull, type Rank, type Ranks, SPENDING } from './ranks.ts'

/** Prefix of the rank names for steps whose calls have spans. The step's id follows the prefix. */
const STEP = 'step.'
export const isStepRank = (name: string): boolean => name.startsWith(STEP)

/** Maximum difference between the times of a span and a step. A record is written when a call ends. */
const SLACK_MICROS = 100_000
/** Maximum difference for calls without an id, which are recognised by their usage. */
const USAGE_SLACK_MICROS = 1_000_000

const isNear = (span: CountedSpan, step: CountedSpan, slack: number): boolean =>
  step.startMicros <= span.endMicros + slack && span.startMicros <= step.endMicros + slack

/** Whether a span that a program sent belongs to the call that the step represents. */
export function isSpanOf(span: CountedSpan, step: CountedSpan): boolean {
  if (step.step === undefined || span.step !== undefined) return false
  if (span.id === step.id || span.id === step.step.call) return true
  if (step.toolCallId !== undefined) return span.toolCallId === step.toolCallId
  if (!isCall(step)) return false
  // Some providers reuse response ids, so the times must match too.
  if (step.responseId !== undefined && span.responseId !== undefined) {
    return step.responseId === span.responseId && isNear(span, step, SLACK_MICROS)
  }
  const isAlike = step.inputTokens === span.inputTokens && step.outputTokens === span.outputTokens
  return isAlike && step.inputTokens !== null && isNear(span, step, USAGE_SLACK_MICROS)
}

/** Steps of calls that have spans. */
export interface Replaced {
  /** New steps that are not stored. */
  readonly absorbed: readonly GatheredSpan[]
  /** Stored steps to remove. */
  readonly removed: readonly CountedSpan[]
}
export const NOTHING_REPLACED: Replaced = { absorbed: [], removed: [] }

/**
 * Finds the steps, both stored and new, that spans replace. Spans without a slot replace steps too, because their usage
 * counts.
 */
export function findReplaced(known: Iterable<CountedSpan>, fresh: readonly GatheredSpan[]): Replaced {
  const storedSteps: CountedSpan[] = []
  for (const span of known) if (span.step !== undefined) storedSteps.push(span)
  const isStep = (span: GatheredSpan) => span.hints.callSpanId !== undefined
  if (storedSteps.length === 0 && !fresh.some(isStep)) return NOTHING_REPLACED
  const spans = fresh.filter(span => !isStep(span)).map(gatheredUsage)
  const all = [...[...known].filter(({ step }) => step === undefined), ...spans]
  return {
    absorbed: fresh.filter(span => {
      if (!isStep(span)) return false
      const step = gatheredUsage(span)
      return all.some(each => isSpanOf(each, step))
    }),
    removed: storedSteps.filter(step => spans.some(span => isSpanOf(span, step)))
  }
}

type Cells = readonly [
  call: string,
  startMicros: number,
  responseId: string | null,
  inputTokens: number | null,
  outputTokens: number | null,
  totalTokens: number | null,
  costUsd: number | null
]

/** Returns ranks for replaced steps that state tokens or a cost and are not yet among the ranks. */
export function ranksOfSteps(ranks: Ranks | undefined, steps: readonly CountedSpan[]): Ranks {
  const news: Record<string, Rank> = {}
  for (const step of steps) {
    const { inputTokens, outputTokens, totalTokens, costUsd } = step
    const name = STEP + step.id
    const states = [inputTokens, outputTokens, totalTokens, costUsd].some(value => value !== null)
    if (!states || step.step === undefined || (ranks !== undefined && Object.hasOwn(ranks, name))) continue
    const { call } = step.step
    const numbers = [inputTokens, outputTokens, totalTokens, costUsd] as const
    news[name] = [0, step.endMicros, JSON.stringify([call, step.startMicros, step.responseId ?? null, ...numbers])]
  }
  return news
}

function decode(id: string, [, endMicros, text]: Rank): CountedSpan {
  const [call, startMicros, responseId, inputTokens, outputTokens, totalTokens, costUsd]: Cells = JSON.parse(text)
  return {
    ...{ id, parentId: null, kind: 'llm', model: null, inputTokens, outputTokens, totalTokens, costUsd },
    ...{ startMicros, endMicros, responseId: responseId ?? undefined, failed: false },
    step: { call, bytes: 0, hash: '' }
  }
}

/** Returns the spans, with the tokens or cost of the steps that a span replaces if the span reports none. */
export function withReplacedSteps(spans: SpanTree<CountedSpan>, ranks: Ranks): SpanTree<CountedSpan> {
  const names = Object.keys(ranks).filter(isStepRank)
  if (names.length === 0) return spans
  const all = [...spans]
  const facts = new Map<string, CountedSpan[]>()
  for (const name of names) {
    const step = decode(name.slice(STEP.length), ranks[name] as Rank)
    const distance = ({ endMicros }: CountedSpan) => Math.abs(endMicros - step.endMicros)
    const [nearest] = all
      .filter(span => isSpanOf(span, step))
      .sort((a, b) => distance(a) - distance(b) || (a.id < b.id ? -1 : 1))
    if (nearest !== undefined) facts.set(nearest.id, [...(facts.get(nearest.id) ?? []), step])
  }
  return new SpanTree(all.map(span => addFacts(span, facts.get(span.id) ?? [])))
}

function addFacts(span: CountedSpan, steps: readonly CountedSpan[]): CountedSpan {
  if (steps.length === 0) return span
  const sum = (field: 'costUsd' | keyof UsageFields) => sumKnown(steps.map(step => step[field]))
  const usage = { inputTokens: sum('inputTokens'), outputTokens: sum('outputTokens'), totalTokens: sum('totalTokens') }
  const reported = span.costIsComputed ? null : span.costUsd
  const cost = reported ?? sum('costUsd')
  return { ...span, ...(!hasUsage(span) && usage), ...(cost !== null && { costUsd: cost, costIsComputed: false }) }
}

/** Whether a string, which may come from an untrusted file, is a serialised step. */
export const isStepText = (text: string): boolean =>
  isCells(text, [isString, Number.isSafeInteger, orNull(isString), ...SPENDING])
