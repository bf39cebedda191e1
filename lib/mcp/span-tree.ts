/** The order in which spans are read as a tree. */

interface Node {
  readonly id: string
  readonly parentSpanId: string | null
}
export interface Placed<T> {
  readonly span: T
  /** 0 at the top. */
  readonly depth: number
}

/**
 * Orders spans depth first: each span is followed by its children, which keep their order. At the top are spans
 * without a parent, spans whose parent is missing, and one span of each circle of parents.
 */
export function inTreeOrder<T extends Node>(spans: readonly T[]): Placed<T>[] {
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
  // A span that was not reached is part of a circle, or below one.
  for (const span of spans) visit(span)
  return order
}

/** The children of every span, by its id; empty for one that has none. */
function childrenById<T extends Node>(spans: readonly T[]): Map<string, T[]> {
  const children = new Map<string, T[]>(spans.map(span => [span.id, []]))
  for (const span of spans) if (span.parentSpanId !== null) children.get(span.parentSpanId)?.push(span)
  return children
}
