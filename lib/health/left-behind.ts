/**
 * If traces are distributed and some of their tables are not, no server may serve: charts would be wrong, and a write
 * to both would be committed on the node before it is on the coordinator.
 */

/** The tables that are missing, with what to do; undefined if there are none. */
export function describeLeftBehind(tables: readonly string[]): string | undefined {
  if (tables.length === 0) return undefined
  const which = tables.length === 1 ? `the table ${tables[0]} is` : `the tables ${tables.join(', ')} are`
  return `${which} not distributed, but traces are: stop every server, and run \`spoor migrate --distributed --apply\``
}
