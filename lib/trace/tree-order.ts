/** Orders the spans of a trace as a tree, for people and agents who read the trace. */

export interface TreeNode {
  readonly id: string
  readonly parentSpanId: string | null
}
export interface Placed<T> {
  readonly span: T
  /** Depth in the tree, 0 at the top. */
  readonly depth: number
}

/**
 * Orders spans depth first. Each span is followed by its children in their original order. The top level consists of
 * spans without a parent, spans whose parent is missing, and one span of each parent cycle.
 */
export function inTreeOrder<T extends TreeNode>(spans: readonly T[]): Placed<T>[] {
  const children = childrenById(spans)
  const order: Placed<T>[] = []
  const seen = new Set<T>()
  const visit = (top: T) => {
    const stack: Placed<T>[] = [{ span: top, depth: 0 }]
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      if (seen.has(next.span)) continue
      seen.add(next.span)
      order.push(next)
      const depth = next.depth + 1
      for (const child of (children.get(next.span.id) ?? []).toReversed()) stack.push({ span: child, depth })
    }
  }
  for (const span of spans) if (span.parentSpanId === null || !children.has(span.parentSpanId)) visit(span)
  // A span that is not yet reached belongs to a cycle or is a descendant of a cycle.
  for (const span of spans) visit(span)
  return order
}

/** Returns every span's children by span id; empty for a span without children. */
function childrenById<T extends TreeNode>(spans: readonly T[]): Map<string, T[]> {
  const children = new Map<string, T[]>(spans.map(span => [span.id, []]))
  for (const span of spans) if (span.parentSpanId !== null) children.get(span.parentSpanId)?.push(span)
  return children
}
