/** Says what is wrong with the nodes of a cluster, in sentences that tell what to do. */
import type { NodePlacement } from './placement.ts'

/** A node that holds so many times the average is said to be too full, once there is enough to speak of. */
const SKEW = 1.5
const LEAST_BYTES = 1e9

const named = ({ name, port }: NodePlacement) => `${name}:${port}`

/** One PostgreSQL has no nodes, and no problems here. */
export function nodeProblems(nodes: readonly NodePlacement[]): string[] {
  const away = nodes
    .filter(({ isActive }) => !isActive)
    .map(
      node => `The node ${named(node)} is not active: its projects are not served. Activate it (citus_activate_node).`
    )
  const total = nodes.reduce((sum, { bytes }) => sum + bytes, 0)
  const most = total < LEAST_BYTES ? Number.POSITIVE_INFINITY : (SKEW * total) / nodes.length
  const full = nodes
    .filter(({ bytes }) => bytes > most)
    .map(node => {
      const share = Math.round((100 * node.bytes) / total)
      const remedy = 'move shards to others (citus_rebalance_start), while it serves.'
      return `The node ${named(node)} holds ${share} % of all: ${remedy}`
    })
  return [...away, ...full]
}
