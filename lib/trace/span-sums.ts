/** Computes sums over lists of spans. */
import type { SpanHead } from './prepared.ts'

const sum = (spans: readonly SpanHead[], of: (span: SpanHead) => number) =>
  spans.reduce((total, span) => total + of(span), 0)
export const countErrors = (spans: readonly SpanHead[]) => sum(spans, span => (span.status === 'error' ? 1 : 0))
export const countBytes = (spans: readonly SpanHead[]) => sum(spans, span => span.bytes)
