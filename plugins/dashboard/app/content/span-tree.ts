/**
 * Arranges spans as a tree and the tree as rows. The tree contains each span exactly once, even if parents are missing
 * or form a cycle: a missing parent becomes a group, and a span that is its own ancestor becomes a root.
 */
import type { OutlineSpan } from '../contract.ts'

/** Id of the row that represents the trace itself in a list of the trace's spans. */
export const TRACE_ROW = 'trace'

export interface Node {
  /** The span's id; for a group, `missing:` and the missing parent's id. */
  readonly key: string
  readonly span: OutlineSpan | undefined
  /** The missing parent's id; undefined unless the node is a group. */
  readonly missing: string | undefined
  readonly children: Node[]
}

export interface Row {
  readonly key: string
  readonly node: Node
  /** Number of ancestors in the tree. */
  readonly depth: number
  readonly open: boolean
  /** Position among siblings, from 1, and number of siblings, for screen readers. */
  readonly place: number
  readonly siblings: number
}

/** Returns the roots. Siblings keep the order of the response, by start time. */
export function growTree(spans: readonly OutlineSpan[]): Node[] {
  const nodes = new Map<string, Node>()
  for (const span of spans) nodes.set(span.id, { key: span.id, span, missing: undefined, children: [] })
  const circular = spansInCircles(spans, nodes)
  const groups = new Map<string, Node>()
  const roots: Node[] = []
  for (const node of nodes.values()) {
    const parentId = node.span!.parentSpanId
    if (parentId === null || circular.has(node.key)) {
      roots.push(node)
      continue
    }
    const parent = nodes.get(parentId)
    if (parent !== undefined) {
      parent.children.push(node)
      continue
    }
    let group = groups.get(parentId)
    if (group === undefined) {
      group = { key: `missing:${parentId}`, span: undefined, missing: parentId, children: [] }
      groups.set(parentId, group)
      roots.push(group)
    }
    group.children.push(node)
  }
  return roots
}

/** Returns one span of each parent cycle, to become a root above the cycle's other spans. */
function spansInCircles(spans: readonly OutlineSpan[], nodes: ReadonlyMap<string, unknown>): Set<string> {
  const parents = new Map(spans.map(({ id, parentSpanId }) => [id, parentSpanId]))
  const done = new Set<string>()
  const cut = new Set<string>()
  for (const { id } of spans) {
    const path = new Set<string>()
    let at: string | null | undefined = id
    while (at != null && nodes.has(at) && !done.has(at)) {
      if (path.has(at)) {
        cut.add(at)
        break
      }
      path.add(at)
      at = parents.get(at)
    }
    for (const each of path) done.add(each)
  }
  return cut
}

/** Returns the rows that are visible while the nodes in `folded` are collapsed. */
export function visibleRows(roots: readonly Node[], folded: ReadonlySet<string>): Row[] {
  const rows: Row[] = []
  // A stack replaces recursion, because the nesting can be as deep as the number of spans.
  const waiting: { node: Node; depth: number; place: number; siblings: number }[] = []
  const push = (nodes: readonly Node[], depth: number) => {
    for (let i = nodes.length - 1; i >= 0; i--) {
      waiting.push({ node: nodes[i]!, depth, place: i + 1, siblings: nodes.length })
    }
  }
  push(roots, 0)
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, depth, place, siblings } = next
    const open = node.children.length > 0 && !folded.has(node.key)
    rows.push({ key: node.key, node, depth, open, place, siblings })
    if (open) push(node.children, depth + 1)
  }
  return rows
}

export function foldable(roots: readonly Node[]): string[] {
  return visibleRows(roots, new Set())
    .filter(({ node }) => node.children.length > 0)
    .map(({ key }) => key)
}

/** Returns the span's ancestors. Folding any ancestor hides the span. */
export function ancestorsOf(roots: readonly Node[], key: string): string[] {
  const path: string[] = []
  for (const row of visibleRows(roots, new Set())) {
    path.length = row.depth
    if (row.key === key) return path
    path[row.depth] = row.key
  }
  return []
}

/** Whether a node's span failed by itself. A span with a failed child usually failed because of the child. */
export const isCulprit = ({ span, children }: Node): boolean =>
  span?.status === 'error' && !children.some(child => child.span?.status === 'error')

/** Returns the span to select at first: the root, or a failed trace's first failed span without a failed child. */
export function firstSpan(roots: readonly Node[], failed: boolean): string | undefined {
  const rows = visibleRows(roots, new Set())
  const row = (failed ? rows.find(({ node }) => isCulprit(node)) : undefined) ?? rows.find(({ node }) => node.span)
  return row?.key
}
