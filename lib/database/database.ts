/** The interfaces through which the rest of the code opens connections and closes the database. */
import type { Socket } from 'node:net'
import type { Sql } from 'postgres'
import type { ConnectionLimit } from './pooled/connection-limit.ts'
import type { SessionSettings } from './session/open-session.ts'
import type { Host } from './sockets/address.ts'

/** The settings apply once openSession has opened the connection (session/open-session.ts). */
export interface ConnectOptions extends SessionSettings {
  /** The connection's name in pg_stat_activity. */
  readonly applicationName?: string
  readonly onClose?: () => void
  /** Called with every notice on the channels that the connection listens to. */
  readonly onNotice?: (channel: string, text: string) => void
}

/** Called with a connection's socket before the driver receives it. */
export type OnSocket = (socket: Socket) => void

/** Connections to one PostgreSQL server. */
export interface Connections {
  /** Creates a driver instance with exactly one connection (max: 1). The connection opens at the first query. */
  connect(options?: ConnectOptions, onSocket?: OnSocket): Sql
  /** Limits this process's connections. Commands may exceed the limit. */
  readonly limit: ConnectionLimit
}

export interface Database extends Connections {
  /**
   * Returns connections to another server that stores tables of this database. Each server has its own connection
   * limit.
   */
  node(host: Host): Connections
  /** Address of the database for user-facing messages, without the password. */
  readonly location: string
  /** User-facing description of how the database is reached, including whether TLS is used. */
  readonly transport: string
  readonly embedded: boolean
  /** The secret for the keyed digests of API keys; undefined if none is configured. */
  readonly digestSecret: string | undefined
  /** The secret that `digestSecret` replaces, while keys made with it still work (KEY_DIGEST_SECRET_PREVIOUS). */
  readonly previousSecret?: string | undefined
  /** Settles when an embedded PostgreSQL has recovered or cannot recover; undefined if no recovery is in progress. */
  readonly recovery?: Promise<void> | undefined
  /** Stops an embedded PostgreSQL unless other processes still use it. Leaves a user's own database running. */
  close(): Promise<void>
}
