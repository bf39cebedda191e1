/** Reads and checks the configuration from environment variables at startup. The guide's settings page lists them. */
import { resolve } from 'node:path'
import { parallelismOf } from './limits/parallelism.ts'
import type { LoggedRequests } from './log.ts'
import { isLoopback } from './network-list.ts'
import {
  DEFAULT_MAX_SPANS,
  DEFAULT_MAX_TRACE_BYTES,
  MAX_IMPORTED_SPANS,
  MAX_TAG_NAME,
  MAX_TAG_NAMES
} from './schema/otlp-limits.ts'
import { ROLES, type Role } from './schema/roles.ts'
import { ConfigError, Variables } from './variables.ts'

export interface Config {
  /** Address of the database. If undefined, an embedded PostgreSQL under dataDir is used. */
  readonly databaseUrl: string | undefined
  readonly dataDir: string
  readonly host: string
  readonly port: number
  /** The port for OTLP over gRPC; undefined if gRPC is off. */
  readonly grpcPort: number | undefined
  /** PEM files with the gRPC server's certificate and key; undefined if TLS is off. */
  readonly grpcTls: { readonly cert: string; readonly key: string } | undefined
  /** Without a trailing slash; undefined if the request's Host header determines the URL. */
  readonly baseUrl: string | undefined
  /** Whether the dashboard and the guide send Strict-Transport-Security; no effect unless baseUrl uses https://. */
  readonly hsts: boolean
  /** Addresses (mailto:, https:) to which people report vulnerabilities; empty if there is no security.txt. */
  readonly securityContacts: readonly string[]
  /** Whether the audit log records which person opened which trace. */
  readonly auditViews: boolean
  readonly keyPrefix: string
  /**
   * The secret for the digests of API keys. If undefined, a deployment with an embedded database generates a secret in
   * dataDir, and any other deployment counts as not configured.
   */
  readonly keyDigestSecret: string | undefined
  /** The secret that keyDigestSecret replaces. Keys made with either secret work, and move to the new one when used. */
  readonly previousKeyDigestSecret: string | undefined
  /** Maximum number of traces per trial account; undefined if trial mode is off. */
  readonly trialTraces: number | undefined
  readonly storageLimitBytes: number
  /** Idle time after which a rootless OpenTelemetry trace is complete. If undefined, the trace stays running. */
  readonly idleCompleteMs: number | undefined
  /** Maximum number of spans in an OpenTelemetry trace. */
  readonly maxSpans: number
  /** Names of OpenTelemetry attributes whose values become tags, such as `tenant.id:acme`. */
  readonly tagNames: readonly string[]
  /**
   * How long a complete trace must have been unchanged before its texts are packed together again. If
   * undefined, texts stay as they were packed on arrival.
   */
  readonly repackAfterMs: number | undefined
  /** Whether to compute the cost of OpenTelemetry calls without a reported cost from model prices. */
  readonly computesCosts: boolean
  /** Size of an OpenTelemetry trace, in bytes, beyond which the strings of further spans are cut. */
  readonly maxTraceBytes: number
  readonly workers: number
  /** Maximum number of database connections per process. */
  readonly databaseConnections: number
  readonly processes: number
  readonly allowedOrigins: readonly string[]
  readonly dashboard: boolean
  /** Whether owners can make public links to traces. */
  readonly publicLinks: boolean
  /** The proxy that signs people in, if any. */
  readonly authProxy: AuthProxy | undefined
  /** The OpenID Connect provider that signs people in, if any. */
  readonly oidc: OidcConfig | undefined
  readonly logLevel: string
  /** Format of the log. If undefined, the log is text on a terminal and JSON elsewhere. */
  readonly logFormat: 'text' | 'json' | undefined
  readonly logRequests: LoggedRequests
  /** Whether the metrics include counts per project id. */
  readonly metricsProjects: boolean
  /** Addresses and networks of proxies whose X-Forwarded-For is trusted. */
  readonly trustProxy: readonly string[]
  readonly autoMigrate: boolean
  /** The command that error messages name, if the operator has said how people run it. */
  readonly command: string
  /** Names and the key for the first start, which otherwise generates a key and prints it with a link. */
  readonly init: FirstStartConfig
  /** Time for which a server still accepts requests after SIGTERM, so that its clients notice the shutdown. */
  readonly shutdownGraceMs: number
}

/** An undefined field means the default. */
export interface FirstStartConfig {
  /** Slug of the first project; `default` by default. */
  readonly project: string | undefined
  /** The whole first key, which is then not printed. */
  readonly key: string | undefined
  /** E-mail address of the first user. No sign-in link is then printed. */
  readonly owner: string | undefined
}

