/**
 * Decides which spans get a place in a gathered trace, which can have MAX_SPANS. While the root has not come, some places
 * are kept for what a reader needs most: the root, errors, and the agents and models that the root called.
 */
import { MAX_SPANS } from '../../schema/input.ts'
import { type GatheredSpan, type GatheredState, PROCESS_ROOT, ROOT } from './gathered.ts'

/** How many places the spans of each need leave to those before it, while the root has not come. */
const LEAVES = { root: 0, error: 1, called: 5, other: 20 }
type Need = keyof typeof LEAVES
const NEEDS = Object.keys(LEAVES) as Need[]
export const KEPT_PLACES = LEAVES.other

/** `fresh` are spans that are not stored, each once. Those that get a place keep their order, and so do the others. */
export function takePlaces(stored: GatheredState | undefined, fresh: readonly GatheredSpan[]) {
  const count = stored?.spanCount ?? 0
  if (count + fresh.length <= MAX_SPANS - KEPT_PLACES) return { added: fresh, leftOut: [] }
  const rootId = stored?.ranks.times?.[0] === ROOT ? stored.ranks.times[2] : fresh.find(isRoot)?.id
  const known = new Set([...(stored?.spending ?? []), ...fresh].map(({ id }) => id))
  const needOf = (span: GatheredSpan): Need => {
    if (isRoot(span)) return 'root'
    if (span.hints.level === PROCESS_ROOT || span.status === 'error') return 'error'
    // A parent that is not known yet may be the root.
    const isCalledByRoot = span.parentId === rootId || (rootId === undefined && !known.has(span.parentId ?? ''))
    return isCalledByRoot && (span.kind === 'agent' || span.kind === 'llm') ? 'called' : 'other'
  }
  const needs = fresh.map(needOf)
  const placed = new Set<GatheredSpan>()
  for (const need of NEEDS) {
    const most = rootId === undefined ? MAX_SPANS - LEAVES[need] : MAX_SPANS
    for (const [i, span] of fresh.entries()) if (needs[i] === need && count + placed.size < most) placed.add(span)
  }
  return { added: fresh.filter(span => placed.has(span)), leftOut: fresh.filter(span => !placed.has(span)) }
}

const isRoot = ({ hints }: GatheredSpan): boolean => hints.level === ROOT
