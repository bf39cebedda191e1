/** The spans of a trace, as tests look at them. */
interface Step {
  readonly id: string
  readonly parentSpanId: string | null
  readonly kind: string
  readonly name: string
}

/**
 * The tree as lines of kind and name, each indented below its parent. Siblings are in the order of their lines: times are
 * whole milliseconds with OpenTelemetry's SDK.
 */
export function treeOf(spans: readonly Step[], parentId: string | null = null, indent = ''): string[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parentId)
    .map(({ id, kind, name }) => [`${indent}${kind} ${name}`, ...treeOf(spans, id, `${indent}  `)])
    .sort(([one = ''], [other = '']) => (one < other ? -1 : 1))
    .flat()
}

/** The spans of a kind, the first to begin first. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks into answers as it likes.
export const ofKind = (spans: readonly Step[], kind: string): any[] => spans.filter(span => span.kind === kind)
