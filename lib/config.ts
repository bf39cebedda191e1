/** The configuration: environment variables, read and checked once at the start. README.md lists them. */
import { resolve } from 'node:path'
import { parallelismOf } from './limits/parallelism.ts'

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
  readonly workers: number
  /** The most that one process opens to the database. */
  readonly databaseConnections: number
  readonly processes: number
  readonly allowedOrigins: readonly string[]
  readonly logLevel: string
  readonly autoMigrate: boolean
}

/**
 * Thrown for a configuration value that cannot be used. The message is one line that names the variable and the rule.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

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
  const autoMigrate = text('AUTO_MIGRATE') ?? 'true'
  if (!['true', 'false'].includes(autoMigrate)) refuse('AUTO_MIGRATE', 'must be true or false')
  const secret = text('KEY_DIGEST_SECRET')
  if (secret !== undefined && secret.length < 16) {
    throw new ConfigError('KEY_DIGEST_SECRET must have at least 16 characters')
  }
  const allowedOrigins = (text('ALLOWED_ORIGINS') ?? '')
    .split(',')
    .map(origin => origin.trim())
    .filter(origin => origin !== '')
  for (const origin of allowedOrigins) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      refuse('ALLOWED_ORIGINS', 'must be origins such as https://app.example.com, separated by commas')
    }
  }

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
    workers: integer('WORKERS', 1, 256) ?? parallelismOf().workers,
    databaseConnections: parallelismOf(undefined, integer('DATABASE_CONNECTIONS', 3, 1000)).connections,
    processes: integer('PROCESSES', 1, 256) ?? 1,
    allowedOrigins,
    logLevel,
    autoMigrate: autoMigrate === 'true'
  }
}

/** The text without user names and passwords in front of the hosts of addresses. */
function withoutUsers(text: string): string {
  return text.replace(/\/\/[^/?#\s,]*@/g, '//')
}
