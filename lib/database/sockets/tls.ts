/**
 * TLS as libpq implements it (https://www.postgresql.org/docs/current/libpq-ssl.html).
 *
 * | sslmode     | TLS                                         | certificate verified | host name verified |
 * |-------------|---------------------------------------------|----------------------|--------------------|
 * | disable     | no                                          |                      |                    |
 * | allow       | if the server rejects the plain connection  | if roots exist       | no                 |
 * | prefer      | if the server offers TLS (the default mode) | if roots exist       | no                 |
 * | require     | yes                                         | if roots exist       | no                 |
 * | verify-ca   | yes                                         | yes                  | no                 |
 * | verify-full | yes                                         | yes                  | yes                |
 *
 * Root certificates come from `sslrootcert`, or from ~/.postgresql/root.crt if that file exists. `system` uses the
 * roots of the machine and Node, and requires verify-full. Without roots, verify-ca and verify-full use Node's roots.
 * The client certificate is `sslcert` with `sslkey`, or ~/.postgresql/postgresql.crt with postgresql.key. Unix sockets
 * skip TLS.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import * as tls from 'node:tls'
import { ConfigError } from '../../variables.ts'
import type { Address } from './address.ts'

const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const
export type TlsMode = (typeof MODES)[number]

export interface Tls {
  readonly mode: TlsMode
  /** Whether TLS starts immediately, without an SSLRequest. */
  readonly isDirect: boolean
  /** Returns node:tls options for a host. Rereads the files, because certificates are replaced while servers run. */
  optionsFor(host: string): tls.ConnectionOptions
}

/** Throws a ConfigError if the parameters contradict each other, or if a file named by a parameter cannot be read. */
export function readTls(address: Address): Tls {
  const { parameter } = address
  const isSystem = parameter('sslrootcert') === 'system'
  const mode = (parameter('sslmode') ?? (isSystem ? 'verify-full' : 'prefer')) as TlsMode
  if (!MODES.includes(mode)) refuse('sslmode', `must be one of ${MODES.join(', ')}`)
  if (isSystem && mode !== 'verify-full') refuse('sslrootcert=system', 'requires sslmode=verify-full')
  const negotiation = parameter('sslnegotiation') ?? 'postgres'
  if (!['postgres', 'direct'].includes(negotiation)) refuse('sslnegotiation', 'must be postgres or direct')
  const isDirect = negotiation === 'direct'
  if (isDirect && MODES.indexOf(mode) < MODES.indexOf('require')) {
    refuse('sslnegotiation=direct', 'requires sslmode=require, verify-ca or verify-full')
  }
  if (parameter('channel_binding') === 'require') refuse('channel_binding=require', 'is not supported')
  if (parameter('gssencmode') === 'require') refuse('gssencmode=require', 'is not supported')
  const optionsFor = (host: string) => ({
    ...readIdentity(parameter),
    ...versionsOf(parameter),
    ...readTrust(parameter, mode, host),
    ...(isDirect && { ALPNProtocols: ['postgresql'] })
  })
  // Reads the files once, so that faults are reported at startup.
  if (mode !== 'disable' && address.servers.some(server => 'host' in server)) optionsFor('')
  return { mode, isDirect, optionsFor }
}

type Parameter = Address['parameter']

function readTrust(parameter: Parameter, mode: TlsMode, host: string): tls.ConnectionOptions {
  const roots = readRoots(parameter)
  const verifies = mode.startsWith('verify') || roots !== undefined
  return {
    ...(roots !== undefined && { ca: roots }),
    ...(parameter('sslcrl') !== undefined && { crl: readNamed('sslcrl', parameter('sslcrl')!) }),
    rejectUnauthorized: verifies,
    // Given a host without a name, node:tls would verify the name localhost.
    checkServerIdentity: (_name, certificate) =>
      mode === 'verify-full' ? tls.checkServerIdentity(host, certificate) : undefined
  }
}

/** Returns the root certificates to verify against; undefined for Node's own. */
function readRoots(parameter: Parameter): string[] | Buffer | undefined {
  const named = parameter('sslrootcert')
  if (named === 'system') return systemRoots()
  return named === undefined ? readDefault('root.crt') : readNamed('sslrootcert', named)
}

/** Returns the roots of Node and the machine. Before version 22.15, Node provides only its own roots. */
function systemRoots(): string[] {
  const { getCACertificates } = tls as { getCACertificates?: (kind: string) => string[] }
  if (getCACertificates === undefined) return [...tls.rootCertificates]
  return [...getCACertificates('default'), ...getCACertificates('system')]
}

/** Returns the client certificate and key; empty if there is no client certificate. */
function readIdentity(parameter: Parameter): tls.ConnectionOptions {
  if (parameter('sslcertmode') === 'disable') return {}
  const [certificate, keyFile] = [parameter('sslcert'), parameter('sslkey')]
  const cert = certificate === undefined ? readDefault('postgresql.crt') : readNamed('sslcert', certificate)
  if (cert === undefined) return {}
  const key = keyFile === undefined ? readDefault('postgresql.key') : readNamed('sslkey', keyFile)
  if (key === undefined) refuse('sslcert', 'needs sslkey, the path to its private key')
  const passphrase = parameter('sslpassword')
  const identity = { cert, key: key as Buffer, ...(passphrase !== undefined && { passphrase }) }
  if (!belongTogether(identity)) refuse('sslcert', 'does not match the key in sslkey')
  return identity
}

function belongTogether({ cert, key, passphrase }: { cert: Buffer; key: Buffer; passphrase?: string }): boolean {
  try {
    const secret = createPrivateKey({ key, ...(passphrase !== undefined && { passphrase }) })
    return new X509Certificate(cert).checkPrivateKey(secret)
  } catch (error) {
    return refuse('sslcert with sslkey', `cannot be used: ${(error as Error).message}`)
  }
}

const VERSIONS = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3']

function versionsOf(parameter: Parameter): tls.ConnectionOptions {
  const read = (name: string) => {
    const version = parameter(name)
    if (version !== undefined && !VERSIONS.includes(version)) refuse(name, `must be one of ${VERSIONS.join(', ')}`)
    return version as tls.SecureVersion | undefined
  }
  const [least, most] = [read('ssl_min_protocol_version'), read('ssl_max_protocol_version')]
  return { ...(least !== undefined && { minVersion: least }), ...(most !== undefined && { maxVersion: most }) }
}

function readDefault(name: string): Buffer | undefined {
  const file = join(homedir(), '.postgresql', name)
  return existsSync(file) ? readNamed(name, file) : undefined
}

function readNamed(name: string, file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    return refuse(name, `cannot be read: ${(error as Error).message}`)
  }
}

function refuse(name: string, rule: string): never {
  throw new ConfigError(`${name} in DATABASE_URL ${rule}`)
}
