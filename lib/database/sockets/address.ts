/**
 * Parses DATABASE_URL as libpq does: `postgres://user:password@host:port,host:port/database?name=value`. The query
 * string may also set `host` and `port`. A host that begins with a slash is the folder of a Unix socket. Environment
 * variables such as PGHOST and PGSSLMODE supply missing values.
 */
import { ConfigError } from '../../variables.ts'

export type Server = { readonly host: string; readonly port: number } | { readonly path: string }

export interface Address {
  readonly servers: readonly Server[]
  readonly user: string | undefined
  readonly password: string | undefined
  readonly database: string | undefined
  /** Returns the libpq parameter from the address or the environment; undefined if neither sets the parameter. */
  parameter(name: string): string | undefined
  /** Settings that are sent to the server. */
  readonly settings: Readonly<Record<string, string>>
}

/** A server's host name or IP address; a host that begins with a slash is the folder of a Unix socket. */
export interface Host {
  readonly host: string
  readonly port: number
}

/** Returns a key that identifies a server. */
export const nameOf = ({ host, port }: Host): string => `${host}:${port}`

const DEFAULT_PORT = 5432
/** Parameters that the client reads, each with its fallback environment variable. */
const VARIABLES: Readonly<Record<string, string | undefined>> = {
  host: 'PGHOST',
  hostaddr: 'PGHOSTADDR',
  port: 'PGPORT',
  user: undefined,
  password: undefined,
  dbname: undefined,
  sslmode: 'PGSSLMODE',
  sslnegotiation: 'PGSSLNEGOTIATION',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  sslpassword: undefined,
  sslcrl: 'PGSSLCRL',
  sslsni: 'PGSSLSNI',
  sslcertmode: 'PGSSLCERTMODE',
  ssl_min_protocol_version: 'PGSSLMINPROTOCOLVERSION',
  ssl_max_protocol_version: 'PGSSLMAXPROTOCOLVERSION',
  sslcompression: undefined,
  channel_binding: 'PGCHANNELBINDING',
  target_session_attrs: 'PGTARGETSESSIONATTRS',
  load_balance_hosts: 'PGLOADBALANCEHOSTS',
  connect_timeout: 'PGCONNECT_TIMEOUT',
  gssencmode: 'PGGSSENCMODE',
  krbsrvname: undefined,
  keepalives: undefined,
  keepalives_idle: undefined,
  keepalives_interval: undefined,
  keepalives_count: undefined,
  tcp_user_timeout: undefined,
  fallback_application_name: undefined,
  application_name: undefined,
  client_encoding: undefined
}

/** Throws a ConfigError if the string is not a valid address. */
export function readAddress(url: string, env: NodeJS.ProcessEnv = process.env): Address {
  const [, authority = '', path = '', query = ''] =
    /^postgres(?:ql)?:\/\/([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?(?:#.*)?$/.exec(url) ??
    refuse('is not a postgres:// URL')
  const at = authority.lastIndexOf('@')
  const [user = '', ...password] = authority.slice(0, Math.max(0, at)).split(':')
  const values = new Map(new URLSearchParams(query.replaceAll('+', '%2B')))
  const parameter = (name: string) => values.get(name) || (VARIABLES[name] && env[VARIABLES[name]]) || undefined
  const settings = [...values].filter(([name]) => !Object.hasOwn(VARIABLES, name))
  return {
    servers: readServers(authority.slice(at + 1), parameter),
    user: decode(user) || values.get('user'),
    password: decode(password.join(':')) || values.get('password'),
    database: decode(path) || values.get('dbname'),
    parameter,
    settings: Object.fromEntries(settings)
  }
}

/** Returns the address with a different server. */
export function atHost(address: Address, server: Host): Address {
  const servers = [serverAt(server.host, server.port)]
  return { ...address, servers, parameter: name => (name === 'hostaddr' ? undefined : address.parameter(name)) }
}

const serverAt = (host: string, port: number): Server =>
  host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host: host || 'localhost', port }

/** Describes an address without the user and password. */
export function describeAddress({ servers, database = '' }: Address): string {
  return `${servers.map(describeServer).join(',')}/${database}`
}

export function describeServer(server: Server): string {
  if ('path' in server) return server.path
  const host = server.host.includes(':') ? `[${server.host}]` : server.host
  return server.port === DEFAULT_PORT ? host : `${host}:${server.port}`
}

function readServers(authority: string, parameter: Address['parameter']): Server[] {
  const named = authority === '' ? [] : authority.split(',').map(readHost)
  const hosts = named.some(({ host }) => host !== '') ? named.map(({ host }) => host) : list(parameter('host'))
  const own = named.map(({ port }) => port)
  const ports = own.some(port => port !== '') ? own : list(parameter('port'))
  if (ports.length > 1 && ports.length !== Math.max(1, hosts.length)) refuse('must have one port, or one per host')
  return (hosts.length === 0 ? ['localhost'] : hosts).map((host, i) => {
    return serverAt(host, readPort(ports.length === 1 ? ports[0]! : (ports[i] ?? '')))
  })
}

const list = (text: string | undefined): string[] =>
  text === undefined ? [] : text.split(',').map(item => item.trim())

/** Parses `host`, `host:port` or `[address]:port`. The colon may be escaped, as in addresses for JavaScript's URL. */
function readHost(text: string): { host: string; port: string } {
  const [, address, behind = ''] = /^\[([^\]]*)\](?::(\d*))?$/.exec(text) ?? []
  if (address !== undefined) return { host: address, port: behind }
  const [, host = '', port = ''] =
    /^(\/.*?|[^:]*)(?::(\d*))?$/s.exec(decode(text)) ?? refuse('has a host that is not of the form name:port')
  return { host, port }
}

function readPort(text: string): number {
  if (text === '') return DEFAULT_PORT
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  return port > 0 && port < 65_536 ? port : refuse('must have a port from 1 to 65535')
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return refuse('has a % that is not followed by two hexadecimal digits')
  }
}

/** Throws a ConfigError. The message omits the value, which may contain a password. */
function refuse(rule: string): never {
  throw new ConfigError(`DATABASE_URL ${rule}: it must have the form postgres://user:password@host:port/database`)
}
