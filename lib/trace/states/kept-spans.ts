/**
 * Decides which spans get one of a gathered trace's OTLP_MAX_SPANS slots. Plain steps leave the last tenth to the spans
 * that readers need most: roots, failed spans, agents, model calls and tools, at any depth. A stored span never loses
 * its slot.
 */
import { type GatheredSpan, type GatheredState, PROCESS_ROOT } from './gathered.ts'

/**
 * The order in which an export's spans get slots. Spans earlier in this order must leave fewer slots free. `ready.ts`
 * renders rows only for spans that get a slot in an empty trace. These rows are sufficient. Proof: let a trace have n
 * spans, d of them from this export. New spans get slots in order of need, at most L - n of them, where L is the number
 * of slots open to spans with the same need. Because d <= n, each of these spans is among the first L spans of the
 * whole export, and therefore also gets a slot in an empty trace. Neither the order nor L may depend on stored spans.
 */
const NEEDS = ['root', 'failed', 'called', 'plain'] as const
type Need = (typeof NEEDS)[number]
/** Number of slots that plain steps leave free. Failed spans and calls leave one slot free. */
export const keptPlaces = (maxSpans: number): number => Math.ceil(maxSpans / 10)

/** The facts that determine a span's need for a slot. */
export interface Needed {
  readonly isRoot: boolean
  readonly failed: boolean
  readonly kind: string
}

const CALLED: readonly string[] = ['agent', 'llm', 'tool']

function needOf({ isRoot, failed, kind }: Needed): Need {
  if (isRoot) return 'root'
  if (failed) return 'failed'
  return CALLED.includes(kind) ? 'called' : 'plain'
}

/** Sorts spans by need. The sort is stable. */
export function inNeedOrder<T>(spans: readonly T[], of: (span: T) => Needed): T[] {
  const needs = new Map<Need, T[]>(NEEDS.map(need => [need, []]))
  for (const span of spans) needs.get(needOf(of(span)))?.push(span)
  return [...needs.values()].flat()
}

/** Whether a span is a root, which is a span without a parent (lib/otlp/trace-hints.ts). */
const isRoot = ({ parentId }: { readonly parentId: string | null }): boolean => parentId === null

/**
 * A process's first span ranks like a failed span, because the trace takes its fields from that span until a root
 * arrives.
 */
const neededOf = (span: GatheredSpan): Needed => ({
  isRoot: isRoot(span),
  failed: span.status === 'error' || span.hints.level === PROCESS_ROOT,
  kind: span.kind
})

/**
 * Splits new spans into spans that get a slot and spans left out, each in the given order. The caller must pass each
 * span only once.
 */
export function takePlaces(stored: GatheredState | undefined, fresh: readonly GatheredSpan[], maxSpans: number) {
  const size = stored?.spans.size ?? 0
  if (size + fresh.length <= maxSpans - keptPlaces(maxSpans)) return { added: fresh, leftOut: [] }
  // The last slot is reserved for a root until the trace or the export has one. If a root is stored and not in the
  // export, then d < n in the proof above, so the additional slot is safe.
  const hasRoot = fresh.some(isRoot) || (stored !== undefined && [...stored.spans].some(isRoot))
  const placed = new Set<GatheredSpan>()
  for (const span of inNeedOrder(fresh, neededOf)) {
    const need = needOf(neededOf(span))
    const leaves = need === 'plain' ? keptPlaces(maxSpans) : need === 'root' || hasRoot ? 0 : 1
    if (size + placed.size < maxSpans - leaves) placed.add(span)
  }
  return { added: fresh.filter(span => placed.has(span)), leftOut: fresh.filter(span => !placed.has(span)) }
}
