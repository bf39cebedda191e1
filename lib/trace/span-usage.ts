/**
 * Sums a gathered trace's usage and cost, counting each model call once. Several spans often report the same numbers:
 * two libraries may report one call, and agents repeat their calls' totals.
 *
 * A reported number counts unless another span repeats it:
 * - An outer call repeats the calls inside it, unless the two calls have different response ids, or one is an
 *   embedding and the other is not. A call also repeats the agent, chain and custom spans inside it.
 * - The calls inside a span that is not a call repeat that span. If there are no calls inside, the larger number
 *   counts: the span's own, or the sum of the spans below it.
 * - Two calls count as one call if they overlap and have the same response id, or if they are siblings with the same
 *   model and usage and one runs inside the other.
 *
 * A computed cost belongs to a call that reports tokens but no cost. The computed cost counts only if, by the rules
 * above, no reported cost counts for the same call: neither on a span around the call, nor on a span inside the call,
 * nor on another report of the call.
 *
 * The result depends only on the set of spans, never on their order.
 */
import type { UsageFields } from './prepared.ts'
import type { SpanTree } from './span-tree.ts'

/** The span fields that the sums read. */
export interface SpanUsage extends UsageFields {
  readonly id: string
  readonly parentId: string | null
  readonly kind: string
  readonly costUsd: number | null
  /** Whether the span reports no cost, and costUsd was computed from its tokens (lib/trace/prices). */
  readonly costIsComputed?: boolean | undefined
  readonly model: string | null
  readonly startMicros: number
  readonly endMicros: number
  /** The id that the provider gave to its response. */
  readonly responseId: string | undefined
}

export type Spent = UsageFields & { readonly costUsd: number | null }

const CALLS: readonly string[] = ['llm', 'embedding']
export const isCall = ({ kind }: { readonly kind: string }): boolean => CALLS.includes(kind)
/** Kinds of spans that only wrap a call. Spans of other kinds may use additional tokens or money. */
const WRAPPERS: readonly string[] = ['agent', 'chain', 'custom']

export const hasUsage = (span: UsageFields): boolean =>
  span.inputTokens !== null || span.outputTokens !== null || span.totalTokens !== null
const hasCost = ({ costUsd }: SpanUsage): boolean => costUsd !== null
const totalOf = ({ inputTokens, outputTokens, totalTokens }: SpanUsage): number =>
  totalTokens ?? (inputTokens ?? 0) + (outputTokens ?? 0)

/** Selects token counts or costs. */
interface Measure {
  readonly isReported: (span: SpanUsage) => boolean
  readonly amountOf: (span: SpanUsage) => number
}
const USAGE: Measure = { isReported: hasUsage, amountOf: totalOf }
const COST: Measure = { isReported: hasCost, amountOf: ({ costUsd }) => costUsd ?? 0 }
const isComputed = ({ costIsComputed }: SpanUsage): boolean => costIsComputed === true
const REPORTED_COST: Measure = { ...COST, isReported: span => hasCost(span) && !isComputed(span) }

/** Returns a trace's tokens, capped at 2^53 - 1, and its cost in US dollars. A value that no span reports is null. */
export function sumSpending(spans: SpanTree<SpanUsage>): Spent {
  let states = false
  let statesCost = false
  let computesCost = false
  // Whether the same spans count for tokens and for costs, because only calls report numbers and each call reports
  // both.
  let isAlike = true
  for (const span of spans) {
    const [used, paid] = [hasUsage(span), hasCost(span)]
    if (!used && !paid) continue
    states = true
    if (paid) {
      if (isComputed(span)) computesCost = true
      else statesCost = true
    }
    isAlike &&= used === paid && isCall(span)
  }
  if (!states) return { inputTokens: null, outputTokens: null, totalTokens: null, costUsd: null }
  const paths = walk(spans)
  const used = countedOf(paths, USAGE)
  const paid =
    statesCost && computesCost
      ? withComputed(paths, countedOf(paths, REPORTED_COST))
      : isAlike
        ? used
        : countedOf(paths, COST)
  return {
    inputTokens: sumCounts(used, span => span.inputTokens),
    outputTokens: sumCounts(used, span => span.outputTokens),
    totalTokens: used.some(span => span.totalTokens !== null) ? sumCounts(used, totalOf) : null,
    costUsd: sumExactly(paid.map(span => span.costUsd).filter(cost => cost !== null))
  }
}

