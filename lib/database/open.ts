/** Opens the configured database: the user's own server (DATABASE_URL) or the embedded PostgreSQL. */
import type { Config } from '../config.ts'
import type { Logger } from '../log.ts'
import { connectorTo, type DatabaseTarget, describeTarget, transportOf } from './connection.ts'
import type { Connections, Database } from './database.ts'
import { type EmbeddedRole, openEmbedded } from './embedded/embedded.ts'
import { ConnectionLimit } from './pooled/connection-limit.ts'
import { nameOf } from './sockets/address.ts'

const TOO_FEW = 'PostgreSQL allows fewer connections than this process wants; continuing with fewer'

export interface OpenOptions {
  /** Only one server at a time can open an embedded database. Commands can open the database alongside the server. */
  readonly role: EmbeddedRole
  /** How long to wait for an embedded PostgreSQL's recovery before returning the database (Database.recovery). */
  readonly patienceMs?: number
}

/**
 * Opens the database. Starts an embedded PostgreSQL server if necessary, and waits at most `patienceMs` until the
 * server accepts connections. Does not contact a user's own server, which may be down now and up later.
 */
export async function openDatabase(config: Config, log: Logger, { role, patienceMs }: OpenOptions): Promise<Database> {
  const { databaseUrl, dataDir, keyDigestSecret, previousKeyDigestSecret: previousSecret } = config
  const makeLimit = () => new ConnectionLimit(config.databaseConnections, shortage => log.warn(shortage, TOO_FEW))
  const limit = makeLimit()
  if (databaseUrl !== undefined) {
    return {
      connect: connectorTo(databaseUrl),
      limit,
      node: nodesOf(databaseUrl, makeLimit),
      location: `PostgreSQL at ${describeTarget(databaseUrl)}`,
      transport: transportOf(databaseUrl),
      embedded: false,
      digestSecret: keyDigestSecret,
      previousSecret,
      async close() {}
    }
  }
  const cluster = await openEmbedded(dataDir, role, log, patienceMs)
  return {
    connect: connectorTo(cluster.target),
    limit,
    node: nodesOf(cluster.target, makeLimit),
    location: `embedded PostgreSQL in ${dataDir}`,
    transport: transportOf(cluster.target),
    embedded: true,
    digestSecret: keyDigestSecret ?? cluster.digestSecret,
    previousSecret,
    recovery: cluster.recovery,
    close: cluster.close
  }
}

/**
 * Caches the connections to servers other than the server in the database's address. Each server has its own connection
 * limit. `target` supplies the login and all other parameters.
 */
export function nodesOf(target: DatabaseTarget, makeLimit: () => ConnectionLimit): Database['node'] {
  const servers = new Map<string, Connections>()
  return host => {
    const key = nameOf(host)
    const known = servers.get(key) ?? { connect: connectorTo(target, host), limit: makeLimit() }
    servers.set(key, known)
    return known
  }
}
