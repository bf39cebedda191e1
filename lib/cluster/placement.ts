/** Storage used on each node of a Citus cluster, and problems with the nodes. */
import type { Sql } from 'postgres'
import { isSpread } from './shards.ts'

export interface NodePlacement {
  readonly name: string
  readonly port: number
  readonly isActive: boolean
  /** Number of shards of the table `traces`. Shards of related tables are colocated with these shards. */
  readonly shards: number
  /** Total size of all project tables on the node, including indexes, in bytes. */
  readonly bytes: number
}

/**
 * Returns the nodes that hold traces, by name; undefined on a single PostgreSQL server. Throws if a node is
 * unreachable.
 */
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

/**
 * A node counts as too full if it holds more than this multiple of the average size, provided that all nodes together
 * hold at least LEAST_BYTES.
 */
const SKEW = 1.5
const LEAST_BYTES = 1e9

const named = ({ name, port }: NodePlacement) => `${name}:${port}`

/** Returns the nodes' problems; an empty array on a single PostgreSQL server. */
export function nodeProblems(nodes: readonly NodePlacement[]): string[] {
  const away = nodes
    .filter(({ isActive }) => !isActive)
    .map(
      node =>
        `The node ${named(node)} is not active, so its projects are not served. Activate it (citus_activate_node).`
    )
  const total = nodes.reduce((sum, { bytes }) => sum + bytes, 0)
  const most = total < LEAST_BYTES ? Number.POSITIVE_INFINITY : (SKEW * total) / nodes.length
  const full = nodes
    .filter(({ bytes }) => bytes > most)
    .map(node => {
      const share = Math.round((100 * node.bytes) / total)
      const remedy = 'move shards to other nodes (citus_rebalance_start) while it is running.'
      return `The node ${named(node)} holds ${share} % of all: ${remedy}`
    })
  return [...away, ...full]
}
