/** Finds steps that were retried and steps that ran at the same time. */
import type { Node } from '../content/span-tree.ts'
import type { OutlineSpan } from '../contract.ts'

export interface RowMark {
  /** Which attempt the step is: 2 or more, after a failed sibling of the same kind and name. */
  readonly attempt?: number
  /** Number of siblings of the same kind that ran at the same time, including the step. */
  readonly together?: number
}

/** Kinds that are worth marking. Chains and custom spans overlap by their nature. */
const MARKED: readonly string[] = ['llm', 'tool', 'agent', 'retriever', 'embedding']
/** Minimum overlap of two parallel steps, as a share of the shorter step. Clocks of one step are not exact. */
const OVERLAP = 0.2

/** Returns the marks of steps that have any, by span id. */
export function markSteps(roots: readonly Node[]): ReadonlyMap<string, RowMark> {
  const marks = new Map<string, RowMark>()
  const waiting: (readonly Node[])[] = [roots]
  for (let siblings = waiting.pop(); siblings !== undefined; siblings = waiting.pop()) {
    const spans = siblings.flatMap(({ span }) => (span !== undefined && MARKED.includes(span.kind) ? [span] : []))
    for (const [id, attempt] of attemptsOf(spans)) marks.set(id, { attempt })
    for (const kind of MARKED) {
      for (const group of groupsOf(spans.filter(each => each.kind === kind))) {
        for (const { id } of group) marks.set(id, { ...marks.get(id), together: group.length })
      }
    }
    for (const { children } of siblings) if (children.length > 0) waiting.push(children)
  }
  return marks
}

function attemptsOf(spans: readonly OutlineSpan[]): ReadonlyMap<string, number> {
  const attempts = new Map<string, number>()
  const failed = new Map<string, number>()
  for (const { id, kind, name, status } of spans) {
    const what = `${kind} ${name}`
    const attempt = (failed.get(what) ?? 0) + 1
    if (attempt > 1) attempts.set(id, attempt)
    if (status === 'error') failed.set(what, attempt)
    else failed.delete(what)
  }
  return attempts
}

/** Returns the groups of two or more steps, each of which overlaps a step that began earlier in the group. */
function groupsOf(spans: readonly OutlineSpan[]): OutlineSpan[][] {
  const timed = spans
    .map(span => ({ span, from: Date.parse(span.startedAt), to: Date.parse(span.endedAt) }))
    .filter(({ from, to }) => to > from)
    .sort((a, b) => a.from - b.from)
  const groups: OutlineSpan[][] = []
  let longest: { from: number; to: number } | undefined
  for (const each of timed) {
    const shared = longest === undefined ? 0 : Math.min(longest.to, each.to) - each.from
    const shorter = longest === undefined ? 1 : Math.min(longest.to - longest.from, each.to - each.from)
    if (shared >= OVERLAP * shorter) groups.at(-1)!.push(each.span)
    else {
      groups.push([each.span])
      longest = undefined
    }
    if (longest === undefined || each.to > longest.to) longest = each
  }
  return groups.filter(({ length }) => length > 1)
}
