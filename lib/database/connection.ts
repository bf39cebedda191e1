/**
 * Makes a connection to PostgreSQL, as every part of the service uses it: with exactly one socket, in UTC, and with
 * values in the form in which answers give them (types.ts).
 *
 * Never use `sql.begin`, `sql.reserve` or COPY FROM STDIN of the driver (postgres 3.4.9). If a backend dies inside
 * `begin`, the process ends, or the rest of the transaction is committed alone. If a row of a COPY is refused, the
 * driver never answers. A single statement is atomic by itself. Maintenance that needs several statements uses
 * Pool.transaction.
 */
import type { Socket } from 'node:net'
import postgres, { type Sql } from 'postgres'
import type { ConnectOptions, OnSocket } from './database.ts'
import {
  type Address,
  CONNECT_TIMEOUT_MS,
  describeTransport,
  readTlsMode,
  socketOpener,
  type TlsMode
} from './open-socket.ts'
import { setSession } from './session/open-session.ts'
import { TYPES } from './types.ts'

/** A postgres:// address, or a server's Unix socket. */
export type Target = string | SocketTarget
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

/**
 * Makes an instance of the driver for one connection, which opens at its first query. `onSocket` is called with every
 * socket that the driver opens, before the driver gets it.
 */
export function connectTo(target: Target, options: ConnectOptions = {}, onSocket?: OnSocket): Sql {
  const sql = connectUnset(target, options, onSocket)
  setSession(sql, options)
  return sql
}

function connectUnset(target: Target, options: ConnectOptions, onSocket?: OnSocket): Sql {
  const settings = {
    max: 1,
    idle_timeout: undefined,
    max_lifetime: null,
    connect_timeout: CONNECT_TIMEOUT_MS / 1000,
    onnotice: () => {},
    // See array-text.ts.
    fetch_types: false,
    ...(options.onClose !== undefined && { onclose: options.onClose }),
    ...(options.onNotice !== undefined && { onnotify: options.onNotice }),
    connection: {
      application_name: [`${APPLICATION}[${process.pid}]`, options.applicationName].join(' ').trim(),
      TimeZone: 'UTC',
      DateStyle: 'ISO'
    },
    types: TYPES,
    // open-socket.ts does TLS.
    ssl: false
  }
  const open = socketOpener(tlsModeOf(target))
  const openAt = async (address: Address) => {
    const opened = breakAtEnd(await open(address))
    onSocket?.(opened)
    return opened
  }
  if (typeof target === 'string') {
    const address = addressOf(target)
    // The driver is told of only one host: with several, it would try for ever to reach one (postgres 3.4.9).
    const first = { host: address.host[0], port: address.port[0] }
    const socket = () => openAt(address)
    return postgres(withoutCertificates(target), { ...settings, ...first, socket } as never) as unknown as Sql
  }
  const socket = openAt
  const { socketDir, port, user, password, database } = target
  const path = `${socketDir}/.s.PGSQL.${port}`
  return postgres({ ...settings, path, user, password, database, socket } as never) as unknown as Sql
}

/** The hosts and ports of an address, as the driver reads it. The environment variables of libpq count too. */
const addressOf = (url: string): Address => postgres(url).options as unknown as Address

function tlsModeOf(target: Target): TlsMode | undefined {
  return typeof target === 'string' ? readTlsMode(target, postgres(target).options as never) : undefined
}

/** How connections to a target are made, in words for people. */
export function transportOf(target: Target): string {
  const isLocal = typeof target !== 'string' || Boolean(addressOf(target).path)
  return describeTransport(tlsModeOf(target), isLocal)
}

/** The address without sslrootcert, which the driver does not know and would send to the server as a setting. */
function withoutCertificates(url: string): string {
  return url.replace(/([?&])sslrootcert=[^&]*&?/, '$1').replace(/[?&]$/, '')
}

/**
 * Turns the orderly end of a socket into an error. If a server closes a connection before it is ready, as a proxy
 * without servers behind it does, the driver would connect again at once, and for ever. An error stops it.
 */
function breakAtEnd(socket: Socket): Socket {
  return socket.once('end', () => {
    socket.destroy(
      Object.assign(new Error('the server closed the connection'), { code: 'ECONNRESET', syscall: 'read' })
    )
  })
}

/** The same target, but another database of its server. */
export function withDatabase(target: Target, database: string): Target {
  if (typeof target !== 'string') return { ...target, database }
  const url = new URL(target)
  url.pathname = `/${encodeURIComponent(database)}`
  return url.href
}

/** The address of a target, in words for people: without user and password. */
export function describeTarget(target: Target): string {
  if (typeof target !== 'string') return `${target.socketDir}/.s.PGSQL.${target.port}`
  const url = new URL(target)
  return `${url.host === '' ? 'localhost' : url.host}${url.pathname}`
}
