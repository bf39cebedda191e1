/** Puts spans into the order of their tree: each span after its parent, with its depth. */
interface Linked {
  readonly id: string
  readonly parentSpanId: string | null
}

export interface WithDepth<S> {
  readonly span: S
  readonly depth: number
}

/** Returns the id of the first span that failed without a failed child; undefined if none failed. */
export function culpritOf(spans: readonly (Linked & { readonly status: string })[]): string | undefined {
  const failed = spans.filter(({ status }) => status === 'error')
  const parents = new Set(failed.map(({ parentSpanId }) => parentSpanId))
  return failed.find(({ id }) => !parents.has(id))?.id
}

/** Returns every span once. A span whose parent is missing, or that is its own ancestor, has no parent. */
export function withDepths<S extends Linked>(spans: readonly S[]): WithDepth<S>[] {
  const ids = new Set(spans.map(({ id }) => id))
  const children = new Map<string | null, S[]>()
  for (const span of spans) {
    const parent = span.parentSpanId !== null && ids.has(span.parentSpanId) ? span.parentSpanId : null
    children.set(parent, [...(children.get(parent) ?? []), span])
  }
  const placed: WithDepth<S>[] = []
  const seen = new Set<string>()
  const placeFrom = (root: S) => {
    const stack: WithDepth<S>[] = [{ span: root, depth: 0 }]
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      const { span, depth } = next
      if (seen.has(span.id)) continue
      seen.add(span.id)
      placed.push(next)
      for (const child of (children.get(span.id) ?? []).toReversed()) stack.push({ span: child, depth: depth + 1 })
    }
  }
  for (const root of children.get(null) ?? []) placeFrom(root)
  for (const span of spans) if (!seen.has(span.id)) placeFrom(span)
  return placed
}
