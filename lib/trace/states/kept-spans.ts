/**
 * Decides which spans get a place in a gathered trace, which can have MAX_SPANS. Plain steps leave the last places to
 * the spans that a reader needs most: roots, failed spans, agents and calls of models, however deep they are in the
 * tree. A stored span never gives way.
 */
import { MAX_SPANS } from '../../schema/input.ts'
import { type GatheredSpan, type GatheredState, PROCESS_ROOT } from './gathered.ts'

/**
 * How many places the spans of each need leave free, in the order in which the spans of one export get places: the
 * earlier the need, the fewer. `ready.ts` renders rows only of the spans that find a place in a trace of which nothing
 * is stored. These are enough: let a trace have n spans, d of them from this export. The spans that find a place beside
 * them are the first ones in the order of need, at most L - n, where L are the places for their need. As d <= n, they
 * are among the first L of the whole export, and those find a place in an empty trace too. Neither the order nor L may
 * depend on what is stored.
 */
const LEAVES = { root: 0, failed: 1, called: 1, plain: MAX_SPANS / 10 }
type Need = keyof typeof LEAVES
const NEEDS = Object.keys(LEAVES) as Need[]
export const KEPT_PLACES = LEAVES.plain

/** The facts that decide how much a span needs a place. */
export interface Needed {
  readonly isRoot: boolean
  readonly failed: boolean
  readonly kind: string
}

function needOf({ isRoot, failed, kind }: Needed): Need {
  if (isRoot) return 'root'
  if (failed) return 'failed'
  return kind === 'agent' || kind === 'llm' ? 'called' : 'plain'
}

/** Sorts spans by their need. Spans of the same need keep their order. */
export function inNeedOrder<T>(spans: readonly T[], of: (span: T) => Needed): T[] {
  const needs = new Map<Need, T[]>(NEEDS.map(need => [need, []]))
  for (const span of spans) needs.get(needOf(of(span)))?.push(span)
  return [...needs.values()].flat()
}

/** A span without a parent is a root (lib/otlp/trace-hints.ts). */
const isRoot = ({ parentId }: { readonly parentId: string | null }): boolean => parentId === null

/** The first span of a process counts like a failed one: while no root has come, the trace takes its fields from it. */
const neededOf = (span: GatheredSpan): Needed => ({
  isRoot: isRoot(span),
  failed: span.status === 'error' || span.hints.level === PROCESS_ROOT,
  kind: span.kind
})

/** `fresh` are spans that are not stored, each once. Those that get a place keep their order, and so do the others. */
export function takePlaces(stored: GatheredState | undefined, fresh: readonly GatheredSpan[]) {
  const spans = stored?.spending ?? []
  if (spans.length + fresh.length <= MAX_SPANS - KEPT_PLACES) return { added: fresh, leftOut: [] }
  // The last place is for a root. With one in the trace or in the export, it is free: if the root is stored and not in
  // the export, then d < n in the rule above, so that one place more than in an empty trace changes nothing.
  const hasRoot = spans.some(isRoot) || fresh.some(isRoot)
  const placed = new Set<GatheredSpan>()
  for (const span of inNeedOrder(fresh, neededOf)) {
    const leaves = LEAVES[needOf(neededOf(span))]
    const most = MAX_SPANS - (leaves === 1 && hasRoot ? 0 : leaves)
    if (spans.length + placed.size < most) placed.add(span)
  }
  return { added: fresh.filter(span => placed.has(span)), leftOut: fresh.filter(span => !placed.has(span)) }
}
