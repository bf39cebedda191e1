/** What operators are told where traces are distributed and some of what belongs to them is not. */

/** A sentence that says what to do; undefined if nothing was left behind. */
export function describeLeftBehind(tables: readonly string[]): string | undefined {
  if (tables.length === 0) return undefined
  return (
    `Traces are distributed, but ${tables.join(', ')} ${tables.length === 1 ? 'is' : 'are'} not, so the coordinator does all ` +
    'reads and writes: stop every server, and run `spoor migrate --distributed --apply`.'
  )
}
