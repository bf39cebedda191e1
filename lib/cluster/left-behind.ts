/**
 * Where traces are distributed and some of what belongs to them is not, nobody may serve: charts come out wrong there, and
 * what a server writes to both is committed on the node before it is on the coordinator.
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
