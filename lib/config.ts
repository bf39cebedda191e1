/** The configuration: environment variables, read and checked once at the start. README.md lists them. */
import { resolve } from 'node:path'
import { parallelismOf } from './limits/parallelism.ts'
import type { LoggedRequests } from './log.ts'
import { readNetworks } from './network-list.ts'

export interface Config {
  /** Undefined for an embedded PostgreSQL under dataDir. */
  readonly databaseUrl: string | undefined
  readonly dataDir: string
  readonly host: string
  readonly port: number
  /** The port of OTLP over gRPC; undefined if it is off. */
  readonly grpcPort: number | undefined
  /** Files with the certificate and the key of the gRPC server, in PEM; undefined for no TLS. */
  readonly grpcTls: { readonly cert: string; readonly key: string } | undefined
  /** Without a trailing slash; undefined if the address follows from the request's Host header. */
  readonly baseUrl: string | undefined
  readonly keyPrefix: string
  /**
   * Undefined if it is not set: then an embedded database generates one in dataDir, and any other is not configured.
   */
  readonly keyDigestSecret: string | undefined
  /** Undefined if trial mode is off. */
  readonly trialTraces: number | undefined
  readonly storageLimitBytes: number
  /**
   * After how many milliseconds without a new span a trace of OpenTelemetry without a root is complete; undefined:
   * never.
   */
  readonly idleCompleteMs: number | undefined
  readonly workers: number
  /** The most that one process opens to the database. */
  readonly databaseConnections: number
  readonly processes: number
  readonly allowedOrigins: readonly string[]
  readonly dashboard: boolean
  /** Undefined if no proxy signs people in. */
  readonly authProxy: AuthProxy | undefined
  readonly logLevel: string
  /** Undefined: text on a terminal, JSON elsewhere. */
  readonly logFormat: 'text' | 'json' | undefined
  readonly logRequests: LoggedRequests
  /** The addresses and networks of proxies whose X-Forwarded-For is believed. */
  readonly trustProxy: readonly string[]
  readonly autoMigrate: boolean
  /** How long a server that was told to go by SIGTERM still takes requests, so that all who use it notice. */
  readonly shutdownGraceMs: number
}

/** A proxy that signs people in to the dashboard (lib/http/people/trusted-proxy.ts). */
export interface AuthProxy {
  /** The header with the address of the person, in lower case. */
  readonly header: string
  /** The addresses and networks from which the proxy comes. */
  readonly from: readonly string[]
  /** What somebody becomes whom nobody has added; undefined: nobody. */
  readonly role: 'viewer' | undefined
  /** Where to go to sign out. */
  readonly signOutUrl: string | undefined
}

/**
 * Thrown for a configuration value that cannot be used. The message is one line that names the variable and the rule.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** The names of all variables. */
export const VARIABLES: readonly string[] = [
  'DATABASE_URL',
  'DATA_DIR',
  'HOST',
  'PORT',
  'OTLP_GRPC_PORT',
  'OTLP_GRPC_CERT',
  'OTLP_GRPC_KEY',
  'OTLP_IDLE_COMPLETE',
  'BASE_URL',
  'KEY_PREFIX',
  'KEY_DIGEST_SECRET',
  'TRIAL_TRACES',
  'STORAGE_LIMIT_BYTES',
  'WORKERS',
  'PROCESSES',
  'DATABASE_CONNECTIONS',
  'ALLOWED_ORIGINS',
  'DASHBOARD',
  'AUTH_PROXY_HEADER',
  'AUTH_PROXY_FROM',
  'AUTH_PROXY_ROLE',
  'AUTH_PROXY_SIGN_OUT_URL',
  'LOG_LEVEL',
  'LOG_FORMAT',
  'LOG_REQUESTS',
  'TRUST_PROXY',
  'AUTO_MIGRATE',
  'SHUTDOWN_GRACE'
]

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

const MINUTE_MS = 60_000
/** Whoever waits longer for a server to go has forgotten it. */
const MOST_GRACE_MS = 10 * MINUTE_MS
const UNITS_MS: Readonly<Record<string, number>> = { s: 1000, m: MINUTE_MS, h: 60 * MINUTE_MS, d: 24 * 60 * MINUTE_MS }

