/** Whether traces are on one PostgreSQL or on several, and where they are. */
import type { Sql } from 'postgres'
import type { Host } from '../database/sockets/address.ts'
import { PROJECT_TABLES, type TableNames } from '../database/tables.ts'

/** The tables of projects are spread over the nodes by it, all alike; the others stay on the coordinator. */
export const DISTRIBUTION_COLUMN = 'project_id'

/** Whether the tables of traces are spread over a cluster. Where there is no schema yet, they are not. */
export async function isSpread(sql: Sql): Promise<boolean> {
  const [engine] = await sql<[{ isCluster: boolean }]>`
    select to_regclass('pg_catalog.pg_dist_partition') is not null as "isCluster"`
  if (!engine.isCluster) return false
  const [row] = await sql`select from pg_dist_partition where logicalrelid = to_regclass('traces') and partmethod = 'h'`
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
    select isolate_tenant_to_new_shard(
      'traces', ${projectId}::int, 'CASCADE', shard_transfer_mode => 'block_writes'
    ) as shard`
  return row.shard
}

/** A shard of traces with those of the other tables beside it. What a project has is in one of them. */
export interface Shard {
  /** The number of the shard of traces, which stands for all. */
  readonly id: number
  readonly node: ShardNode
  readonly names: TableNames
}

export interface ShardNode extends Host {
  readonly id: number
}

interface ShardRow extends ShardNode {
  readonly shard: number
  /** The name there of each distributed table, as JSON text. */
  readonly names: string
}

/**
 * The shards that are on one node each, by their numbers. Those with copies on other nodes are left to the cluster,
 * and so are those of nodes that do not know where shards are.
 */
export async function readShards(sql: Sql): Promise<ReadonlyMap<number, Shard>> {
  const rows = await sql<ShardRow[]>`
    select own.shardid as shard, n.groupid as id, n.nodename as host, n.nodeport as port,
      json_object_agg(c.relname, shard_name(c.oid, s.shardid)) as names
    from pg_dist_shard own
    join pg_dist_partition t on t.logicalrelid = own.logicalrelid
    join pg_dist_partition beside on beside.colocationid = t.colocationid
    join pg_class c on c.oid = beside.logicalrelid
    join pg_dist_shard s on s.logicalrelid = beside.logicalrelid and s.shardminvalue = own.shardminvalue
    join pg_dist_placement p on p.shardid = own.shardid
    join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary' and n.isactive and n.hasmetadata
      and n.metadatasynced
    where own.logicalrelid = 'traces'::regclass
    group by own.shardid, n.groupid, n.nodename, n.nodeport`
  const nodes = new Map<number, ShardNode>()
  const shards = new Map<number, Shard>()
  const copied = new Set<number>()
  for (const { shard, id, host, port, names } of rows) {
    const node = nodes.get(id) ?? { id, host, port }
    nodes.set(id, node)
    if (shards.has(shard)) copied.add(shard)
    shards.set(shard, { id: shard, node, names: JSON.parse(names) })
  }
  for (const shard of copied) shards.delete(shard)
  return shards
}

/**
 * Whether each table of the schema has a shard there. After a migration that another version has made, one may still
 * be on the coordinator.
 */
export const isComplete = ({ names }: Shard): boolean => PROJECT_TABLES.every(table => names[table] !== undefined)

/** The number of the shard of each of these projects. */
export async function readShardsOf(sql: Sql, projects: readonly number[]): Promise<ReadonlyMap<number, number>> {
  const rows = await sql<{ project: number; shard: number }[]>`
    select p as project, get_shard_id_for_distribution_column('traces', p) as shard
    from unnest(${`{${projects.join(',')}}`}::int[]) p`
  return new Map(rows.map(({ project, shard }) => [project, shard]))
}

/** Fails if this connection may not hold a shard where it is, as the write path does. */
export async function tryHold(sql: Sql, shard: number): Promise<void> {
  await sql.unsafe(HOLD_SHARDS.replace('$1', `'{${shard}}'::bigint[]`))
}

/**
 * Keeps shards from being moved or split until the end of the transaction, as Citus's own statements do. ShareLock is
 * 5. The next statement sees whether they had been moved before: what is written to a shard that was moved away is
 * lost.
 */
export const HOLD_SHARDS = 'select lock_shard_metadata(5, $1)'

/** Fails with 2201F, for the root of a negative number, if not all of these shards are on the node that is asked. */
export const CHECK_SHARDS = `select sqrt(count(*) - cardinality($1)) from pg_dist_placement
  where shardid = any ($1) and groupid = (select groupid from pg_dist_local_group)`
