import type { OutlineSpan } from '../contract.ts'
/**
 * Spans as a tree, and the tree as rows. Whatever was recorded gives a tree that holds each span once: a parent that
 * never came is a group of its own, a span that is its own ancestor is shown as a root.
 */

export interface Node {
  /** The span's id; of a group, `missing:` and the id of the parent that never came. */
  readonly key: string
  readonly span: OutlineSpan | undefined
  /** The id of the parent that never came, of a group. */
  readonly missing: string | undefined
  readonly children: Node[]
}

export interface Row {
  readonly key: string
  readonly node: Node
  /** From 0. */
  readonly depth: number
  readonly open: boolean
  /** Place among its siblings and their number, from 1, for those who cannot see the tree. */
  readonly place: number
  readonly siblings: number
}

interface Growing {
  readonly key: string
  readonly span: OutlineSpan | undefined
  readonly missing: string | undefined
  readonly children: Growing[]
}

/** The roots. Siblings stand in the order of the answer, which is by start. */
export function growTree(spans: readonly OutlineSpan[]): Node[] {
  const nodes = new Map<string, Growing>()
  for (const span of spans) nodes.set(span.id, { key: span.id, span, missing: undefined, children: [] })
  const circular = spansInCircles(spans, nodes)
  const groups = new Map<string, Growing>()
  const roots: Growing[] = []
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

/** One span of each circle of parents: where it is taken for a root, the others hang below it. */
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

/** The rows that are seen with these folds. */
export function visibleRows(roots: readonly Node[], folded: ReadonlySet<string>): Row[] {
  const rows: Row[] = []
  // A stack, since a trace may be as deep as it has spans.
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

/** All nodes that have children. */
export function foldable(roots: readonly Node[]): string[] {
  return visibleRows(roots, new Set())
    .filter(({ node }) => node.children.length > 0)
    .map(({ key }) => key)
}

/** The folds that hide a span: those of its ancestors. */
export function ancestorsOf(roots: readonly Node[], key: string): string[] {
  const path: string[] = []
  for (const row of visibleRows(roots, new Set())) {
    path.length = row.depth
    if (row.key === key) return path
    path[row.depth] = row.key
  }
  return []
}

/** The span to show at first: the root, or in a failed trace the first failed span without a failed child. */
export function firstSpan(roots: readonly Node[], failed: boolean): string | undefined {
  const rows = visibleRows(roots, new Set())
  const culprit = (node: Node): boolean =>
    node.span?.status === 'error' && !node.children.some(child => child.span?.status === 'error')
  const row = (failed ? rows.find(({ node }) => culprit(node)) : undefined) ?? rows.find(({ node }) => node.span)
  return row?.key
}