/** Spans ordered so that parents precede their children, with the index of each span's parent, or -1. */
interface Paths {
  readonly spans: readonly SpanUsage[]
  readonly parents: readonly number[]
}

/**
 * Walks the tree from its topmost spans. Parent links may form a cycle, which has no topmost span. The walk enters a
 * cycle at the span with the lowest id.
 */
function walk(tree: SpanTree<SpanUsage>): Paths {
  const spans: SpanUsage[] = []
  const parents: number[] = []
  const enter = (span: SpanUsage, parent: number) => {
    spans.push(span)
    parents.push(parent)
  }
  /** Enters the children of every span from this index on, including the children of the spans that it enters. */
  const follow = (from: number, isNew: (span: SpanUsage) => boolean) => {
    for (let i = from; i < spans.length; i++) {
      for (const child of tree.childrenOf((spans[i] as SpanUsage).id)) if (isNew(child)) enter(child, i)
    }
  }
  for (const span of tree) if (span.parentId === null || !tree.has(span.parentId)) enter(span, -1)
  // Each span has one parent, so the walk meets a span twice only in a cycle. No topmost span leads to a cycle.
  follow(0, () => true)
  if (spans.length === tree.size) return { spans, parents }
  const left = new Set([...tree].map(({ id }) => id))
  for (const { id } of spans) left.delete(id)
  const circular = [...tree].filter(({ id }) => left.has(id)).sort((a, b) => (a.id < b.id ? -1 : 1))
  for (const span of circular) {
    if (!left.delete(span.id)) continue
    enter(span, -1)
    follow(spans.length - 1, ({ id }) => left.delete(id))
  }
  return { spans, parents }
}

function countedOf({ spans, parents }: Paths, { isReported, amountOf }: Measure): readonly SpanUsage[] {
  const reported = spans.map(isReported)
  const repeated = repeatedByCalls(spans, parents, reported)
  const calls = new Set(spans.filter((span, i) => reported[i] && !repeated[i] && isCall(span)))
  if (calls.size > 1) {
    dropSameResponse(calls)
    dropTwins(calls)
  }
  // From the leaves up, computes the amount that counts below each span, and whether any call below the span reports an
  // amount.
  const below = new Float64Array(spans.length)
  const hasCall = new Uint8Array(spans.length)
  const own = new Uint8Array(spans.length)
  for (let i = spans.length - 1; i >= 0; i--) {
    const span = spans[i] as SpanUsage
    const isReportedCall = reported[i] === true && isCall(span)
    let amount = below[i] as number
    if (isReportedCall) {
      if (calls.has(span)) amount += amountOf(span)
    } else if (reported[i] && !repeated[i] && hasCall[i] === 0 && isMore(amountOf(span), amount)) {
      own[i] = 1
      amount = amountOf(span)
    }
    const parent = parents[i] as number
    if (parent < 0) continue
    below[parent] = (below[parent] as number) + amount
    if (isReportedCall || hasCall[i] === 1) hasCall[parent] = 1
  }
  const replaced = new Uint8Array(spans.length)
  return spans.filter((span, i) => {
    const parent = parents[i] as number
    if (parent >= 0 && (own[parent] === 1 || replaced[parent] === 1)) replaced[i] = 1
    if (replaced[i] === 1) return false
    return own[i] === 1 || calls.has(span)
  })
}

