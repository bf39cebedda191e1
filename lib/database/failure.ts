/** Tells what a failed query means: was something written, is another try worth it, or is it a fault of the code? */
import { INTERMEDIATE_RESULT_NOT_FOUND, isNodeAway, isReplaced, isUniqueViolationElsewhere } from './spread.ts'

/**
 * - `lost`: the connection broke during the query. Whether it was committed is unknown.
 * - `refused`: the database certainly did not do it, but may do it later.
 * - `retry`: the database undid it in favour of another transaction. Another try will succeed.
 * - `bug`: everything else.
 */
export type DatabaseFailure = 'lost' | 'refused' | 'retry' | 'bug'

/** SQLSTATEs, as https://www.postgresql.org/docs/current/errcodes-appendix.html has them. */
export const SQLSTATE = {
  /** Another transaction changed what this one had read. */
  serializationFailure: '40001',
  deadlockDetected: '40P01',
  /** A standby, or a server told to be read-only. */
  readOnlyTransaction: '25006',
  idleInTransactionTimeout: '25P03',
  transactionTimeout: '25P04',
  /** pg_hba.conf has nothing for a connection such as this. */
  invalidAuthorization: '28000',
  invalidPassword: '28P01',
  diskFull: '53100',
  tooManyConnections: '53300',
  undefinedDatabase: '3D000',
  lockNotAvailable: '55P03',
  /** A statement time-out, or pg_cancel_backend. */
  queryCanceled: '57014',
  /** pg_terminate_backend, or a server that shuts down. */
  adminShutdown: '57P01',
  crashShutdown: '57P02',
  /** The server is starting, recovering or shutting down. */
  cannotConnectNow: '57P03',
  databaseDropped: '57P04',
  idleSessionTimeout: '57P05',
  divisionByZero: '22012',
  /** The square root of a negative number. */
  invalidPowerArgument: '2201F',
  uniqueViolation: '23505',
  internalError: 'XX000',
  insufficientPrivilege: '42501',
  undefinedTable: '42P01'
} as const

/** The first two characters of an SQLSTATE. */
const SQLSTATE_CLASS = {
  connectionException: '08',
  /** A wrong password, or a host that pg_hba.conf does not let in. */
  invalidAuthorization: '28',
  /** Disk full, out of memory, too many connections. */
  insufficientResources: '53',
  /** Errors outside of PostgreSQL, such as disk errors. */
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
/** The backend ends, or that of another server which the backend had asked. */
const ENDING: readonly string[] = [SQLSTATE.adminShutdown, SQLSTATE.crashShutdown]
const REFUSING_CLASSES: readonly string[] = [
  SQLSTATE_CLASS.invalidAuthorization,
  SQLSTATE_CLASS.insufficientResources,
  SQLSTATE_CLASS.systemError
]

/** Codes of errors of the driver and of the pool that are raised before anything was sent. */
const NEVER_SENT = ['CONNECT_TIMEOUT', 'POOL_FULL', 'POOL_CLOSED', 'NOT_CONNECTED', 'CLIENT_GONE']
/** System calls that fail only before a connection stands. */
const CONNECTING = ['connect', 'getaddrinfo']
/**
 * Codes of a broken connection: of the driver (such as CONNECTION_CLOSED), of the pool, and of node's sockets and TLS.
 */
const LOST =
  /^(CONNECTION_|ECONN|EPIPE$|ETIMEDOUT$|EHOSTUNREACH$|ENETUNREACH$|ENETDOWN$|ERR_STREAM_|ERR_SOCKET_|ERR_SSL_|ERR_TLS_)/

interface DatabaseError {
  readonly message?: unknown
  readonly name?: unknown
  readonly code?: unknown
  readonly severity?: unknown
  readonly syscall?: unknown
}

/** Tells which of the four kinds an error of the driver or of the Pool is. */
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

/** Whether the database takes no writes at all. Another attempt within seconds would fare no better. */
export function isReadOnlyRefusal(error: unknown): boolean {
  return describe(error).code === SQLSTATE.readOnlyTransaction
}

/** COPY raises it if a new trace exists already (lib/store/write/copy-batch.ts). */
export function isUniqueViolation(error: unknown): boolean {
  const { code, message } = describe(error)
  return (
    code === SQLSTATE.uniqueViolation ||
    (code === SQLSTATE.internalError && isUniqueViolationElsewhere(String(message)))
  )
}

/**
 * A change raises it if the trace has changed since it was decided (lib/store/write/changes.ts), and so does a charge
 * that exceeds the allowance of a trial account (lib/store/write/charge.ts).
 */
export const isDivisionByZero = (error: unknown): boolean => describe(error).code === SQLSTATE.divisionByZero

/**
 * A statement on a project's tables raises it if they are on another server by now (lib/store/write/homes.ts), or if
 * there is no table of that name any more.
 */
export const hasMoved = (error: unknown): boolean => {
  const { code } = describe(error)
  return code === SQLSTATE.invalidPowerArgument || code === SQLSTATE.undefinedTable
}

/** Whether a lock was not to be had within lock_timeout. */
export const isLockTimeout = (error: unknown): boolean => describe(error).code === SQLSTATE.lockNotAvailable

/** Whether PostgreSQL refused a connection because the server, the database or the role has all that it may have. */
export const isTooManyConnections = (error: unknown): boolean => describe(error).code === SQLSTATE.tooManyConnections

/** Whether the connection that gave this error can no longer be used. */
export function endsConnection(error: unknown): boolean {
  const { name, code, severity } = describe(error)
  if (name === 'PostgresError') return isFatal(severity) || String(code).startsWith(SQLSTATE_CLASS.connectionException)
  const failure = classifyFailure(error)
  return failure === 'lost' || failure === 'refused'
}

/** Whether no connection could be opened. Work that waits after this would fare no better. */
export function isUnreachable(error: unknown): boolean {
  return classifyFailure(error) === 'refused' && endsConnection(error)
}

function classifyState(state: string, severity: unknown): DatabaseFailure {
  if (RETRIED.includes(state)) return 'retry'
  if (REFUSING.includes(state) || REFUSING_CLASSES.includes(state.slice(0, 2))) return 'refused'
  // A backend that ends for any other reason may have committed before.
  if (isFatal(severity) || ENDING.includes(state) || state.startsWith(SQLSTATE_CLASS.connectionException)) return 'lost'
  return 'bug'
}

function isFatal(severity: unknown): boolean {
  return severity === 'FATAL' || severity === 'PANIC'
}

function describe(error: unknown): DatabaseError {
  // Node tries every address of a name. If all fail, it gives their errors together.
  const one: unknown = error instanceof AggregateError ? error.errors[0] : error
  return one !== null && typeof one === 'object' ? one : {}
}
