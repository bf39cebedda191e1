/** Where a cluster (Citus) keeps the traces of projects. */
import type { Sql } from 'postgres'

/** Whether the tables of traces are spread over a cluster. */
export async function isSpread(sql: Sql): Promise<boolean> {
  const [engine] = await sql<[{ isCluster: boolean }]>`
    select to_regclass('pg_catalog.pg_dist_partition') is not null as "isCluster"`
  if (!engine.isCluster) return false
  const [row] = await sql`select from pg_dist_partition where logicalrelid = 'traces'::regclass and partmethod = 'h'`
  return row !== undefined
}

/** The shard of each of these projects. Only where the tables are spread. */
export async function readShards(sql: Sql, projectIds: readonly number[]): Promise<Map<number, number>> {
  const rows = await sql<{ projectId: number; shard: number }[]>`
    select id as "projectId", get_shard_id_for_distribution_column('traces', id) as shard
    from unnest(${projectIds as number[]}::int[]) as id`
  return new Map(rows.map(({ projectId, shard }) => [projectId, shard]))
}
