/** Numbers of rows that a restore makes. */
import type { Sql } from 'postgres'

/** A new id, if a backup is restored beside existing rows; else the id that the row had. */
export const nextId = (sql: Sql, table: string, id: number, into: boolean) =>
  into ? sql`nextval(pg_get_serial_sequence(${table}, 'id'))` : sql`${id}::int`
