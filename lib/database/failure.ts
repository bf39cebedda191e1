/** Classifies failed queries: whether anything may have been written, and whether a retry may succeed. */
import { INTERMEDIATE_RESULT_NOT_FOUND, isNodeAway, isReplaced } from './spread.ts'

/**
 * - `lost`: the connection broke during the query. Whether the query was committed is unknown.
 * - `refused`: the database definitely did not run the query, but may accept the query later.
 * - `retry`: the database rolled the query back because of another transaction. A retry will succeed.
 * - `bug`: any other error.
 */
export type DatabaseFailure = 'lost' | 'refused' | 'retry' | 'bug'

/** SQLSTATEs from https://www.postgresql.org/docs/current/errcodes-appendix.html. */
export const SQLSTATE = {
  /** Another transaction changed data that this transaction had read. */
  serializationFailure: '40001',
  deadlockDetected: '40P01',
  /** A standby, or a server set to read-only. */
  readOnlyTransaction: '25006',
  idleInTransactionTimeout: '25P03',
  transactionTimeout: '25P04',
  /** pg_hba.conf has no entry for the connection. */
  invalidAuthorization: '28000',
  invalidPassword: '28P01',
  diskFull: '53100',
  tooManyConnections: '53300',
  undefinedDatabase: '3D000',
  lockNotAvailable: '55P03',
  /** A statement time-out, or pg_cancel_backend. */
  queryCanceled: '57014',
  /** pg_terminate_backend, or a server that is shutting down. */
  adminShutdown: '57P01',
  crashShutdown: '57P02',
  /** The server is starting, recovering or shutting down. */
  cannotConnectNow: '57P03',
  databaseDropped: '57P04',
  idleSessionTimeout: '57P05',
  divisionByZero: '22012',
  /**
   * The square root of a negative number, which a batch's guards compute if a project's tables have moved to another
   * server (lib/store/write/homes.ts).
   */
  invalidPowerArgument: '2201F',
  uniqueViolation: '23505',
  internalError: 'XX000',
  insufficientPrivilege: '42501',
  undefinedTable: '42P01'
} as const

/** The first two characters of an SQLSTATE. */
const SQLSTATE_CLASS = {
  connectionException: '08',
  /** A wrong password, or a host that pg_hba.conf rejects. */
  invalidAuthorization: '28',
  /** Disk full, out of memory, too many connections. */
  insufficientResources: '53',
  /** Errors outside PostgreSQL, such as disk errors. */
  systemError: '58'
} as const

const RETRIED: readonly string[] = [
  SQLSTATE.serializationFailure,
  SQLSTATE.deadlockDetected,
  INTERMEDIATE_RESULT_NOT_FOUND
]
const REFUSING: readonly string[] = [
  SQLSTATE.readOnlyTransaction,
  SQLSTATE.insufficientPrivilege,
  SQLSTATE.undefinedDatabase,
  SQLSTATE.lockNotAvailable,
  SQLSTATE.queryCanceled,
  SQLSTATE.cannotConnectNow
]
/** The backend, or another server's backend that this backend queried, is ending. */
const ENDING: readonly string[] = [SQLSTATE.adminShutdown, SQLSTATE.crashShutdown]
const REFUSING_CLASSES: readonly string[] = [
  SQLSTATE_CLASS.invalidAuthorization,
  SQLSTATE_CLASS.insufficientResources,
  SQLSTATE_CLASS.systemError
]

/** Codes of driver and pool errors that are raised before anything is sent. */
const NEVER_SENT = ['CONNECT_TIMEOUT', 'POOL_FULL', 'POOL_CLOSED', 'NOT_CONNECTED', 'CLIENT_GONE']
/** System calls that fail only before a connection is established. */
const CONNECTING = ['connect', 'getaddrinfo']
/** Codes of a broken connection, from the driver (such as CONNECTION_CLOSED), the pool, and Node's sockets and TLS. */
const LOST =
  /^(CONNECTION_|ECONN|EPIPE$|ETIMEDOUT$|EHOSTUNREACH$|ENETUNREACH$|ENETDOWN$|ERR_STREAM_|ERR_SOCKET_|ERR_SSL_|ERR_TLS_)/

interface DatabaseError {
  readonly message?: unknown
  readonly name?: unknown
  readonly code?: unknown
  readonly severity?: unknown
  readonly syscall?: unknown
}

