/**
 * Other servers than that of the address, each with connections and a limit of its own: a server bounds its own
 * connections.
 */
import { connectorTo, type DatabaseTarget } from '../connection.ts'
import type { Connections, Database } from '../database.ts'
import { nameOf } from '../sockets/address.ts'
import type { ConnectionLimit } from './connection-limit.ts'

/** `target` says how all of them are reached. */
export function nodesOf(target: DatabaseTarget, makeLimit: () => ConnectionLimit): Database['node'] {
  const servers = new Map<string, Connections>()
  return host => {
    const key = nameOf(host)
    const known = servers.get(key) ?? { connect: connectorTo(target, host), limit: makeLimit() }
    servers.set(key, known)
    return known
  }
}
