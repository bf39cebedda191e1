/** Sums over lists of spans. */
import type { PreparedSpan } from './prepared.ts'

const sum = (spans: readonly PreparedSpan[], of: (span: PreparedSpan) => number) =>
  spans.reduce((total, span) => total + of(span), 0)
export const countErrors = (spans: readonly PreparedSpan[]) => sum(spans, span => (span.status === 'error' ? 1 : 0))
export const countBytes = (spans: readonly PreparedSpan[]) => sum(spans, span => span.bytes)
