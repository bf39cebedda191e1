/**
 * Detects tables that were left on the coordinator when other tables were distributed. No server may run in this state:
 * charts would be wrong, and a write to both kinds of table would be committed on the node before the coordinator.
 */
import type { Sql } from 'postgres'
import { readLeftBehind } from './distribution.ts'

/** Describes the problem and its remedy; undefined if all tables are distributed, or on a single PostgreSQL. */
export const findLeftBehind = async (sql: Sql): Promise<string | undefined> =>
  describeLeftBehind(await readLeftBehind(sql))

export function describeLeftBehind(tables: readonly string[]): string | undefined {
  if (tables.length === 0) return undefined
  const which = tables.length === 1 ? `the table ${tables[0]} is` : `the tables ${tables.join(', ')} are`
  return `${which} not distributed, but traces are: stop every server, and run \`spoor migrate --distributed --apply\``
}
