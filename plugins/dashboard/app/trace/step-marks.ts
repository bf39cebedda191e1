/**
 * Finds steps that were retried and steps that ran at the same time.
 *
 * An attempt is a call that is made again after it failed: same kind, same name and same input, and it starts after
 * the failed call has ended. Other steps may lie between the two, such as the model call that reads the error. A call
 * with another input is another call, even right after a failure, because the trace does not say whether it replaces
 * the failed one. A success ends the chain. Calls of different agents are never attempts of each other.
 *
 * The outline has digests of short inputs. Inputs that are too long for a digest count as equal if their sizes are
 * equal. Calls whose input was not recorded count as equal only if they have the same parent.
 */
import type { Node } from '../content/span-tree.ts'
import type { OutlineSpan } from '../contract.ts'

export interface RowMark {
  /** Which attempt the step is: 2 or more. */
  readonly attempt?: number
  /** Number of siblings of the same kind that ran at the same time, including the step. */
  readonly together?: number
}

/** Kinds that are worth marking. Chains and custom spans overlap by their nature. */
const MARKED: readonly string[] = ['llm', 'tool', 'agent', 'retriever', 'embedding']
/** Minimum overlap of two parallel steps, as a share of the shorter step. Clocks of one step are not exact. */
const OVERLAP = 0.2

interface Timed {
  readonly span: OutlineSpan
  readonly from: number
  readonly to: number
}

/** Returns the marks of steps that have any, by span id. */
export function markSteps(roots: readonly Node[]): ReadonlyMap<string, RowMark> {
  const marks = new Map<string, RowMark>()
  const calls = new Map<string, Timed[]>()
  const waiting = [{ siblings: roots, parent: '', agent: '' }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { siblings, parent, agent } = next
    const steps = siblings.flatMap(({ span }) =>
      span !== undefined && MARKED.includes(span.kind) ? [timed(span)] : []
    )
    for (const step of steps) {
      const { kind, name, inputBytes, inputDigest } = step.span
      const call = JSON.stringify([inputBytes === 0 ? parent : agent, kind, name, inputBytes, inputDigest])
      const same = calls.get(call)
      if (same === undefined) calls.set(call, [step])
      else same.push(step)
    }
    for (const kind of MARKED) {
      for (const group of groupsOf(steps.filter(({ span }) => span.kind === kind))) {
        for (const { id } of group) marks.set(id, { together: group.length })
      }
    }
    for (const { key, span, children } of siblings) {
      if (children.length === 0) continue
      waiting.push({ siblings: children, parent: key, agent: span?.kind === 'agent' ? key : agent })
    }
  }
  for (const same of calls.values()) {
    for (const [id, attempt] of attemptsOf(same)) marks.set(id, { ...marks.get(id), attempt })
  }
  return marks
}

const timed = (span: OutlineSpan): Timed => ({
  span,
  from: Date.parse(span.startedAt),
  to: Date.parse(span.endedAt)
})

/** Numbers the attempts among equal calls. A call repeats the equal call that ended last before it starts. */
function attemptsOf(calls: readonly Timed[]): ReadonlyMap<string, number> {
  const attempts = new Map<string, number>()
  if (calls.length === 1) return attempts
  const started = [...calls].sort((a, b) => a.from - b.from || a.to - b.to)
  const ended = [...started].sort((a, b) => a.to - b.to)
  const seen = new Set<Timed>()
  let at = 0
  let last: Timed | undefined
  for (const call of started) {
    for (; at < ended.length && ended[at]!.to <= call.from && seen.has(ended[at]!); at++) last = ended[at]
    seen.add(call)
    if (last?.span.status === 'error') attempts.set(call.span.id, (attempts.get(last.span.id) ?? 1) + 1)
  }
  return attempts
}

/** Returns the groups of two or more steps, each of which overlaps a step that began earlier in the group. */
function groupsOf(steps: readonly Timed[]): OutlineSpan[][] {
  const lasting = steps.filter(({ from, to }) => to > from).sort((a, b) => a.from - b.from)
  const groups: OutlineSpan[][] = []
  let longest: Timed | undefined
  for (const each of lasting) {
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