/** Classifies an error of the driver or the Pool. */
export function classifyFailure(error: unknown): DatabaseFailure {
  const { name, code, severity, syscall, message } = describe(error)
  if (typeof code !== 'string') return 'bug'
  if (name === 'PostgresError') {
    if (code === SQLSTATE.internalError && isReplaced(String(message))) return 'retry'
    if (code === SQLSTATE.internalError && isNodeAway(String(message))) return 'lost'
    return classifyState(code, severity)
  }
  if (NEVER_SENT.includes(code) || CONNECTING.includes(String(syscall)) || code === 'ECONNREFUSED') return 'refused'
  return LOST.test(code) ? 'lost' : 'bug'
}

/** Returns whether the database rejects writes. A retry a few seconds later would fail too. */
export const isReadOnlyRefusal = (error: unknown): boolean => describe(error).code === SQLSTATE.readOnlyTransaction

/**
 * Returns whether a row violated a unique constraint. COPY raises this error if a trace to be created already exists
 * (lib/store/write/copy-batch.ts).
 */
export const isUniqueViolation = (error: unknown): boolean => describe(error).code === SQLSTATE.uniqueViolation

/** Runs the `work` callback. Returns `otherwise` if a row violated a unique constraint. */
export async function ifUnique<T, O>(work: () => Promise<T>, otherwise: O): Promise<T | O> {
  try {
    return await work()
  } catch (error) {
    if (isUniqueViolation(error)) return otherwise
    throw error
  }
}

/**
 * Statements divide by zero deliberately if a trace has changed since an update of that trace was decided
 * (lib/store/write/changes.ts), or if a charge exceeds a trial account's allowance (lib/store/write/charge.ts).
 */
export const isDivisionByZero = (error: unknown): boolean => describe(error).code === SQLSTATE.divisionByZero

/** Returns whether a project's tables have moved to another server (lib/store/write/homes.ts) or no longer exist. */
export const hasMoved = (error: unknown): boolean =>
  [SQLSTATE.invalidPowerArgument, SQLSTATE.undefinedTable].some(state => state === describe(error).code)

/** Returns whether a lock could not be acquired within lock_timeout. */
export const isLockTimeout = (error: unknown): boolean => describe(error).code === SQLSTATE.lockNotAvailable

/**
 * Returns whether PostgreSQL rejected a connection because the server, database or role has reached its connection
 * limit.
 */
export const isTooManyConnections = (error: unknown): boolean => describe(error).code === SQLSTATE.tooManyConnections

/** Returns whether the connection that raised this error is no longer usable. */
export function endsConnection(error: unknown): boolean {
  const { name, code, severity } = describe(error)
  if (name === 'PostgresError') return isFatal(severity) || String(code).startsWith(SQLSTATE_CLASS.connectionException)
  const failure = classifyFailure(error)
  return failure === 'lost' || failure === 'refused'
}

/** Returns whether no connection could be opened. If so, other waiting work would also fail. */
export function isUnreachable(error: unknown): boolean {
  return classifyFailure(error) === 'refused' && endsConnection(error)
}

function classifyState(state: string, severity: unknown): DatabaseFailure {
  if (RETRIED.includes(state)) return 'retry'
  if (REFUSING.includes(state) || REFUSING_CLASSES.includes(state.slice(0, 2))) return 'refused'
  // A backend that ends for any other reason may have committed the query first.
  if (isFatal(severity) || ENDING.includes(state) || state.startsWith(SQLSTATE_CLASS.connectionException)) return 'lost'
  return 'bug'
}

function isFatal(severity: unknown): boolean {
  return severity === 'FATAL' || severity === 'PANIC'
}

function describe(error: unknown): DatabaseError {
  // Node tries every address of a host name. If all attempts fail, Node combines the errors of all attempts.
  const one: unknown = error instanceof AggregateError ? error.errors[0] : error
  return one !== null && typeof one === 'object' ? one : {}
}

/** An error raised by a Pool or its transactions. */
export class PoolError extends Error {
  override readonly name = 'PoolError'
  readonly code: 'POOL_FULL' | 'POOL_CLOSED' | 'NOT_CONNECTED' | 'CONNECTION_LOST' | 'TX_ABORTED' | 'CLIENT_GONE'
  constructor(code: PoolError['code'], message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}
