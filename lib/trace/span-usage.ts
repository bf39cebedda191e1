/**
 * Sums what a gathered trace has used over its calls of models, so that no call counts twice. Two libraries often
 * report the same call: one around the other, or one beside the other.
 */
import type { UsageFields } from './prepared.ts'

/** The fields of a span that the sums read. */
export interface SpanUsage extends UsageFields {
  readonly id: string
  readonly parentId: string | null
  readonly kind: string
  readonly costUsd: number | null
  readonly model: string | null
  readonly startMicros: number
  readonly endMicros: number
  /** The id that the provider gave its answer. */
  readonly responseId: string | undefined
}

export type Spent = UsageFields & { readonly costUsd: number | null }

const CALLS: readonly string[] = ['llm', 'embedding']
export const isCall = ({ kind }: { readonly kind: string }): boolean => CALLS.includes(kind)
const hasUsage = (span: UsageFields): boolean =>
  span.inputTokens !== null || span.outputTokens !== null || span.totalTokens !== null
const hasCost = ({ costUsd }: SpanUsage): boolean => costUsd !== null

/**
 * Sums llm and embedding spans; `spans` are all spans of the trace. Agents and chains repeat what their calls used, so
 * they do not count. If no call reports usage, that of the root counts.
 */
export function sumSpending(spans: readonly SpanUsage[], rootId: string | undefined): Spent {
  // A sum of floating-point numbers depends on the order, so the order must not depend on the arrival of spans.
  const sorted = spans.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const used = countedOf(sorted, hasUsage, rootId)
  const haveBoth = sorted.every(span => hasUsage(span) === hasCost(span))
  const paid = haveBoth ? used : countedOf(sorted, hasCost, rootId)
  return {
    inputTokens: sumOf(used, span => span.inputTokens),
    outputTokens: sumOf(used, span => span.outputTokens),
    totalTokens: used.some(span => span.totalTokens !== null) ? sumOf(used, totalOf) : null,
    costUsd: sumOf(paid, span => span.costUsd)
  }
}

/** The spans that count: of the calls that report something, each once; else the root. */
function countedOf(spans: readonly SpanUsage[], says: (span: SpanUsage) => boolean, rootId: string | undefined) {
  const calls = new Set(spans.filter(span => isCall(span) && says(span)))
  if (calls.size > 0) dropNested(calls, spans)
  if (calls.size > 1) {
    dropSameResponse(calls)
    dropTwins(calls)
  }
  return calls.size > 0 ? [...calls] : spans.filter(span => span.id === rootId && says(span))
}

/** Keeps the outermost of calls that are nested in each other at any depth. */
function dropNested(calls: Set<SpanUsage>, spans: readonly SpanUsage[]): void {
  const byId = new Map(spans.map(span => [span.id, span]))
  const all = new Set(calls)
  for (const call of all) {
    // Parents may go round in a circle: a way up has no more steps than there are spans.
    let steps = spans.length
    for (let id = call.parentId; id !== null && steps > 0; steps--) {
      const span = byId.get(id)
      if (span !== undefined && all.has(span)) {
        calls.delete(call)
        break
      }
      id = span?.parentId ?? null
    }
  }
}

/**
 * Keeps the first of several calls with the same answer at the same time. The time is compared too, because some
 * servers give the same id to several calls, one after the other.
 */
function dropSameResponse(calls: Set<SpanUsage>): void {
  const ends = new Map<string, number>()
  for (const call of inTime(calls)) {
    const { responseId, startMicros, endMicros } = call
    if (responseId === undefined) continue
    const end = ends.get(responseId)
    if (end === undefined || startMicros >= end) ends.set(responseId, endMicros)
    else calls.delete(call)
  }
}

/**
 * Two calls beside each other, of one model and usage, one of which begins after the other and ends before it, are one
 * that two libraries report. A call has one twin at most, so that calls that run at the same time still count.
 */
function dropTwins(calls: Set<SpanUsage>): void {
  const single: SpanUsage[] = []
  for (const call of inTime(calls)) {
    const outer = single.findIndex(other => isTwin(other, call))
    if (outer < 0) {
      single.push(call)
    } else {
      single.splice(outer, 1)
      calls.delete(call)
    }
  }
}

function isTwin(one: SpanUsage, other: SpanUsage): boolean {
  return (
    one.parentId !== null &&
    one.parentId === other.parentId &&
    one.model !== null &&
    one.model === other.model &&
    hasUsage(one) &&
    one.inputTokens === other.inputTokens &&
    one.outputTokens === other.outputTokens &&
    totalOf(one) === totalOf(other) &&
    (one.responseId === undefined || other.responseId === undefined) &&
    isInside(one, other)
  )
}

/** OpenTelemetry's SDK for JavaScript begins a span at a whole millisecond, and ends it as much too early. */
const WHOLE_MICROS = 1_000
const slackOf = ({ startMicros }: SpanUsage): number => (startMicros % WHOLE_MICROS === 0 ? WHOLE_MICROS : 0)

/**
 * Whether one of the two runs inside the other. Clocks are allowed for only if one of the calls has the id of an answer
 * and the other has none, so that they come from two libraries: those of one library that run at the same time may look
 * so.
 */
function isInside(one: SpanUsage, other: SpanUsage): boolean {
  if (one.responseId === other.responseId) return contains(one, other, 0, 0)
  const overlap = one.startMicros < other.endMicros && other.startMicros < one.endMicros
  const [slack, otherSlack] = [slackOf(one), slackOf(other)]
  return overlap && (contains(one, other, slack, otherSlack) || contains(other, one, otherSlack, slack))
}

/** Whether `inner` may run inside `outer` if each ran less than its slack later than it says. */
function contains(outer: SpanUsage, inner: SpanUsage, slack: number, innerSlack: number): boolean {
  const atStart = inner.startMicros - outer.startMicros
  const atEnd = outer.endMicros - inner.endMicros
  return atStart + atEnd >= 0 && atStart > -innerSlack && atEnd > -slack
}

/** In the order of their beginnings; of calls that begin together, in that of their ids. */
const inTime = (calls: Iterable<SpanUsage>): SpanUsage[] =>
  [...calls].sort((a, b) => a.startMicros - b.startMicros || (a.id < b.id ? -1 : 1))

const totalOf = ({ inputTokens, outputTokens, totalTokens }: SpanUsage): number =>
  totalTokens ?? (inputTokens ?? 0) + (outputTokens ?? 0)

/** The sum, up to 2^53 - 1; null if no span reports a value. */
function sumOf(spans: readonly SpanUsage[], of: (span: SpanUsage) => number | null): number | null {
  const values = spans.map(of).filter(value => value !== null)
  return values.length === 0
    ? null
    : Math.min(
        values.reduce((sum, value) => sum + value, 0),
        Number.MAX_SAFE_INTEGER
      )
}
