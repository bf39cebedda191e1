/**
 * Decides which spans of a gathered trace are stored when it has more than OTLP_MAX_SPANS. Plain steps leave the last
 * tenth to the spans that a reader needs most: roots, failed spans, agents, model calls and tools, at any depth. A
 * stored span never gives way.
 */
import { type GatheredSpan, type GatheredState, PROCESS_ROOT } from './gathered.ts'

/**
 * The needs, in the order in which the spans of one export get places: the earlier the need, the fewer places its spans
 * leave free. `ready.ts` renders rows only of the spans that find a place in a trace of which nothing
 * is stored. These are enough: let a trace have n spans, d of them from this export. The spans that find a place beside
 * them are the first ones in the order of need, at most L - n, where L are the places for their need. As d <= n, they
 * are among the first L of the whole export, and those find a place in an empty trace too. Neither the order nor L may
 * depend on what is stored.
 */
const NEEDS = ['root', 'failed', 'called', 'plain'] as const
type Need = (typeof NEEDS)[number]
/** Plain steps leave the last tenth free, failed spans and calls the last place. */
export const keptPlaces = (maxSpans: number): number => Math.ceil(maxSpans / 10)

/** The facts that decide how much a span needs a slot. */
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

/** A process's first span ranks like a failed span: the trace takes its fields from it until a root arrives. */
const neededOf = (span: GatheredSpan): Needed => ({
  isRoot: isRoot(span),
  failed: span.status === 'error' || span.hints.level === PROCESS_ROOT,
  kind: span.kind
})

/**
 * `fresh` are spans that are not stored, each once; a trace has at most `maxSpans`. Those that get a place keep their
 * order, and so do the others.
 */
export function takePlaces(stored: GatheredState | undefined, fresh: readonly GatheredSpan[], maxSpans: number) {
  const size = stored?.spans.size ?? 0
  if (size + fresh.length <= maxSpans - keptPlaces(maxSpans)) return { added: fresh, leftOut: [] }
  // The last place is for a root. With one in the trace or in the export, it is free: if the root is stored and not in
  // the export, then d < n in the rule above, so that one place more than in an empty trace changes nothing.
  const hasRoot = fresh.some(isRoot) || (stored !== undefined && [...stored.spans].some(isRoot))
  const placed = new Set<GatheredSpan>()
  for (const span of inNeedOrder(fresh, neededOf)) {
    const need = needOf(neededOf(span))
    const leaves = need === 'plain' ? keptPlaces(maxSpans) : need === 'root' || hasRoot ? 0 : 1
    if (size + placed.size < maxSpans - leaves) placed.add(span)
  }
  return { added: fresh.filter(span => placed.has(span)), leftOut: fresh.filter(span => !placed.has(span)) }
}
