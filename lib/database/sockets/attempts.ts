/**
 * Orders connection attempts as libpq does. Hosts are tried in the order of the address, with or without TLS as sslmode
 * requires, until a server accepts the login and satisfies target_session_attrs.
 */
import { ConfigError } from '../../variables.ts'
import { SQLSTATE } from '../failure.ts'
import type { Address, Server } from './address.ts'
import type { Tls, TlsMode } from './tls.ts'

export interface ConnectAttempt {
  readonly server: Server
  readonly secure: boolean
  readonly session: SessionKind
}

const SESSIONS = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'] as const
export type SessionKind = (typeof SESSIONS)[number]

/** The state that a server reports when it accepts a login. */
export interface ServerState {
  readonly inHotStandby: boolean
  readonly isReadOnly: boolean
}

export interface SocketRoute {
  readonly servers: readonly Server[]
  readonly session: SessionKind
  readonly isShuffled: boolean
}

export function socketRouteOf({ servers, parameter }: Address): SocketRoute {
  const session = (parameter('target_session_attrs') ?? 'any') as SessionKind
  if (!SESSIONS.includes(session)) refuse('target_session_attrs', SESSIONS)
  const balance = parameter('load_balance_hosts') ?? 'disable'
  if (!['disable', 'random'].includes(balance)) refuse('load_balance_hosts', ['disable', 'random'])
  return { servers, session, isShuffled: balance === 'random' }
}

/**
 * Returns all attempts in order. Hosts that recently failed to respond come last, because they might time out again.
 */
export function attemptsOf(
  { servers, session, isShuffled }: SocketRoute,
  { mode }: Pick<Tls, 'mode'>,
  isSilent: (server: Server) => boolean
): ConnectAttempt[] {
  const inOrder = isShuffled ? shuffle(servers) : servers
  const ordered = [...inOrder.filter(server => !isSilent(server)), ...inOrder.filter(isSilent)]
  // Every host is tried as a standby before any other server is accepted.
  const sessions: SessionKind[] = session === 'prefer-standby' ? ['standby', 'any'] : [session]
  return sessions.flatMap(session =>
    ordered.flatMap(server => securities(server, mode).map(secure => ({ server, secure, session })))
  )
}

function securities(server: Server, mode: TlsMode): boolean[] {
  if ('path' in server || mode === 'disable') return [false]
  if (mode === 'allow') return [false, true]
  return mode === 'prefer' ? [true, false] : [true]
}

/** Returns whether a server satisfies the attempt's session kind. */
export function suits(session: SessionKind, { inHotStandby, isReadOnly }: ServerState): boolean {
  if (session === 'read-write') return !inHotStandby && !isReadOnly
  if (session === 'read-only') return inHotStandby || isReadOnly
  if (session === 'primary') return !inHotStandby
  return session !== 'standby' || inHotStandby
}

/**
 * Returns the next attempt after a server rejects a login; undefined if the rejection is final. If pg_hba.conf has no
 * entry for the connection, the next attempt is the same server with TLS turned on or off. If the server is starting or
 * stopping, the next attempt is a different server.
 */
export function nextAfterRefusal(
  sqlState: string,
  attempt: ConnectAttempt,
  left: readonly ConnectAttempt[]
): ConnectAttempt | undefined {
  if (sqlState === SQLSTATE.invalidAuthorization) {
    return left.find(({ server, secure }) => server === attempt.server && secure !== attempt.secure)
  }
  if (sqlState === SQLSTATE.cannotConnectNow) return left.find(({ server }) => server !== attempt.server)
  return undefined
}

function shuffle<T>(items: readonly T[]): T[] {
  return items
    .map(item => ({ item, at: Math.random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ item }) => item)
}

function refuse(name: string, values: readonly string[]): never {
  throw new ConfigError(`${name} in DATABASE_URL must be one of ${values.join(', ')}`)
}
