/**
 * Sums the steps, failures, tokens and cost below each node of a tree. Tokens and cost count once: an outer model call
 * restates the calls inside it, and calls restate the agents and chains around them (lib/trace/span-usage.ts has the
 * complete rules, which the server applies to traces that arrive by OpenTelemetry).
 */
import type { Outline, OutlineSpan, TokenUsage } from '../contract.ts'
import { isCulprit, type Node, visibleRows } from './span-tree.ts'

interface Spent {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly totalTokens: number
}

export interface SubtreeSums {
  /** Number of spans below the node. */
  readonly steps: number
  /** Number of failed spans below the node, without spans that only have a failed child. */
  readonly failures: number
  /** Tokens of the node and of the spans below it; null if none states tokens. */
  readonly usage: Spent | null
  readonly costUsd: number | null
}

const CALLS: readonly string[] = ['llm', 'embedding']

interface Amount<T> {
  readonly value: T | null
  /** Whether the value comes from model calls. */
  readonly ofCalls: boolean
}

/** Returns the amount that counts for a node, given its own amount and the sum of its children's amounts. */
function counted<T>(isCall: boolean, own: T | null, below: Amount<T>, size: (value: T) => number): Amount<T> {
  if (own === null) return below
  if (isCall) return { value: own, ofCalls: true }
  const isMore = below.value === null || size(own) > size(below.value)
  return below.ofCalls || !isMore ? below : { value: own, ofCalls: false }
}

const plus = (a: Spent | null, b: Spent | null): Spent | null =>
  a === null || b === null
    ? (a ?? b)
    : {
        inputTokens: a.inputTokens + b.inputTokens,
        outputTokens: a.outputTokens + b.outputTokens,
        totalTokens: a.totalTokens + b.totalTokens
      }
const plusCost = (a: number | null, b: number | null): number | null => (a === null || b === null ? (a ?? b) : a + b)

interface Gathered {
  steps: number
  failures: number
  usage: Amount<Spent>
  cost: Amount<number>
}
const nothing = (): Gathered => ({
  steps: 0,
  failures: 0,
  usage: { value: null, ofCalls: false },
  cost: { value: null, ofCalls: false }
})

/** Returns the sums by node key, and those of all roots together under the empty key. */
export function sumSubtrees(roots: readonly Node[]): ReadonlyMap<string, SubtreeSums> {
  const gathered = new Map<string, Gathered>([['', nothing()]])
  const rows = visibleRows(roots, new Set())
  const parents = new Map<string, string>()
  for (const { key, node } of rows) {
    gathered.set(key, nothing())
    for (const child of node.children) parents.set(child.key, key)
  }
  const sums = new Map<string, SubtreeSums>()
  const take = (key: string, usage: Spent | null, costUsd: number | null) => {
    const { steps, failures } = gathered.get(key)!
    sums.set(key, { steps, failures, usage, costUsd })
  }
  // In reverse order, children come before their parents.
  for (const { key, node } of rows.reverse()) {
    const own = gathered.get(key)!
    const { span } = node
    const isCall = span !== undefined && CALLS.includes(span.kind)
    const usage = counted<Spent>(isCall, span?.usage ?? null, own.usage, ({ totalTokens }) => totalTokens)
    const cost = counted(isCall, span?.costUsd ?? null, own.cost, value => value)
    take(key, usage.value, cost.value)
    const above = gathered.get(parents.get(key) ?? '')!
    above.steps += own.steps + (span === undefined ? 0 : 1)
    above.failures += own.failures + (isCulprit(node) ? 1 : 0)
    above.usage = { value: plus(above.usage.value, usage.value), ofCalls: above.usage.ofCalls || usage.ofCalls }
    above.cost = { value: plusCost(above.cost.value, cost.value), ofCalls: above.cost.ofCalls || cost.ofCalls }
  }
  const all = gathered.get('')!
  take('', all.usage.value, all.cost.value)
  return sums
}

export interface ShownTotals {
  readonly usage: TokenUsage
  readonly costUsd: number | null
  readonly model: string | null
  /** The totals that the trace does not state, for which those of its steps are shown. */
  readonly fromSteps: ReadonlySet<'usage' | 'cost' | 'model'>
}

/** Returns a trace's totals. Totals that the trace itself does not state are taken from its steps. */
export function totalsOf(
  { trace, spans }: Pick<Outline, 'trace' | 'spans'>,
  all: SubtreeSums | undefined
): ShownTotals {
  const fromSteps = new Set<'usage' | 'cost' | 'model'>()
  const states = trace.usage.totalTokens > 0 || trace.usage.inputTokens > 0 || trace.usage.outputTokens > 0
  let { usage, costUsd, model } = trace
  if (!states && all?.usage) {
    usage = all.usage
    fromSteps.add('usage')
  }
  if (costUsd === null && all !== undefined && all.costUsd !== null) {
    costUsd = all.costUsd
    fromSteps.add('cost')
  }
  if (model === null) {
    model = modelsOf(spans)[0] ?? null
    if (model !== null) fromSteps.add('model')
  }
  return { usage, costUsd, model, fromSteps }
}

/** Returns the models of the steps, the most frequent first. */
export function modelsOf(spans: readonly OutlineSpan[]): string[] {
  const counts = new Map<string, number>()
  for (const { model } of spans) if (model !== null) counts.set(model, (counts.get(model) ?? 0) + 1)
  return [...counts].sort(([, a], [, b]) => b - a).map(([model]) => model)
}
