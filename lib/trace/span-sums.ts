/** Computes sums over lists of spans, and over values that may be unknown. */
const sum = <T>(spans: readonly T[], of: (span: T) => number) => spans.reduce((total, span) => total + of(span), 0)
export const countErrors = (spans: readonly { readonly status: string }[]) =>
  sum(spans, ({ status }) => (status === 'error' ? 1 : 0))
export const countBytes = (spans: readonly { readonly bytes: number }[]) => sum(spans, ({ bytes }) => bytes)

/** Returns the sum of the values that are known; null if none is. */
export function sumKnown(values: readonly (number | null | undefined)[]): number | null {
  const known = values.filter(value => value != null)
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0)
}
