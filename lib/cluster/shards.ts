/** Determines whether traces are on one PostgreSQL server or distributed, and locates their shards. */
import type { Sql } from 'postgres'
import type { Host } from '../database/sockets/address.ts'
import { PROJECT_TABLES, type TableNames } from '../database/tables.ts'

/** Column by which all project tables are distributed. Other tables stay on the coordinator. */
export const DISTRIBUTION_COLUMN = 'project_id'

/** Returns whether the trace tables are distributed over a cluster. Returns false if no schema exists yet. */
export async function isSpread(sql: Sql): Promise<boolean> {
  const [engine] = await sql<[{ isCluster: boolean }]>`
    select to_regclass('pg_catalog.pg_dist_partition') is not null as "isCluster"`
  if (!engine.isCluster) return false
  const [row] = await sql`select from pg_dist_partition where logicalrelid = to_regclass('traces') and partmethod = 'h'`
  return row !== undefined
}

/** Returns a project's shard; undefined on a single PostgreSQL server. */
export async function readShard(sql: Sql, projectId: number): Promise<Omit<Isolation, 'applied'> | undefined> {
  if (!(await isSpread(sql))) return undefined
  const [row] = await sql<[Omit<Isolation, 'applied'>]>`
    select shardid as shard, shardminvalue = shardmaxvalue as "isAlone" from pg_dist_shard
    where shardid = get_shard_id_for_distribution_column('traces', ${projectId}::int)`
  return row
}

/** Gives a project its own shard on the same node. Returns the new shard's id. */
export async function isolateProject(sql: Sql, projectId: number): Promise<number> {
  const [row] = await sql<[{ shard: number }]>`
    select isolate_tenant_to_new_shard(
      'traces', ${projectId}::int, 'CASCADE', shard_transfer_mode => 'block_writes'
    ) as shard`
  return row.shard
}

/** A shard of traces together with the colocated shards of the other tables. A project's rows are all in one Shard. */
export interface Shard {
  /** Id of the traces shard, by which all colocated shards are identified. */
  readonly id: number
  readonly node: ShardNode
  readonly names: TableNames
}

export interface ShardNode extends Host {
  readonly id: number
}

interface ShardRow extends ShardNode {
  readonly shard: number
  /** The shard's table name for each distributed table, as a JSON string. */
  readonly names: string
}

/**
 * Returns the shards stored on exactly one node, by id. Omits shards with replicas on other nodes, and shards on nodes
 * without synced metadata. The coordinator routes statements for the omitted shards.
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

/** Returns whether every table has a shard; after another version's migration, a table may still be undistributed. */
export const isComplete = ({ names }: Shard): boolean => PROJECT_TABLES.every(table => names[table] !== undefined)

/** Returns the projects' shard ids by project id. */
export async function readShardsOf(sql: Sql, projects: readonly number[]): Promise<ReadonlyMap<number, number>> {
  const rows = await sql<{ project: number; shard: number }[]>`
    select p as project, get_shard_id_for_distribution_column('traces', p) as shard
    from unnest(${`{${projects.join(',')}}`}::int[]) p`
  return new Map(rows.map(({ project, shard }) => [project, shard]))
}

/**
 * Prevents shards from being moved or split until the transaction ends, as Citus's own statements do. 5 is ShareLock.
 * The next statement must check for earlier moves, because writes to a shard that was moved away are lost.
 */
export const HOLD_SHARDS = 'select lock_shard_metadata(5, $1)'

/** Fails with 2201F (square root of a negative number) unless all shards are on the node that runs the statement. */
export const CHECK_SHARDS = `select sqrt(count(*) - cardinality($1)) from pg_dist_placement
  where shardid = any ($1) and groupid = (select groupid from pg_dist_local_group)`

interface Isolation {
  /** Id of the shard that holds the project's traces. */
  readonly shard: number
  /** Whether the project is alone in the shard. */
  readonly isAlone: boolean
  readonly applied: boolean
}

/**
 * Returns the project's shard; undefined on a single PostgreSQL server. With `apply`, first gives the project its own
 * shard, while writes to the old shard are blocked.
 */
export async function isolate(sql: Sql, projectId: number, apply: boolean): Promise<Isolation | undefined> {
  const found = await readShard(sql, projectId)
  if (found === undefined) return undefined
  if (!apply || found.isAlone) return { ...found, applied: false }
  return { shard: await isolateProject(sql, projectId), isAlone: true, applied: true }
}
