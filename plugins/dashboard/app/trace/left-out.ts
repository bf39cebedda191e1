/** Describes the spans of a trace that were not stored because the trace exceeded the limit. */
import { formatCount } from '../ui/format.ts'

/**
 * Returns a note such as `126 not stored (123 custom, 3 llm)`. Returns undefined if `metadata.spoor`, which may contain
 * any value, has no count.
 */
export function describeLeftOut({ spoor }: Readonly<Record<string, unknown>>): string | undefined {
  const { spansLeftOut: mark } = Object(spoor) as { readonly spansLeftOut?: unknown }
  const { count, kinds } = Object(mark) as { readonly count?: unknown; readonly kinds?: unknown }
  if (!isNumber(count)) return undefined
  const known = Object.entries(Object(kinds) as Record<string, unknown>).flatMap(([kind, number]) =>
    isNumber(number) ? [`${formatCount(number)} ${kind}`] : []
  )
  return `${formatCount(count)} not stored${known.length === 0 ? '' : ` (${known.join(', ')})`}`
}

const isNumber = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0
