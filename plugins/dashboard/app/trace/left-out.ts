/** Describes the spans of a trace that were not stored because the trace exceeded the limit. */
import { formatCount } from '../ui/format.ts'

export interface SpansLeftOut {
  readonly count: number
  /** A note such as `126 were not stored (123 custom, 3 llm)`. */
  readonly description: string
}

/** Returns undefined if `metadata.spoor`, which may contain any value, has no count. */
export function readSpansLeftOut({ spoor }: Readonly<Record<string, unknown>>): SpansLeftOut | undefined {
  const { spansLeftOut: mark } = Object(spoor) as { readonly spansLeftOut?: unknown }
  const { count, kinds } = Object(mark) as { readonly count?: unknown; readonly kinds?: unknown }
  if (!isNumber(count)) return undefined
  const known = Object.entries(Object(kinds) as Record<string, unknown>).flatMap(([kind, number]) =>
    isNumber(number) ? [`${formatCount(number)} ${kind.slice(0, 20)}`] : []
  )
  const said = `${formatCount(count)} ${count === 1 ? 'was' : 'were'} not stored`
  return { count, description: known.length === 0 ? said : `${said} (${known.slice(0, 8).join(', ')})` }
}

const isNumber = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0
