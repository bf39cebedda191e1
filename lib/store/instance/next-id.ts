import type { Sql } from 'postgres'

/** Returns SQL for a new id if a backup is restored beside existing rows, otherwise for the row's original id. */
export const nextId = (sql: Sql, table: string, id: number, into: boolean) =>
  into ? sql`nextval(pg_get_serial_sequence(${table}, 'id'))` : sql`${id}::int`
