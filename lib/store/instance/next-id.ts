/** Numbers of rows that a restore makes. */
import type { Sql } from 'postgres'

/** A new number of the table's, where a backup is restored beside others; else the one that the row had. */
export const nextId = (sql: Sql, table: string, id: number, into: boolean) =>
  into ? sql`nextval(pg_get_serial_sequence(${table}, 'id'))` : sql`${id}::int`