/** Adds the calls whose computed cost counts to the spans whose reported cost counts. */
function withComputed({ spans, parents }: Paths, paid: readonly SpanUsage[]): readonly SpanUsage[] {
  const isPaid = new Set(paid)
  const counts = spans.map(span => hasCost(span) && isComputed(span))
  spans.forEach((span, i) => {
    const states = isPaid.has(span)
    if (!states && !counts[i]) return
    for (let at = parents[i] as number; at >= 0; at = parents[at] as number) {
      const outer = spans[at] as SpanUsage
      const isPair = states ? counts[at] === true : isPaid.has(outer)
      if (isPair && isSameMoney(outer, span)) counts[states ? at : i] = false
    }
  })
  const repeated = repeatedByCalls(spans, parents, counts)
  const calls = new Set([...paid.filter(isCall), ...spans.filter((_, i) => counts[i] && !repeated[i])])
  dropSameResponse(calls, isComputed)
  dropTwins(calls, isComputed)
  return [...paid, ...[...calls].filter(isComputed)]
}

/**
 * Whether the costs of a span and of a span inside that span cover the same calls. At least one of the two spans is a
 * call.
 */
function isSameMoney(outer: SpanUsage, inner: SpanUsage): boolean {
  if (!isCall(outer) || WRAPPERS.includes(inner.kind)) return true
  return outer.kind === inner.kind && !isOtherResponse(outer, inner)
}

/** Differences in the last digits are ignored, because a floating-point sum depends on the order of its terms. */
const isMore = (own: number, below: number): boolean => below === 0 || own > below * (1 + 1e-9)

/** The calls around a span, innermost first. */
interface Around {
  readonly outer: Around | undefined
  readonly kind: string
  readonly responseId: string | undefined
}

/** Returns, for each span, whether a call around the span repeats the span's numbers. */
function repeatedByCalls(
  spans: readonly SpanUsage[],
  parents: readonly number[],
  reported: readonly boolean[]
): readonly boolean[] {
  const around: (Around | undefined)[] = new Array(spans.length)
  return spans.map((span, i) => {
    const parent = parents[i] as number
    const outer = parent < 0 ? undefined : around[parent]
    around[i] = outer
    if (!reported[i]) return false
    const repeated = isRepeated(span, outer)
    if (isCall(span) && !repeated) around[i] = { outer, kind: span.kind, responseId: span.responseId }
    return repeated
  })
}

function isRepeated({ kind, responseId }: SpanUsage, around: Around | undefined): boolean {
  if (around === undefined) return false
  if (WRAPPERS.includes(kind)) return true
  if (!CALLS.includes(kind)) return false
  for (let call: Around | undefined = around; call !== undefined; call = call.outer) {
    if (call.kind === kind && !isOtherResponse(call, { responseId })) return true
  }
  return false
}

type Response = Pick<SpanUsage, 'responseId'>
const isOtherResponse = (one: Response, other: Response): boolean =>
  one.responseId !== undefined && other.responseId !== undefined && one.responseId !== other.responseId

/** Selects the reports of a call that are dropped in favour of another report, regardless of which came first. */
type GivesWay = (call: SpanUsage) => boolean
const NONE: GivesWay = () => false

/**
 * Keeps the first of overlapping calls with the same response id. Calls that do not overlap are kept, because some
 * servers reuse an id for consecutive calls.
 */
function dropSameResponse(calls: Set<SpanUsage>, givesWay = NONE): void {
  const kept = new Map<string, SpanUsage>()
  for (const call of inTime([...calls].filter(each => each.responseId !== undefined))) {
    const { startMicros } = call
    const responseId = call.responseId as string
    const before = kept.get(responseId)
    const isSame = before !== undefined && startMicros < before.endMicros
    if (isSame && !(givesWay(before) && !givesWay(call))) calls.delete(call)
    else {
      if (isSame) calls.delete(before)
      kept.set(responseId, call)
    }
  }
}

/**
 * Drops calls that a second library reports. Sibling calls with the same model and usage count as one call if one runs
 * inside the other. Each call has at most one twin, so that concurrent calls still count.
 */
