/** How much disk the database takes. */
import type { Sql } from 'postgres'

/** In bytes, indexes and all; PostgreSQL looks at every file for it. */
export async function measureDatabase(sql: Sql): Promise<number | undefined> {
  const [row] = await sql<{ bytes: number }[]>`select pg_database_size(current_database()) as bytes`
  return row?.bytes
}
