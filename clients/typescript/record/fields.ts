/** Makes the fields that an application sets conform to the service's rules. Nothing is rejected. */
import { SPAN_KINDS, type SpanInput, STATUSES } from '../api-types.ts'
import { messageOf } from './values.ts'

export type SpanKind = NonNullable<SpanInput['kind']>
export type Status = NonNullable<SpanInput['status']>

export interface RecordedUsage {
  inputTokens?: number
  outputTokens?: number
  totalTokens?: number
}

/**
 * Maximum size of a span's values, or of a trace's values without its spans, in bytes. The service accepts 768,000
 * bytes in total.
 */
export const DOCUMENT_BYTES = 700_000

/**
 * Returns the value's first `most` characters, well-formed and without U+0000; undefined if the value is missing or
 * empty.
 */
export function shortText(value: unknown, most: number): string | undefined {
  if (value === undefined || value === null) return undefined
  const text = messageOf(value).toWellFormed().replaceAll('\0', '\uFFFD')
  if (text === '') return undefined
  return text.length <= most ? text : [...text.slice(0, 2 * most)].slice(0, most).join('')
}

/** Receives a sentence about a value that is not recorded. */
export type Report = (problem: string) => void

/** Returns one of `all`, or `otherwise` for another value, which is reported. */
function oneOf<V extends string>(name: string, all: readonly V[], otherwise: V, value: unknown, report: Report): V {
  if (all.includes(value as V)) return value as V
  if (value !== undefined && value !== null) {
    report(`${name} is ${messageOf(value).slice(0, 50)}, but must be one of ${all.join(', ')}`)
  }
  return otherwise
}

export const kindOf = (value: unknown, report: Report): SpanKind => oneOf('kind', SPAN_KINDS, 'custom', value, report)

export const statusOf = (value: unknown, report: Report): Status => oneOf('status', STATUSES, 'unset', value, report)

const COUNTS = ['inputTokens', 'outputTokens', 'totalTokens'] as const

/** Returns the counts that are non-negative integers; undefined if there are none. */
export function usageOf(value: RecordedUsage | undefined, report: Report): RecordedUsage | undefined {
  const usage: RecordedUsage = {}
  for (const [given, count] of Object.entries(value ?? {})) {
    const name = COUNTS.find(each => each === given)
    if (name !== undefined && Number.isSafeInteger(count) && count >= 0) usage[name] = count
    else if (count !== undefined && count !== null)
      report(`usage has ${given}, but must have whole numbers as ${COUNTS.join(', ')}`)
  }
  return Object.keys(usage).length === 0 ? undefined : usage
}

export function costOf(value: unknown, report: Report): number | undefined {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value
  if (value !== undefined && value !== null) report('costUsd must be a positive number')
  return undefined
}

/** Adds two usages. If only one usage has a total, the other usage's total is computed from its parts. */
export function addUsage(one: RecordedUsage | undefined, other: RecordedUsage | undefined): RecordedUsage | undefined {
  if (one === undefined || other === undefined) return one ?? other
  const sum: RecordedUsage = {}
  const capped = (a: number, b: number) => Math.min(a + b, Number.MAX_SAFE_INTEGER)
  for (const name of ['inputTokens', 'outputTokens'] as const) {
    if (one[name] !== undefined || other[name] !== undefined) sum[name] = capped(one[name] ?? 0, other[name] ?? 0)
  }
  if (one.totalTokens !== undefined || other.totalTokens !== undefined) {
    sum.totalTokens = capped(totalOf(one), totalOf(other))
  }
  return sum
}

const totalOf = ({ inputTokens = 0, outputTokens = 0, totalTokens }: RecordedUsage) =>
  totalTokens ?? inputTokens + outputTokens
