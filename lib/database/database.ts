/** The database as the rest of the code sees it: how to get a connection, and how to close the database. */
import type { Socket } from 'node:net'
import type { Sql } from 'postgres'
import type { ConnectionLimit } from './pooled/connection-limit.ts'
import type { SessionSettings } from './session/open-session.ts'
import type { Host } from './sockets/address.ts'

/** The settings hold once the connection is opened by openSession (session/open-session.ts). */
export interface ConnectOptions extends SessionSettings {
  /** Shown in pg_stat_activity. */
  readonly applicationName?: string
  readonly onClose?: () => void
  /** Called with every notice on the channels that the connection listens to. */
  readonly onNotice?: (channel: string, text: string) => void
}

/** Called with the socket of a connection before the driver gets it. */
export type OnSocket = (socket: Socket) => void

/** How to get connections to one server of PostgreSQL. */
export interface Connections {
  /**
   * Makes an instance of the driver that holds exactly one connection (max: 1), opened at its first query.
   */
  connect(options?: ConnectOptions, onSocket?: OnSocket): Sql
  /** Bounds the connections of this process. Commands need not keep to it. */
  readonly limit: ConnectionLimit
}

export interface Database extends Connections {
  /** Another server that has tables of this database, by its own address. Each has a limit of its own. */
  node(host: Host): Connections
  /** The address of the database, in words for people, without a password. */
  readonly location: string
  /** How the database is reached, in words for people: whether over TLS. */
  readonly transport: string
  readonly embedded: boolean
  /** The secret of the keyed digest; undefined if it is not configured. */
  readonly digestSecret: string | undefined
  /**
   * Set while an embedded PostgreSQL recovers; settles when it has, or cannot. Undefined if there is nothing to wait
   * for.
   */
  readonly recovery?: Promise<void> | undefined
  /** Stops an embedded PostgreSQL, unless others still use it. A database of the user's own is left as it is. */
  close(): Promise<void>
}
