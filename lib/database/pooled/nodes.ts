/** The nodes of a cluster, each with its own connections and limit: a server bounds its own connections. */
import { connectorTo, type Target } from '../connection.ts'
import type { Connections, Database } from '../database.ts'
import type { ConnectionLimit } from './connection-limit.ts'

/** `target` says how all of them are reached; the names of hosts are the cluster's. */
export function nodesOf(target: Target, makeLimit: () => ConnectionLimit): Database['node'] {
  const servers = new Map<string, Connections>()
  return host => {
    const key = `${host.host}:${host.port}`
    const known = servers.get(key) ?? { connect: connectorTo(target, host), limit: makeLimit() }
    servers.set(key, known)
    return known
  }
}
