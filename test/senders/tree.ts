/** Formats the spans of a trace for tests. */
interface Step {
  readonly id: string
  readonly parentSpanId: string | null
  readonly kind: string
  readonly name: string
}

/**
 * Returns the tree as lines of kind and name, each indented below its parent. Siblings are sorted by their lines,
 * because OpenTelemetry's SDK rounds times to milliseconds.
 */
export function treeOf(spans: readonly Step[], parentId: string | null = null, indent = ''): string[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parentId)
    .map(({ id, kind, name }) => [`${indent}${kind} ${name}`, ...treeOf(spans, id, `${indent}  `)])
    .sort(([one = ''], [other = '']) => (one < other ? -1 : 1))
    .flat()
}

/** Returns the spans of a kind, earliest first. */
// biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary members of responses.
export const ofKind = (spans: readonly Step[], kind: string): any[] => spans.filter(span => span.kind === kind)