function dropTwins(calls: Set<SpanUsage>, givesWay?: GivesWay): void {
  const groups = new Map<string, SpanUsage[]>()
  for (const call of calls) {
    const { parentId, model, inputTokens, outputTokens } = call
    if (parentId === null || model === null || !hasUsage(call)) continue
    const key = `${parentId} ${inputTokens} ${outputTokens} ${totalOf(call)} ${model}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [call])
    else group.push(call)
  }
  for (const group of groups.values()) if (group.length > 1) dropTwinsOf(group, calls, givesWay)
}

/** Drops twins within a group. If `givesWay` is set, two calls are twins only if at least one of them gives way. */
function dropTwinsOf(group: readonly SpanUsage[], calls: Set<SpanUsage>, givesWay?: GivesWay): void {
  let single: SpanUsage[] = []
  for (const call of inTime(group)) {
    single = single.filter(({ endMicros }) => endMicros + WHOLE_MICROS > call.startMicros)
    const mayBe = (other: SpanUsage) => givesWay === undefined || givesWay(other) || givesWay(call)
    const outer = single.findIndex(other => mayBe(other) && isTwin(other, call))
    if (outer < 0) single.push(call)
    else {
      const [twin] = single.splice(outer, 1) as [SpanUsage]
      calls.delete(givesWay?.(twin) === true && !givesWay(call) ? twin : call)
    }
  }
}

const isTwin = (one: SpanUsage, other: SpanUsage): boolean =>
  (one.responseId === undefined || other.responseId === undefined) && isInside(one, other)

/**
 * OpenTelemetry's JavaScript SDK rounds a span's start down to a millisecond, and shifts the span's end by the same
 * amount.
 */
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

/** Whether `inner` may have run inside `outer`. Each call may have run later than reported, by less than its slack. */
function contains(outer: SpanUsage, inner: SpanUsage, slack: number, innerSlack: number): boolean {
  const atStart = inner.startMicros - outer.startMicros
  const atEnd = outer.endMicros - inner.endMicros
  return atStart + atEnd >= 0 && atStart > -innerSlack && atEnd > -slack
}

/** Sorts calls by start time, then by id. */
const inTime = (calls: Iterable<SpanUsage>): SpanUsage[] =>
  [...calls].sort((a, b) => a.startMicros - b.startMicros || (a.id < b.id ? -1 : 1))

function sumCounts(spans: readonly SpanUsage[], of: (span: SpanUsage) => number | null): number | null {
  const values = spans.map(of).filter(value => value !== null)
  if (values.length === 0) return null
  return Math.min(
    values.reduce((sum, value) => sum + value, 0),
    Number.MAX_SAFE_INTEGER
  )
}

/**
 * Returns the correctly rounded sum of finite, non-negative numbers, or null for an empty list. The sum does not depend
 * on the numbers' order. Returns the largest double if the sum is larger. The method is grow-expansion from J. R.
 * Shewchuk, "Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates", 1997.
 */
export function sumExactly(values: readonly number[]): number | null {
  if (values.length === 0) return null
  // Non-overlapping numbers, smallest first, whose exact sum is the exact sum of the values so far.
  const parts: number[] = []
  for (const value of values) {
    let sum = value
    let kept = 0
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i] as number
      const [high, low] = Math.abs(sum) >= Math.abs(part) ? [sum, part] : [part, sum]
      sum = high + low
      if (sum === Number.POSITIVE_INFINITY) return Number.MAX_VALUE
      const lost = low - (sum - high)
      if (lost !== 0) parts[kept++] = lost
    }
    parts.length = kept
    parts.push(sum)
  }
  // Adds the parts from the largest down and stops at the first inexact addition, so that the sum is rounded once.
  let total = 0
  for (let i = parts.length - 1; i >= 0; i--) {
    const part = parts[i] as number
    const sum = total + part
    const lost = part - (sum - total)
    total = sum
    if (lost === 0) continue
    // The next part's sign breaks a tie.
    const next = parts[i - 1]
    if (next !== undefined && lost < 0 === next < 0 && total + 2 * lost - total === 2 * lost) total += 2 * lost
    break
  }
  return total
}
