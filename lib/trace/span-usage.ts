/** Sums what a gathered trace has used over its calls of models, so that no call counts twice. */
import type { UsageFields } from './prepared.ts'

/** A span that reports usage or cost. */
export interface SpanUsage extends UsageFields {
  readonly id: string
  readonly parentId: string | null
  readonly kind: string
  readonly costUsd: number | null
}

export type Spent = UsageFields & { readonly costUsd: number | null }

const CALLS: readonly string[] = ['llm', 'embedding']
const isCall = ({ kind }: SpanUsage): boolean => CALLS.includes(kind)
const hasUsage = (span: UsageFields): boolean =>
  span.inputTokens !== null || span.outputTokens !== null || span.totalTokens !== null
const hasCost = ({ costUsd }: SpanUsage): boolean => costUsd !== null

/**
 * Sums llm and embedding spans. Agents and chains repeat what their calls used, so they do not count. If one call is
 * the parent of another (two libraries report the same call), only the outer one counts. If no call reports usage,
 * that of the root counts.
 */
export function sumSpending(spans: readonly SpanUsage[], rootId: string | undefined): Spent {
  // A sum of floating-point numbers depends on the order, so the order must not depend on the arrival of spans.
  const sorted = spans.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const used = countedOf(sorted, hasUsage, rootId)
  return {
    inputTokens: sumOf(used, span => span.inputTokens),
    outputTokens: sumOf(used, span => span.outputTokens),
    totalTokens: used.some(span => span.totalTokens !== null) ? sumOf(used, totalOf) : null,
    costUsd: sumOf(countedOf(sorted, hasCost, rootId), span => span.costUsd)
  }
}

/** The spans that count: calls that report something and have no parent that is such a call; else the root. */
function countedOf(spans: readonly SpanUsage[], says: (span: SpanUsage) => boolean, rootId: string | undefined) {
  const calls = spans.filter(span => isCall(span) && says(span))
  const ids = new Set(calls.map(({ id }) => id))
  const outer = calls.filter(({ parentId }) => parentId === null || !ids.has(parentId))
  return outer.length > 0 ? outer : spans.filter(span => span.id === rootId && says(span))
}

const totalOf = ({ inputTokens, outputTokens, totalTokens }: SpanUsage): number =>
  totalTokens ?? (inputTokens ?? 0) + (outputTokens ?? 0)

/** The sum, up to 2^53 - 1; null if no span reports a value. */
function sumOf(spans: readonly SpanUsage[], of: (span: SpanUsage) => number | null): number | null {
  const values = spans.map(of).filter(value => value !== null)
  return values.length === 0
    ? null
    : Math.min(
        values.reduce((sum, value) => sum + value, 0),
        Number.MAX_SAFE_INTEGER
      )
}
