/** What the rest of the code knows of the database: how to get a connection, and how to let go of it. */
import type { NetConnectOpts, Socket } from 'node:net'
import type { Sql } from 'postgres'

export interface ConnectOptions {
  /** Shown in pg_stat_activity. */
  readonly applicationName?: string
  /** Milliseconds; undefined: the server's own. */
  readonly statementTimeoutMs?: number
  /** Settings of PostgreSQL for this connection. */
  readonly settings?: Readonly<Record<string, string>>
  readonly onClose?: () => void
}

/** Opens the socket that the driver shall use. */
export type OpenSocket = (address: NetConnectOpts) => Socket

export interface Database {
  /**
   * Makes an instance of the driver that holds exactly one connection (max: 1), opened at its first query; with `open`
   * over a socket that the caller sees, where that is possible.
   */
  connect(options?: ConnectOptions, open?: OpenSocket): Sql
  /** Where it is, for people: without a password. */
  readonly location: string
  readonly embedded: boolean
  /** The secret of the keyed digest; undefined: not configured. */
  readonly digestSecret: string | undefined
  /** Lets go; stops an embedded PostgreSQL that this process started. */
  close(): Promise<void>
}
