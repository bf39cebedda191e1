/** What a gathered trace has used: the sum over its calls of models, none of them counted twice. */
import type { UsageFields } from './prepared.ts'

/** A span that says what was used. */
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
 * Sums llm and embedding spans. Agents and chains repeat what their calls used, so they count for nothing; where one call
 * is made by another (two libraries that both report it), the outer one counts. A trace whose root alone says what was
 * used has used that.
 */
export function sumSpending(spans: readonly SpanUsage[], rootId: string | undefined): Spent {
  // In one order, whatever the order of arrival: a sum of floating-point numbers depends on it.
  const sorted = spans.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const used = countedOf(sorted, hasUsage, rootId)
  return {
    inputTokens: sumOf(used, span => span.inputTokens),
    outputTokens: sumOf(used, span => span.outputTokens),
    totalTokens: used.some(span => span.totalTokens !== null) ? sumOf(used, totalOf) : null,
    costUsd: sumOf(countedOf(sorted, hasCost, rootId), span => span.costUsd)
  }
}

/** The spans that count: calls that say something, and are not part of another one that does. */
function countedOf(spans: readonly SpanUsage[], says: (span: SpanUsage) => boolean, rootId: string | undefined) {
  const calls = spans.filter(span => isCall(span) && says(span))
  const ids = new Set(calls.map(({ id }) => id))
  const outer = calls.filter(({ parentId }) => parentId === null || !ids.has(parentId))
  return outer.length > 0 ? outer : spans.filter(span => span.id === rootId && says(span))
}

const totalOf = ({ inputTokens, outputTokens, totalTokens }: SpanUsage): number =>
  totalTokens ?? (inputTokens ?? 0) + (outputTokens ?? 0)

/** Null where none of them says it; never more than a number can hold exactly. */
function sumOf(spans: readonly SpanUsage[], of: (span: SpanUsage) => number | null): number | null {
  const values = spans.map(of).filter(value => value !== null)
  return values.length === 0
    ? null
    : Math.min(
        values.reduce((sum, value) => sum + value, 0),
        Number.MAX_SAFE_INTEGER
      )
}
