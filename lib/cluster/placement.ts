/** Storage used on each node of a Citus cluster. */
import type { Sql } from 'postgres'
import { isSpread } from './shards.ts'

export interface NodePlacement {
  readonly name: string
  readonly port: number
  readonly isActive: boolean
  /** Number of trace shards; related tables are colocated with them. */
  readonly shards: number
  /** Total size of all project tables on the node, including indexes. */
  readonly bytes: number
}

/** Returns the nodes that hold traces, by name; undefined on a single PostgreSQL. Throws if a node is unreachable. */
export async function readPlacement(sql: Sql): Promise<readonly NodePlacement[] | undefined> {
  if (!(await isSpread(sql))) return undefined
  return sql<NodePlacement[]>`
    select n.nodename as name, n.nodeport as port, n.isactive as "isActive",
      count(s.shardid) filter (where s.table_name = 'traces'::regclass)::int as shards,
      coalesce(sum(s.shard_size), 0)::bigint as bytes
    from pg_dist_node n
    left join citus_shards s on s.nodename = n.nodename and s.nodeport = n.nodeport
    where n.noderole = 'primary' and n.shouldhaveshards
    group by n.nodename, n.nodeport, n.isactive order by n.nodename, n.nodeport`
}
