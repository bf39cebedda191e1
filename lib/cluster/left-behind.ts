/**
 * Finds tables that were left behind on the coordinator when the others were distributed. No server may serve then:
 * charts come out wrong, and a write to both kinds is committed on the node before it is committed on the coordinator.
 */
import type { Sql } from 'postgres'
import { readLeftBehind } from './distribution.ts'

/** Says what is lacking, and what to do; undefined if nothing was left behind, and on one PostgreSQL. */
export const findLeftBehind = async (sql: Sql): Promise<string | undefined> =>
  describeLeftBehind(await readLeftBehind(sql))

export function describeLeftBehind(tables: readonly string[]): string | undefined {
  if (tables.length === 0) return undefined
  const which = tables.length === 1 ? `the table ${tables[0]} is` : `the tables ${tables.join(', ')} are`
  return `${which} not distributed, but traces are: stop every server, and run \`spoor migrate --distributed --apply\``
}
