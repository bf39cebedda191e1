/**
 * Creates PostgreSQL connections, each with exactly one socket. Sessions use UTC, and values have the format of API
 * responses (types.ts).
 *
 * Never use the driver's `sql.begin`, `sql.reserve` or COPY FROM STDIN (postgres 3.4.9). If a backend dies inside
 * `begin`, either the process exits, or the rest of the transaction is committed on its own. If a COPY row is rejected,
 * the driver's promise never settles. A single statement is atomic by itself. Maintenance that needs several statements
 * uses Pool.transaction.
 */
import postgres, { type Sql } from 'postgres'
import type { ConnectOptions, OnSocket } from './database.ts'
import { setSession } from './session/open-session.ts'
import { type Address, atHost, describeAddress, type Host, readAddress } from './sockets/address.ts'
import { CONNECT_TIMEOUT_MS, describeTransport, Opener, Openings } from './sockets/open-socket.ts'
import { readTls } from './sockets/tls.ts'
import { TYPES } from './types.ts'

/** A postgres:// address, or a server's Unix socket. */
export type DatabaseTarget = string | SocketTarget
export interface SocketTarget {
  /** The folder that contains the socket `.s.PGSQL.<port>`. */
  readonly socketDir: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
}

/** Prefix of every connection's name in pg_stat_activity. The process id follows. */
export const APPLICATION = 'spoor'
/**
 * Number that follows the process id in a connection's name. Versions before 1.0.0 add no number (old-servers.ts). The
 * number changes when a version cannot run alongside the previous version.
 */
const GENERATION = 1

type Connect = (options?: ConnectOptions, onSocket?: OnSocket) => Sql

/** Creates a single connection; equivalent to connectorTo(target)(options, onSocket). */
export function connectTo(target: DatabaseTarget, options: ConnectOptions = {}, onSocket?: OnSocket): Sql {
  return connectorTo(target)(options, onSocket)
}

/**
 * Returns a function that creates a driver instance for one connection. The connection opens at the first query.
 * `onSocket` receives each socket of the connection before the driver does. `host` selects another server with the same
 * database and login. Throws a ConfigError if the target contradicts itself.
 */
export function connectorTo(target: DatabaseTarget, host?: Host): Connect {
  const address = host === undefined ? addressOf(target) : atHost(addressOf(target), host)
  const timeoutMs = readTimeout(address)
  const opener = new Opener(address, timeoutMs)
  const { user, password, database } = address
  const known = {
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    ...(database !== undefined && { database })
  }
  return (options = {}, onSocket) => {
    const openings = new Openings(opener)
    const open = async () => {
      const socket = await openings.open()
      onSocket?.(socket)
      return socket
    }
    const driven = { ...settingsOf(address, timeoutMs, options), ...known, ...serverOf(address), socket: open }
    const sql = unnoticed('PGTARGETSESSIONATTRS', () => postgres(driven as never))
    const { end } = sql
    sql.end = async settings => {
      if (settings?.timeout === 0) openings.stop()
      await end(settings)
      openings.stop()
    }
    setSession(sql as unknown as Sql, options)
    return sql as unknown as Sql
  }
}

/**
 * Calls the `make` callback with an environment variable temporarily unset. Otherwise the driver would read
 * PGTARGETSESSIONATTRS, reject values that libpq accepts, and repeat the server selection of sockets/attempts.ts.
 */
function unnoticed<T>(variable: string, make: () => T): T {
  const value = process.env[variable]
  if (value === undefined) return make()
  delete process.env[variable]
  try {
    return make()
  } finally {
    process.env[variable] = value
  }
}

function settingsOf(address: Address, timeoutMs: number, options: ConnectOptions) {
  return {
    max: 1,
    idle_timeout: undefined,
    max_lifetime: null,
    connect_timeout: timeoutMs / 1000,
    onnotice: () => {},
    // The driver need not query array types, because types.ts handles arrays.
    fetch_types: false,
    ...(options.onClose !== undefined && { onclose: options.onClose }),
    ...(options.onNotice !== undefined && { onnotify: options.onNotice }),
    connection: {
      ...address.settings,
      application_name: [`${APPLICATION}[${process.pid}/${GENERATION}]`, options.applicationName].join(' ').trim(),
      TimeZone: 'UTC',
      DateStyle: 'ISO'
    },
    types: TYPES,
    // TLS is handled in sockets/tls.ts.
    ssl: false
  }
}

/** Returns connect_timeout, the limit for each server's login, in milliseconds. As in libpq, the minimum is 2 s. */
function readTimeout({ parameter }: Address): number {
  const seconds = Number(parameter('connect_timeout') ?? 0)
  return seconds > 0 ? Math.max(2, seconds) * 1000 : CONNECT_TIMEOUT_MS
}

/** Returns the host and port that the driver shows in error messages. The driver does not open the socket. */
function serverOf({ servers: [server] }: Address) {
  return server !== undefined && 'path' in server ? { path: server.path } : { host: server?.host, port: server?.port }
}

function addressOf(target: DatabaseTarget): Address {
  if (typeof target === 'string') return readAddress(target)
  const { socketDir, port, user, password, database } = target
  const servers = [{ path: `${socketDir}/.s.PGSQL.${port}` }]
  return { servers, user, password, database, parameter: () => undefined, settings: {} }
}

export function transportOf(target: DatabaseTarget): string {
  const address = addressOf(target)
  return describeTransport(address, readTls(address))
}

/** Describes a target's address without the user and password. */
export function describeTarget(target: DatabaseTarget): string {
  if (typeof target !== 'string') return `${target.socketDir}/.s.PGSQL.${target.port}`
  return describeAddress(readAddress(target))
}