/** Reads the configuration, or throws a ConfigError for the first variable that is wrong. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const text = (name: string): string | undefined => {
    const value = env[name]?.trim()
    return value === undefined || value === '' ? undefined : value
  }
  const refuse = (name: string, rule: string): never => {
    throw new ConfigError(`${name} ${rule}, but is ${JSON.stringify(withoutUsers(env[name]!))}`)
  }
  const integer = (name: string, least: number, most: number): number | undefined => {
    const value = text(name)
    if (value === undefined) return undefined
    const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN
    if (!(number >= least && number <= most)) refuse(name, `must be a whole number from ${least} to ${most}`)
    return number
  }
  /** Undefined for `off`. */
  const duration = (name: string, otherwise: number): number | undefined => {
    const value = text(name)
    if (value === undefined) return otherwise
    if (value === 'off') return undefined
    const ms = milliseconds(value)
    return ms > 0 ? ms : refuse(name, 'must be a duration such as 30s, 10m or 2h, or off')
  }
  const list = (name: string): string[] =>
    (text(name) ?? '')
      .split(',')
      .map(each => each.trim())
      .filter(each => each !== '')
  const oneOf = <T extends string>(name: string, values: readonly T[]): T | undefined => {
    const value = text(name)
    const found = values.find(each => each === value)
    return value === undefined || found !== undefined ? found : refuse(name, `must be one of ${values.join(', ')}`)
  }
  const url = (name: string, protocols: readonly string[]): URL | undefined => {
    const value = text(name)
    if (value === undefined) return undefined
    const parsed = URL.canParse(value) ? new URL(value) : undefined
    if (parsed !== undefined && protocols.includes(parsed.protocol)) return parsed
    // The value may hold a password, so the message does not repeat it.
    throw new ConfigError(`${name} must be an address that begins with ${protocols.map(p => `${p}//`).join(' or ')}`)
  }

  const baseUrl = url('BASE_URL', ['http:', 'https:'])
  if (baseUrl !== undefined && (baseUrl.search !== '' || baseUrl.hash !== '')) {
    refuse('BASE_URL', 'must have neither a query nor a fragment')
  }
  // It may name several hosts, which an URL cannot. What else may be wrong with it, lib/database says.
  const databaseUrl = text('DATABASE_URL')
  if (databaseUrl !== undefined && !/^postgres(ql)?:\/\//.test(databaseUrl)) {
    throw new ConfigError('DATABASE_URL must be an address that begins with postgres:// or postgresql://')
  }
  const keyPrefix = text('KEY_PREFIX') ?? 'spoor'
  if (!/^[0-9A-Za-z][0-9A-Za-z_-]{0,31}$/.test(keyPrefix)) {
    refuse('KEY_PREFIX', 'must be 1 to 32 letters, digits, underscores and hyphens, and begin with a letter or digit')
  }
  const logLevel = text('LOG_LEVEL') ?? 'info'
  if (!LOG_LEVELS.includes(logLevel)) refuse('LOG_LEVEL', `must be one of ${LOG_LEVELS.join(', ')}`)
  const logFormat = oneOf('LOG_FORMAT', ['text', 'json'])
  const logRequests = oneOf('LOG_REQUESTS', ['all', 'errors', 'slow', 'none']) ?? 'all'
  const trustProxy = list('TRUST_PROXY')
  if (readNetworks(trustProxy) === undefined) {
    refuse('TRUST_PROXY', 'must be addresses or networks such as 127.0.0.1,10.0.0.0/8, separated by commas')
  }
  const autoMigrate = text('AUTO_MIGRATE') ?? 'true'
  if (!['true', 'false'].includes(autoMigrate)) refuse('AUTO_MIGRATE', 'must be true or false')
  const secret = text('KEY_DIGEST_SECRET')
  if (secret !== undefined && secret.length < 16) {
    throw new ConfigError('KEY_DIGEST_SECRET must have at least 16 characters')
  }
  const allowedOrigins = list('ALLOWED_ORIGINS')
  for (const origin of allowedOrigins) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      refuse('ALLOWED_ORIGINS', 'must be origins such as https://app.example.com, separated by commas')
    }
  }

  const dashboard = text('DASHBOARD') ?? 'on'
  if (!['on', 'off'].includes(dashboard)) refuse('DASHBOARD', 'must be on or off')
  const header = text('AUTH_PROXY_HEADER')?.toLowerCase()
  const from = list('AUTH_PROXY_FROM')
  const role = text('AUTH_PROXY_ROLE') ?? 'none'
  if (header !== undefined && !/^[a-z0-9][a-z0-9_-]*$/.test(header)) {
    refuse('AUTH_PROXY_HEADER', 'must be the name of a header, such as x-forwarded-email')
  }
  if ((header === undefined) !== (from.length === 0)) {
    throw new ConfigError('AUTH_PROXY_HEADER and AUTH_PROXY_FROM must be set both or not at all')
  }
  if (readNetworks(from) === undefined) {
    refuse('AUTH_PROXY_FROM', 'must be addresses or networks such as 127.0.0.1,10.0.0.0/8, separated by commas')
  }
  if (!['viewer', 'none'].includes(role)) refuse('AUTH_PROXY_ROLE', 'must be viewer or none')
  const signOutUrl = url('AUTH_PROXY_SIGN_OUT_URL', ['http:', 'https:'])?.href
  const authProxy: AuthProxy | undefined =
    header === undefined ? undefined : { header, from, role: role === 'viewer' ? 'viewer' : undefined, signOutUrl }

  const graceMs = milliseconds(text('SHUTDOWN_GRACE') ?? '3s')
  if (!(graceMs <= MOST_GRACE_MS)) refuse('SHUTDOWN_GRACE', 'must be from 0s to 10m')

  const [cert, key] = [text('OTLP_GRPC_CERT'), text('OTLP_GRPC_KEY')]
  if ((cert === undefined) !== (key === undefined)) {
    throw new ConfigError('OTLP_GRPC_CERT and OTLP_GRPC_KEY must be set both or not at all')
  }

  return {
    databaseUrl,
    dataDir: resolve(text('DATA_DIR') ?? './data'),
    host: text('HOST') ?? '127.0.0.1',
    port: integer('PORT', 0, 65_535) ?? 8787,
    grpcPort: integer('OTLP_GRPC_PORT', 0, 65_535),
    grpcTls: cert === undefined || key === undefined ? undefined : { cert: resolve(cert), key: resolve(key) },
    baseUrl: baseUrl?.href.replace(/\/+$/, ''),
    keyPrefix,
    keyDigestSecret: secret,
    trialTraces: integer('TRIAL_TRACES', 0, Number.MAX_SAFE_INTEGER),
    storageLimitBytes: integer('STORAGE_LIMIT_BYTES', 1, Number.MAX_SAFE_INTEGER) ?? 10 * 1024 ** 3,
    idleCompleteMs: duration('OTLP_IDLE_COMPLETE', 10 * MINUTE_MS),
    workers: integer('WORKERS', 1, 256) ?? parallelismOf().workers,
    databaseConnections: parallelismOf(undefined, integer('DATABASE_CONNECTIONS', 3, 1000)).connections,
    processes: integer('PROCESSES', 1, 256) ?? 1,
    allowedOrigins,
    dashboard: dashboard === 'on',
    authProxy,
    logLevel,
    logFormat,
    logRequests,
    trustProxy,
    autoMigrate: autoMigrate === 'true',
    shutdownGraceMs: graceMs
  }
}

/** What a duration such as `30s` is in milliseconds; NaN for a text that is none. */
function milliseconds(text: string): number {
  const [, digits, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  return Number(digits) * (UNITS_MS[unit] ?? Number.NaN)
}

/** The text without user names and passwords in front of the hosts of addresses. */
function withoutUsers(text: string): string {
  return text.replace(/\/\/[^/?#\s,]*@/g, '//')
}
