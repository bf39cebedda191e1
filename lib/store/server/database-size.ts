import type { Sql } from 'postgres'

/** Returns the database's size on disk in bytes, including indexes. PostgreSQL checks every file to compute it. */
export async function measureDatabase(sql: Sql): Promise<number | undefined> {
  const [row] = await sql<{ bytes: number }[]>`select pg_database_size(current_database()) as bytes`
  return row?.bytes
}
