/** Makes a field that an application sets fit the service's rules. Nothing is refused. */
import { SPAN_KINDS, type SpanInput, STATUSES } from '../api-types.ts'

export type SpanKind = NonNullable<SpanInput['kind']>
export type Status = NonNullable<SpanInput['status']>

export interface Usage {
  inputTokens?: number
  outputTokens?: number
  totalTokens?: number
}

const COUNTS = ['inputTokens', 'outputTokens', 'totalTokens'] as const

/** A text of 1 to so many characters without U+0000 and unpaired surrogates; undefined where nothing is left. */
export function shortText(value: unknown, most: number): string | undefined {
  if (value === undefined || value === null) return undefined
  const text = String(value).toWellFormed().replaceAll('\0', '\uFFFD')
  if (text === '') return undefined
  return text.length <= most ? text : [...text.slice(0, 2 * most)].slice(0, most).join('')
}

export function kindOf(value: unknown): SpanKind {
  return SPAN_KINDS.includes(value as SpanKind) ? (value as SpanKind) : 'custom'
}

export function statusOf(value: unknown): Status {
  return STATUSES.includes(value as Status) ? (value as Status) : 'unset'
}

/** The counts that are whole numbers of at least 0; undefined without any. */
export function usageOf(value: Usage | undefined): Usage | undefined {
  const usage: Usage = {}
  for (const name of COUNTS) {
    const count = value?.[name]
    if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) usage[name] = count
  }
  return Object.keys(usage).length === 0 ? undefined : usage
}

export function costOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}

/** The sum of two usages. A total that only one of them has is completed from the other's parts. */
export function addUsage(one: Usage | undefined, other: Usage | undefined): Usage | undefined {
  if (one === undefined || other === undefined) return one ?? other
  const sum: Usage = {}
  const capped = (a: number, b: number) => Math.min(a + b, Number.MAX_SAFE_INTEGER)
  for (const name of ['inputTokens', 'outputTokens'] as const) {
    if (one[name] !== undefined || other[name] !== undefined) sum[name] = capped(one[name] ?? 0, other[name] ?? 0)
  }
  if (one.totalTokens !== undefined || other.totalTokens !== undefined) {
    sum.totalTokens = capped(totalOf(one), totalOf(other))
  }
  return sum
}

const totalOf = ({ inputTokens = 0, outputTokens = 0, totalTokens }: Usage) => totalTokens ?? inputTokens + outputTokens
