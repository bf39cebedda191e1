/** The size of the database on disk. */
import type { Sql } from 'postgres'

/** The size in bytes, indexes included. PostgreSQL looks at every file of the database to find it. */
export async function measureDatabase(sql: Sql): Promise<number | undefined> {
  const [row] = await sql<{ bytes: number }[]>`select pg_database_size(current_database()) as bytes`
  return row?.bytes
}
