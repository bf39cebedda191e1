/**
 * One connection to PostgreSQL, as every part of the service uses it: exactly one socket, UTC, and values read in the
 * form in which answers give them (types.ts).
 *
 * Never use `sql.begin`, `sql.reserve` or COPY FROM STDIN of the driver (postgres 3.4.9): a backend that dies inside
 * `begin` ends the process or lets the rest commit alone, and a refused row in a copy never answers. A single statement
 * is atomic by itself; Pool.transaction stands in where maintenance needs several.
 */
import { connect as openSocket, type Socket } from 'node:net'
import postgres, { type Sql } from 'postgres'
import type { ConnectOptions, OpenSocket } from './database.ts'
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

const CONNECT_TIMEOUT_S = 5

/** Begins the name of every connection in pg_stat_activity; the process id tells the service's processes apart. */
export const APPLICATION = 'spoor'

/**
 * Makes an instance of the driver for one connection, which opens at its first query. `open` is asked for its socket,
 * unless only the driver can use that: what is inside TLS, or goes to the one of several hosts that answers.
 */
export function connectTo(target: Target, options: ConnectOptions = {}, open: OpenSocket = openSocket): Sql {
  const settings = {
    max: 1,
    idle_timeout: undefined,
    max_lifetime: null,
    connect_timeout: CONNECT_TIMEOUT_S,
    onnotice: () => {},
    // See array-text.ts.
    fetch_types: false,
    ...(options.onClose !== undefined && { onclose: options.onClose }),
    connection: {
      application_name: [`${APPLICATION}[${process.pid}]`, options.applicationName].join(' ').trim(),
      TimeZone: 'UTC',
      DateStyle: 'ISO',
      ...options.settings,
      ...(options.statementTimeoutMs !== undefined && { statement_timeout: options.statementTimeoutMs })
    },
    types: TYPES
  }
  if (typeof target !== 'string') {
    const { socketDir, port, user, password, database } = target
    const path = `${socketDir}/.s.PGSQL.${port}`
    return postgres({
      ...settings,
      path,
      user,
      password,
      database,
      socket: () => breakAtEnd(open({ path }))
    } as never) as unknown as Sql
  }
  // The driver's own socket tries several hosts in turn; ours knows one.
  const openPlain = mayUseTls(target) ? openSocket : open
  const opener: OpenSocket = address => breakAtEnd(openPlain(address))
  const socket = hasSeveralHosts(target)
    ? {}
    : { socket: (options: SocketOptions) => openPromptSocket(options, opener) }
  return postgres(target, { ...settings, ...socket }) as unknown as Sql
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

function hasSeveralHosts(url: string): boolean {
  return decodeURIComponent(new URL(url).host).includes(',')
}

const TLS_PARAMETERS = ['ssl', 'sslmode', 'sslrootcert', 'sslnegotiation']

function mayUseTls(url: string): boolean {
  const { searchParams } = new URL(url)
  return process.env.PGSSLMODE !== undefined || TLS_PARAMETERS.some(name => searchParams.has(name))
}

interface SocketOptions {
  readonly host: readonly string[]
  readonly port: readonly number[]
  readonly path: string | false
}

/**
 * The driver leaves Nagle's algorithm on, which held a batch back for up to 88 ms over TCP. A socket that is still
 * connecting may be handed over: what is written to it waits.
 */
function openPromptSocket({ host, port, path }: SocketOptions, open: OpenSocket): Socket {
  if (path !== false) return open({ path })
  // The driver takes the name that a TLS certificate must have from these two.
  const address = { host: host[0]!, port: port[0]! }
  return Object.assign(open({ ...address, noDelay: true }), address)
}
