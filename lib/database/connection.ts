/**
 * Makes a connection to PostgreSQL, as every part of the service uses it: with exactly one socket, in UTC, and with
 * values in the form in which answers give them (types.ts).
 *
 * Never use `sql.begin`, `sql.reserve` or COPY FROM STDIN of the driver (postgres 3.4.9). If a backend dies inside
 * `begin`, the process ends, or the rest of the transaction is committed alone. If a row of a COPY is refused, the
 * driver never answers. A single statement is atomic by itself. Maintenance that needs several statements uses
 * Pool.transaction.
 */
import postgres, { type Sql } from 'postgres'
import type { ConnectOptions, OnSocket } from './database.ts'
import { setSession } from './session/open-session.ts'
import { type Address, atHost, describeAddress, type Host, readAddress, withPath } from './sockets/address.ts'
import { CONNECT_TIMEOUT_MS, describeTransport, Opener } from './sockets/open-socket.ts'
import { readTls } from './sockets/tls.ts'
import { TYPES } from './types.ts'

/** A postgres:// address, or a server's Unix socket. */
export type DatabaseTarget = string | SocketTarget
export interface SocketTarget {
  /** The folder of the socket, which is named `.s.PGSQL.<port>`. */
  readonly socketDir: string
  readonly port: number
  readonly user: string
  readonly password: string
  readonly database: string
}

/** The beginning of every connection's name in pg_stat_activity. The process id follows. */
export const APPLICATION = 'spoor'

type Connect = (options?: ConnectOptions, onSocket?: OnSocket) => Sql

/** The same as connectorTo(target)(options, onSocket): for one connection. */
export function connectTo(target: DatabaseTarget, options: ConnectOptions = {}, onSocket?: OnSocket): Sql {
  return connectorTo(target)(options, onSocket)
}

/**
 * Returns a function that makes an instance of the driver for one connection, which opens at its first query.
 * `onSocket` gets the socket of the connection before the driver has it, and again each time the driver opens another
 * one. Throws a ConfigError if the target contradicts itself. `host` is another server with the same database, to which
 * the same user logs in in the same way.
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
    const series = opener.series()
    const open = async () => {
      const socket = await series.open()
      onSocket?.(socket)
      return socket
    }
    const driven = { ...settingsOf(address, timeoutMs, options), ...known, ...serverOf(address), socket: open }
    const sql = unnoticed('PGTARGETSESSIONATTRS', () => postgres(driven as never))
    const { end } = sql
    sql.end = async settings => {
      if (settings?.timeout === 0) series.stop()
      await end(settings)
      series.stop()
    }
    setSession(sql as unknown as Sql, options)
    return sql as unknown as Sql
  }
}

/**
 * Calls `make` without a variable of the environment. The driver reads PGTARGETSESSIONATTRS as well: it refuses values
 * that libpq takes, and looks for other servers, which sockets/attempts.ts has done.
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
    // See array-text.ts.
    fetch_types: false,
    ...(options.onClose !== undefined && { onclose: options.onClose }),
    ...(options.onNotice !== undefined && { onnotify: options.onNotice }),
    connection: {
      ...address.settings,
      application_name: [`${APPLICATION}[${process.pid}]`, options.applicationName].join(' ').trim(),
      TimeZone: 'UTC',
      DateStyle: 'ISO'
    },
    types: TYPES,
    // TLS is ours (sockets/tls.ts).
    ssl: false
  }
}

/** How long each server may take to let us in: connect_timeout, in seconds. Like libpq, takes 2 for less. */
function readTimeout({ parameter }: Address): number {
  const seconds = Number(parameter('connect_timeout') ?? 0)
  return seconds > 0 ? Math.max(2, seconds) * 1000 : CONNECT_TIMEOUT_MS
}

/** The host and port for the driver, which only repeats them in its error messages; the socket is opened elsewhere. */
function serverOf({ servers: [server] }: Address) {
  return server !== undefined && 'path' in server ? { path: server.path } : { host: server?.host, port: server?.port }
}

function addressOf(target: DatabaseTarget): Address {
  if (typeof target === 'string') return readAddress(target)
  const { socketDir, port, user, password, database } = target
  const servers = [{ path: `${socketDir}/.s.PGSQL.${port}` }]
  return { servers, user, password, database, parameter: () => undefined, settings: {} }
}

/** How connections to a target are made, in words for people. */
export function transportOf(target: DatabaseTarget): string {
  const address = addressOf(target)
  return describeTransport(address, readTls(address))
}

/** The same target, but another database of its server. */
export function withDatabaseAt(target: DatabaseTarget, database: string): DatabaseTarget {
  return typeof target === 'string' ? withPath(target, database) : { ...target, database }
}

/** The address of a target, in words for people: without user and password. */
export function describeTarget(target: DatabaseTarget): string {
  if (typeof target !== 'string') return `${target.socketDir}/.s.PGSQL.${target.port}`
  return describeAddress(readAddress(target))
}
