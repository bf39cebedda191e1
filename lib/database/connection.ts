/**
 * One connection to PostgreSQL, as every part of the service uses it: exactly one socket, UTC, and values read in the
 * form in which answers give them (types.ts).
 *
 * Never use `sql.begin`, `sql.reserve` or COPY FROM STDIN of the driver (postgres 3.4.9): a backend that dies inside
 * `begin` ends the process or lets the rest commit alone, and a refused row in a copy never answers. A single statement
 * is atomic by itself; Pool.transaction stands in where maintenance needs several.
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
import { setSession } from './session.ts'
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

/** Begins the name of every connection in pg_stat_activity; the process id tells the service's processes apart. */
export const APPLICATION = 'spoor'

/**
 * Makes an instance of the driver for one connection, which opens at its first query. `onSocket` is given the socket that
 * it goes over, before the driver has it, and another one where the driver opens another.
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
    // TLS is ours (open-socket.ts).
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
    // The driver is told of one host: it would try for ever to reach one of several (postgres 3.4.9).
    const first = { host: address.host[0], port: address.port[0] }
    const socket = () => openAt(address)
    return postgres(withoutCertificates(target), { ...settings, ...first, socket } as never) as unknown as Sql
  }
  const socket = openAt
  const { socketDir, port, user, password, database } = target
  const path = `${socketDir}/.s.PGSQL.${port}`
  return postgres({ ...settings, path, user, password, database, socket } as never) as unknown as Sql
}

/** Where an address leads to, as the driver reads it: the variables of libpq's environment count too. */
const addressOf = (url: string): Address => postgres(url).options as unknown as Address

function tlsModeOf(target: Target): TlsMode | undefined {
  return typeof target === 'string' ? readTlsMode(target, postgres(target).options as never) : undefined
}

/** How connections to a target are made, for people. */
export function transportOf(target: Target): string {
  const isLocal = typeof target !== 'string' || Boolean(addressOf(target).path)
  return describeTransport(tlsModeOf(target), isLocal)
}

/** The driver would send what it does not know to the server, as a setting. */
function withoutCertificates(url: string): string {
  return url.replace(/([?&])sslrootcert=[^&]*&?/, '$1').replace(/[?&]$/, '')
}

/**
 * Where a server closes in good order before it is ready (a proxy without servers behind it does), the driver connects
 * again at once, and for ever; an error ends that.
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

/** Where a target is, for people: without user and password. */
export function describeTarget(target: Target): string {
  if (typeof target !== 'string') return `${target.socketDir}/.s.PGSQL.${target.port}`
  const url = new URL(target)
  return `${url.host === '' ? 'localhost' : url.host}${url.pathname}`
}
