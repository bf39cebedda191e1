/**
 * Sums a gathered trace's usage over its model calls, counting each call once. Two libraries often report the same
 * call, as nested spans or as siblings.
 */
import type { UsageFields } from './prepared.ts'

/** The span fields that the sums read. */
export interface SpanUsage extends UsageFields {
  readonly id: string
  readonly parentId: string | null
  readonly kind: string
  readonly costUsd: number | null
  readonly model: string | null
  readonly startMicros: number
  readonly endMicros: number
  /** The id that the provider gave its response. */
  readonly responseId: string | undefined
}

export type Spent = UsageFields & { readonly costUsd: number | null }

const CALLS: readonly string[] = ['llm', 'embedding']
export const isCall = ({ kind }: { readonly kind: string }): boolean => CALLS.includes(kind)
const hasUsage = (span: UsageFields): boolean =>
  span.inputTokens !== null || span.outputTokens !== null || span.totalTokens !== null
const hasCost = ({ costUsd }: SpanUsage): boolean => costUsd !== null

/**
 * Sums llm and embedding spans. `spans` must contain all spans of the trace. Agents and chains do not count, because
 * they repeat their calls' usage. The root's usage counts if no call reports any.
 */
export function sumSpending(spans: readonly SpanUsage[], rootId: string | undefined): Spent {
  // Floating-point sums depend on order. Sorting makes the sum independent of arrival order.
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

/** Returns the spans to count: each reporting call once, or the root if no call reports a value. */
function countedOf(spans: readonly SpanUsage[], says: (span: SpanUsage) => boolean, rootId: string | undefined) {
  const calls = new Set(spans.filter(span => isCall(span) && says(span)))
  if (calls.size > 0) dropNested(calls, spans)
  if (calls.size > 1) {
    dropSameResponse(calls)
    dropTwins(calls)
  }
  return calls.size > 0 ? [...calls] : spans.filter(span => span.id === rootId && says(span))
}

/** Keeps only the outermost of nested calls, at any depth. */
function dropNested(calls: Set<SpanUsage>, spans: readonly SpanUsage[]): void {
  const byId = new Map(spans.map(span => [span.id, span]))
  const all = new Set(calls)
  for (const call of all) {
    // Parent links may form a cycle, so take at most as many steps as there are spans.
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
 * Keeps the first of overlapping calls with the same response id. Calls that do not overlap are kept, because some
 * servers reuse an id for consecutive calls.
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
 * Drops calls that a second library reports. Sibling calls with the same model and usage are one call if one runs
 * inside the other. Each call has at most one twin, so that concurrent calls still count.
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

/** OpenTelemetry's JavaScript SDK rounds a span's start down to a millisecond, and shifts its end by as much. */
const WHOLE_MICROS = 1_000
const slackOf = ({ startMicros }: SpanUsage): number => (startMicros % WHOLE_MICROS === 0 ? WHOLE_MICROS : 0)

/**
 * Whether one call runs inside the other. Rounded times are tolerated only if exactly one call has a response id, which
 * shows that two libraries reported them. Concurrent calls from one library could otherwise look nested.
 */
function isInside(one: SpanUsage, other: SpanUsage): boolean {
  if (one.responseId === other.responseId) return contains(one, other, 0, 0)
  const overlap = one.startMicros < other.endMicros && other.startMicros < one.endMicros
  const [slack, otherSlack] = [slackOf(one), slackOf(other)]
  return overlap && (contains(one, other, slack, otherSlack) || contains(other, one, otherSlack, slack))
}

/** Whether `inner` may lie inside `outer` if each call ran later than reported, by less than its slack. */
function contains(outer: SpanUsage, inner: SpanUsage, slack: number, innerSlack: number): boolean {
  const atStart = inner.startMicros - outer.startMicros
  const atEnd = outer.endMicros - inner.endMicros
  return atStart + atEnd >= 0 && atStart > -innerSlack && atEnd > -slack
}

/** Sorts calls by start time, then by id. */
const inTime = (calls: Iterable<SpanUsage>): SpanUsage[] =>
  [...calls].sort((a, b) => a.startMicros - b.startMicros || (a.id < b.id ? -1 : 1))

const totalOf = ({ inputTokens, outputTokens, totalTokens }: SpanUsage): number =>
  totalTokens ?? (inputTokens ?? 0) + (outputTokens ?? 0)

/** Returns the sum, capped at 2^53 - 1, or null if no span reports a value. */
function sumOf(spans: readonly SpanUsage[], of: (span: SpanUsage) => number | null): number | null {
  const values = spans.map(of).filter(value => value !== null)
  return values.length === 0
    ? null
    : Math.min(
        values.reduce((sum, value) => sum + value, 0),
        Number.MAX_SAFE_INTEGER
      )
}
