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

export interface ProjectShard {
  readonly shard: number
  /** Whether no other project can be in it. */
  readonly isAlone: boolean
}

/** The shard of a project; undefined on one PostgreSQL. */
export async function readShard(sql: Sql, projectId: number): Promise<ProjectShard | undefined> {
  if (!(await isSpread(sql))) return undefined
  const [row] = await sql<[ProjectShard]>`
    select shardid as shard, shardminvalue = shardmaxvalue as "isAlone" from pg_dist_shard
    where shardid = get_shard_id_for_distribution_column('traces', ${projectId}::int)`
  return row
}

/** Gives a project a shard of its own, on the same node, and returns its number. */
export async function isolateProject(sql: Sql, projectId: number): Promise<number> {
  const [row] = await sql<[{ shard: number }]>`
    select isolate_tenant_to_new_shard('traces', ${projectId}::int, 'CASCADE', shard_transfer_mode => 'block_writes') as shard`
  return row.shard
}
