/** Connections to servers other than the server in the database's address. Each server has its own connection limit. */
import { connectorTo, type DatabaseTarget } from '../connection.ts'
import type { Connections, Database } from '../database.ts'
import { nameOf } from '../sockets/address.ts'
import type { ConnectionLimit } from './connection-limit.ts'

/** Caches the connections to each server. `target` supplies the login and all other parameters. */
export function nodesOf(target: DatabaseTarget, makeLimit: () => ConnectionLimit): Database['node'] {
  const servers = new Map<string, Connections>()
  return host => {
    const key = nameOf(host)
    const known = servers.get(key) ?? { connect: connectorTo(target, host), limit: makeLimit() }
    servers.set(key, known)
    return known
  }
}
