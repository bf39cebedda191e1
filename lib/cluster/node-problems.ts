/** Describes problems with a cluster's nodes, and their remedies. */
import type { NodePlacement } from './placement.ts'

/** A node is too full at this multiple of the average, provided that all nodes together hold at least LEAST_BYTES. */
const SKEW = 1.5
const LEAST_BYTES = 1e9

const named = ({ name, port }: NodePlacement) => `${name}:${port}`

/** Returns an empty array on a single PostgreSQL. */
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
