/** Opens the database that the configuration names: a server of the user's own (DATABASE_URL), or the embedded one. */
import type { Config } from '../config.ts'
import type { Logger } from '../log.ts'
import { connectorTo, describeTarget, transportOf } from './connection.ts'
import type { Database } from './database.ts'
import { type EmbeddedRole, openEmbedded } from './embedded/embedded.ts'
import { ConnectionLimit } from './pooled/connection-limit.ts'
import { nodesOf } from './pooled/nodes.ts'

const TOO_FEW = 'PostgreSQL allows fewer connections than this process would use; it goes on with those'

export interface OpenOptions {
  /** Only one server at a time can have an embedded database open. Commands can open it beside the server. */
  readonly role: EmbeddedRole
  /** If an embedded PostgreSQL takes longer to recover, the database is returned before (Database.recovery). */
  readonly patienceMs?: number
}

/**
 * Opens the database. An embedded one is started if it does not run, and takes connections when this resolves, unless
 * `patienceMs` ended before. A server of the user's own is not contacted yet: it may be down now and up later.
 */
export async function openDatabase(config: Config, log: Logger, { role, patienceMs }: OpenOptions): Promise<Database> {
  const { databaseUrl, dataDir, keyDigestSecret } = config
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
    recovery: cluster.recovery,
    close: cluster.close
  }
}
