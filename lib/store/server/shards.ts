/** Whether traces are on one PostgreSQL or on several. */
import type { Sql } from 'postgres'

/** Whether the tables of traces are spread over a cluster. */
export async function isSpread(sql: Sql): Promise<boolean> {
  const [engine] = await sql<[{ isCluster: boolean }]>`
    select to_regclass('pg_catalog.pg_dist_partition') is not null as "isCluster"`
  if (!engine.isCluster) return false
  const [row] = await sql`select from pg_dist_partition where logicalrelid = 'traces'::regclass and partmethod = 'h'`
  return row !== undefined
}