/** A proxy that signs people in to the dashboard (lib/http/people/trusted-proxy.ts). */
export interface AuthProxy {
  /** Lower-case name of the header with the person's e-mail address. */
  readonly header: string
  /** Addresses and networks from which the proxy connects. */
  readonly from: readonly string[]
  /** Role for people whom nobody has added. If undefined, such people are rejected. */
  readonly role: 'viewer' | undefined
  readonly signOutUrl: string | undefined
}

/** Gives `role` to people whose claim `claim` has the value `value`. The claim `*` matches everybody. */
export interface RoleRule {
  readonly claim: string
  readonly value: string
  readonly role: Role
}

/** An OpenID Connect provider that signs people in to the dashboard (lib/people/oidc/provider.ts). */
export interface OidcConfig {
  readonly issuer: URL
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: readonly string[]
  /** Allowed e-mail domains, in lower case; an empty list allows all domains. */
  readonly domains: readonly string[]
  readonly roles: readonly RoleRule[]
  /** Whether every address from the provider counts as verified, unless the provider says otherwise. */
  readonly trustEmail: boolean
  /**
   * Time after which a session ends and the person must sign in with the provider again; undefined if sessions have the
   * usual lifetime.
   */
  readonly sessionMs: number | undefined
  /** Whether people can sign in only with the provider or with a sign-in link. */
  readonly only: boolean
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']
const HTTP = ['http:', 'https:']
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** Maximum grace period. A longer value is certainly a mistake. */
const MOST_GRACE_MS = 10 * MINUTE_MS
const SWITCH = ['on', 'off'] as const

/** Reads the configuration. Throws a ConfigError for the first invalid variable. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const read = new Variables(env)
  return {
    databaseUrl: readDatabaseUrl(read),
    dataDir: resolve(read.text('DATA_DIR') ?? './data'),
    host: read.text('HOST') ?? '127.0.0.1',
    port: read.integer('PORT', 0, 65_535) ?? 8787,
    grpcPort: read.integer('OTLP_GRPC_PORT', 0, 65_535),
    grpcTls: readGrpcTls(read),
    baseUrl: readBaseUrl(read),
    hsts: read.oneOf('HSTS', SWITCH) !== 'off',
    securityContacts: readContacts(read),
    auditViews: read.oneOf('AUDIT_VIEWS', SWITCH) === 'on',
    keyPrefix: readKeyPrefix(read),
    keyDigestSecret: checkSecret('KEY_DIGEST_SECRET', read.secret('KEY_DIGEST_SECRET')),
    previousKeyDigestSecret: checkSecret('KEY_DIGEST_SECRET_PREVIOUS', read.secret('KEY_DIGEST_SECRET_PREVIOUS')),
    trialTraces: read.integer('TRIAL_TRACES', 0, Number.MAX_SAFE_INTEGER),
    storageLimitBytes: read.integer('STORAGE_LIMIT_BYTES', 1, Number.MAX_SAFE_INTEGER) ?? 10 * 1024 ** 3,
    idleCompleteMs: read.duration('OTLP_IDLE_COMPLETE', 10 * MINUTE_MS),
    maxSpans: read.integer('OTLP_MAX_SPANS', 10, MAX_IMPORTED_SPANS) ?? DEFAULT_MAX_SPANS,
    tagNames: readTagNames(read),
    maxTraceBytes: read.integer('OTLP_MAX_TRACE_BYTES', 1024 ** 2, 1024 ** 3) ?? DEFAULT_MAX_TRACE_BYTES,
    repackAfterMs: readRepackAfter(read),
    computesCosts: read.oneOf('PRICES', SWITCH) !== 'off',
    workers: read.integer('WORKERS', 1, 256) ?? parallelismOf().workers,
    databaseConnections: parallelismOf(undefined, read.integer('DATABASE_CONNECTIONS', 3, 1000)).connections,
    processes: read.integer('PROCESSES', 1, 256) ?? 1,
    allowedOrigins: readOrigins(read),
    dashboard: read.oneOf('DASHBOARD', SWITCH) !== 'off',
    publicLinks: read.oneOf('PUBLIC_LINKS', SWITCH) === 'on',
    authProxy: readAuthProxy(read),
    oidc: readOidc(read),
    logLevel: read.oneOf('LOG_LEVEL', LOG_LEVELS) ?? 'info',
    logFormat: read.oneOf('LOG_FORMAT', ['text', 'json']),
    logRequests: read.oneOf('LOG_REQUESTS', ['all', 'errors', 'slow', 'none']) ?? 'all',
    metricsProjects: read.oneOf('METRICS_PROJECTS', SWITCH) === 'on',
    trustProxy: read.networks('TRUST_PROXY'),
    autoMigrate: read.oneOf('AUTO_MIGRATE', ['true', 'false']) !== 'false',
    command: read.text('SPOOR_COMMAND') ?? 'spoor',
    init: readInit(read),
    shutdownGraceMs: read.period('SHUTDOWN_GRACE', MOST_GRACE_MS, 'from 0s to 10m') ?? 3000
  }
}

/** Reads the names of the attributes that become tags. */
function readTagNames(read: Variables): readonly string[] {
  const names = [...new Set(read.list('OTLP_TAGS'))]
  const isName = (name: string) => [...name].length <= MAX_TAG_NAME && !/\p{Cc}/u.test(name) && name.isWellFormed()
  if (names.length <= MAX_TAG_NAMES && names.every(isName)) return names
  return read.refuse(
    'OTLP_TAGS',
    `must be at most ${MAX_TAG_NAMES} attribute names, separated by commas, of at most ${MAX_TAG_NAME} characters each`
  )
}

/**
 * Checks only how the value begins. The value may name several hosts, which a URL object cannot represent, so
 * lib/database reports all other faults.
 */
function readDatabaseUrl(read: Variables): string | undefined {
  const value = read.secret('DATABASE_URL')
  if (value !== undefined && !/^postgres(ql)?:\/\//.test(value)) {
    throw new ConfigError('DATABASE_URL must be an address that begins with postgres:// or postgresql://')
  }
  return value
}

/** Unlike other durations, this one may be zero. */
function readRepackAfter(read: Variables): number | undefined {
  if (read.text('REPACK_AFTER') === 'off') return undefined
  return read.period('REPACK_AFTER', 7 * DAY_MS, 'from 0s to 7d, or off') ?? 10 * MINUTE_MS
}

function readBaseUrl(read: Variables): string | undefined {
  const url = read.url('BASE_URL', HTTP)
  if (url !== undefined && (url.search !== '' || url.hash !== '')) {
    read.refuse('BASE_URL', 'must not have a query or fragment')
  }
  return url?.href.replace(/\/+$/, '')
}

function readKeyPrefix(read: Variables): string {
  const prefix = read.text('KEY_PREFIX') ?? 'spoor'
  if (!/^[0-9A-Za-z][0-9A-Za-z_-]{0,31}$/.test(prefix)) {
    const rule = 'must be 1 to 32 letters, digits, underscores or hyphens, beginning with a letter or digit'
    read.refuse('KEY_PREFIX', rule)
  }
  return prefix
}

function readInit(read: Variables): FirstStartConfig {
  const project = read.text('SPOOR_INIT_PROJECT')
  if (project !== undefined && !/^[a-z0-9][a-z0-9_-]{0,63}$/.test(project)) {
    const rule = 'must be 1 to 64 lower-case letters, digits, hyphens or underscores, beginning with a letter or digit'
    read.refuse('SPOOR_INIT_PROJECT', rule)
  }
  const key = read.secret('SPOOR_INIT_KEY')
  const prefix = readKeyPrefix(read)
  if (key !== undefined && !(key.startsWith(`${prefix}_live_`) && KEY_REST.test(key.slice(prefix.length)))) {
    const form = `${prefix}_live_, then 16 letters and digits, then _, then 43 letters and digits`
    throw new ConfigError(`SPOOR_INIT_KEY must be in the form of a generated key: ${form}`)
  }
  const owner = read.text('SPOOR_INIT_OWNER')
  if (owner !== undefined && !/^[^\s@\p{Cc}\p{Cs}]+@[^\s@\p{Cc}\p{Cs}]+$/u.test(owner)) {
    read.refuse('SPOOR_INIT_OWNER', 'must be an e-mail address')
  }
  return { project, key, owner }
}

/** A key after its prefix (lib/access/keys.ts). */
const KEY_REST = /^_live_[0-9A-Za-z]{16}_[0-9A-Za-z]{43}$/

function checkSecret(name: string, secret: string | undefined): string | undefined {
  if (secret !== undefined && secret.length < 16) throw new ConfigError(`${name} must have at least 16 characters`)
  return secret
}

function readOrigins(read: Variables): string[] {
  const origins = read.list('ALLOWED_ORIGINS')
  if (!origins.every(origin => URL.canParse(origin) && new URL(origin).origin === origin)) {
    read.refuse('ALLOWED_ORIGINS', 'must be origins such as https://app.example.com, separated by commas')
  }
  return origins
}

function readContacts(read: Variables): string[] {
  const contacts = read.list('SECURITY_CONTACT')
  const isContact = (text: string) => /^(?:mailto:[^\s@]+@[^\s@]+|https:\/\/\S+)$/.test(text) && !/\p{Cc}/u.test(text)
  if (contacts.every(isContact)) return contacts
  const rule = 'must be addresses such as mailto:security@example.com or https://example.com/security'
  return read.refuse('SECURITY_CONTACT', `${rule}, separated by commas`)
}

function readGrpcTls(read: Variables): Config['grpcTls'] {
  read.checkPair('OTLP_GRPC_CERT', 'OTLP_GRPC_KEY')
  const [cert, key] = [read.text('OTLP_GRPC_CERT'), read.text('OTLP_GRPC_KEY')]
  return cert === undefined || key === undefined ? undefined : { cert: resolve(cert), key: resolve(key) }
}

function readAuthProxy(read: Variables): AuthProxy | undefined {
  const header = read.text('AUTH_PROXY_HEADER')?.toLowerCase()
  if (header !== undefined && !/^[a-z0-9][a-z0-9_-]*$/.test(header)) {
    read.refuse('AUTH_PROXY_HEADER', 'must be a header name, such as x-forwarded-email')
  }
  const from = read.networks('AUTH_PROXY_FROM')
  const role = read.oneOf('AUTH_PROXY_ROLE', ['viewer', 'none']) === 'viewer' ? 'viewer' : undefined
  const signOutUrl = read.url('AUTH_PROXY_SIGN_OUT_URL', HTTP)?.href
  read.checkPair('AUTH_PROXY_HEADER', 'AUTH_PROXY_FROM')
  return header === undefined ? undefined : { header, from, role, signOutUrl }
}

const OIDC_PARTS = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'] as const

function readOidc(read: Variables): OidcConfig | undefined {
  const issuer = read.url('OIDC_ISSUER', HTTP)
  const [clientId, clientSecret] = [read.text('OIDC_CLIENT_ID'), read.secret('OIDC_CLIENT_SECRET')]
  const admission = { domains: readDomains(read), roles: readRoleRules(read) }
  const scopes = (read.text('OIDC_SCOPES') ?? 'openid email profile').split(/[\s,]+/)
  const trustEmail = read.oneOf('OIDC_TRUST_EMAIL', SWITCH) === 'on'
  const sessionMs = read.duration('OIDC_SESSION', DAY_MS)
  const only = read.oneOf('DASHBOARD_SIGN_IN', ['all', 'oidc']) === 'oidc'
  const given = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret }
  const missing = OIDC_PARTS.filter(name => given[name] === undefined)
  if (missing.length === OIDC_PARTS.length) {
    if (only) throw new ConfigError('DASHBOARD_SIGN_IN=oidc needs OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET')
    return undefined
  }
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) {
    throw new ConfigError(`${missing.join(' and ')} must also be set: ${OIDC_PARTS.join(', ')} work only together`)
  }
  if (issuer.protocol === 'http:' && !isLoopback(issuer.hostname)) {
    throw new ConfigError('OIDC_ISSUER must begin with https://, unless it is a loopback address')
  }
  if (!scopes.includes('openid')) read.refuse('OIDC_SCOPES', 'must include the scope openid')
  if (read.text('BASE_URL') === undefined) {
    throw new ConfigError('BASE_URL must be set if OIDC_ISSUER is set, because the provider redirects people to it')
  }
  if (only && read.text('AUTH_PROXY_HEADER') !== undefined) {
    throw new ConfigError('AUTH_PROXY_HEADER must not be set if DASHBOARD_SIGN_IN is oidc')
  }
  return { issuer, clientId, clientSecret, scopes, ...admission, trustEmail, sessionMs, only }
}

