import { pathOf } from './route.ts'

export interface Comparison {
  /** Trace ids as given; empty if missing. */
  readonly a: string
  readonly b: string
  readonly span?: string | undefined
}

const TRACE_ID = /^[0-9a-f]{32}$/

export function readComparison(search: string): Comparison {
  const parameters = new URLSearchParams(search)
  const id = (name: string) => (parameters.get(name) ?? '').trim().toLowerCase()
  return { a: id('a'), b: id('b'), span: parameters.get('span')?.toLowerCase() }
}

export function writeComparison({ a, b, span }: Comparison): string {
  return `?${new URLSearchParams({ a, b, ...(span !== undefined && { span }) })}`
}

export function compareAddress(slug: string, comparison: Comparison): string {
  return `${pathOf({ page: 'compare', slug })}${writeComparison(comparison)}`
}

export const isTraceId = (id: string): boolean => TRACE_ID.test(id)

/** Extracts the id from the typed text, which is an id or the address of a trace's page. */
export function traceIdIn(text: string): string {
  const [, id] = /\/traces\/([0-9a-f]{32})(?:[/?#]|$)/i.exec(text) ?? []
  return (id ?? text).trim().toLowerCase()
}