function readDomains(read: Variables): string[] {
  const domains = read.list('OIDC_DOMAINS').map(domain => domain.toLowerCase())
  if (!domains.every(domain => /^[^\s@/]+$/.test(domain))) {
    read.refuse('OIDC_DOMAINS', 'must be domains such as example.com,example.org, separated by commas')
  }
  return domains
}

/** Parses `groups=admins:owner,*:viewer`. A value may contain colons, so the role begins after the last colon. */
function readRoleRules(read: Variables): RoleRule[] {
  return read.list('OIDC_ROLES').map(text => {
    const {
      everybody,
      claim,
      value,
      role: given
    } = /^(?:(?<everybody>\*)|(?<claim>[^=]+)=(?<value>.+)):(?<role>[a-z]+)$/.exec(text)?.groups ?? {}
    const role = ROLES.find(each => each === given)
    if (role === undefined) {
      const rule = `must be rules such as groups=admins:owner or *:viewer, with one of the roles ${ROLES.join(', ')}`
      return read.refuse('OIDC_ROLES', rule)
    }
    return everybody === undefined ? { claim: claim!, value: value!, role } : { claim: '*', value: '', role }
  })
}

/** Names of all variables, collected by reading the configuration of an empty environment. */
export const VARIABLES: readonly string[] = namesRead()

function namesRead(): string[] {
  const names = new Set<string>()
  readConfig(new Proxy({}, { get: (_, name) => void names.add(String(name)) }))
  return [...names]
}
