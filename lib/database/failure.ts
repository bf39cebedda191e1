/** What a failed query means for whoever asked: was something written, is it worth another try, is it our mistake? */

/**
 * - `lost`: the connection went away with the question; whether it was answered by a commit is unknown.
 * - `refused`: the database surely did not do it, and may do it later.
 * - `retry`: the database undid it for the sake of another; the same again will do.
 * - `bug`: everything else.
 */
export type Failure = 'lost' | 'refused' | 'retry' | 'bug'

/** SQLSTATEs, as https://www.postgresql.org/docs/current/errcodes-appendix.html has them. */
export const SQLSTATE = {
  /** Another transaction changed what this one had read. */
  serializationFailure: '40001',
  deadlockDetected: '40P01',
  /** A standby, or a server told to be read-only. */
  readOnlyTransaction: '25006',
  idleInTransactionTimeout: '25P03',
  transactionTimeout: '25P04',
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
  uniqueViolation: '23505',
  undefinedTable: '42P01'
} as const

/** The first two characters of an SQLSTATE. */
const SQLSTATE_CLASS = {
  connectionException: '08',
  /** A wrong password, or a host that pg_hba.conf does not let in. */
  invalidAuthorization: '28',
  /** Disk full, out of memory, too many connections. */
  insufficientResources: '53',
  /** Errors outside of PostgreSQL, such as those of a disk. */
  systemError: '58'
} as const

const RETRIED: readonly string[] = [SQLSTATE.serializationFailure, SQLSTATE.deadlockDetected]
const REFUSING: readonly string[] = [
  SQLSTATE.readOnlyTransaction,
  SQLSTATE.undefinedDatabase,
  SQLSTATE.lockNotAvailable,
  SQLSTATE.queryCanceled,
  SQLSTATE.cannotConnectNow
]
const REFUSING_CLASSES: readonly string[] = [
  SQLSTATE_CLASS.invalidAuthorization,
  SQLSTATE_CLASS.insufficientResources,
  SQLSTATE_CLASS.systemError
]

/** Codes of the driver's and the pool's own errors, raised before anything was sent. */
const NEVER_SENT = ['CONNECT_TIMEOUT', 'POOL_FULL', 'POOL_CLOSED', 'NOT_CONNECTED', 'CLIENT_GONE']
/** System calls that fail only before a connection stands. */
const CONNECTING = ['connect', 'getaddrinfo']
/** The driver's CONNECTION_CLOSED and its like, the pool's CONNECTION_LOST, and what is said of a socket. */
const LOST = /^(CONNECTION_|ECONN|EPIPE$|ETIMEDOUT$|EHOSTUNREACH$|ENETUNREACH$|ENETDOWN$|ERR_STREAM_|ERR_SOCKET_)/

interface DatabaseError {
  readonly name?: unknown
  readonly code?: unknown
  readonly severity?: unknown
  readonly syscall?: unknown
}

/** Says which of the four kinds a rejection of the driver or of the Pool is. */
export function classifyFailure(error: unknown): Failure {
  const { name, code, severity, syscall } = describe(error)
  if (typeof code !== 'string') return 'bug'
  if (name === 'PostgresError') return classifyState(code, severity)
  if (NEVER_SENT.includes(code) || CONNECTING.includes(String(syscall)) || code === 'ECONNREFUSED') return 'refused'
  return LOST.test(code) ? 'lost' : 'bug'
}

/** Whether the database takes no writes at all, which no other attempt within seconds will change. */
export function isReadOnlyRefusal(error: unknown): boolean {
  return describe(error).code === SQLSTATE.readOnlyTransaction
}

/** COPY raises it where a trace exists, and so does a charged insert (lib/store/write/batch.ts). */
export const isUniqueViolation = (error: unknown): boolean => describe(error).code === SQLSTATE.uniqueViolation

/** The changes that go with a COPY raise it where a trace is not as it was when they were decided (lib/store/write/batch.ts). */
export const isDivisionByZero = (error: unknown): boolean => describe(error).code === SQLSTATE.divisionByZero

/** Whether PostgreSQL has as many connections as it, the database or the role may have. */
export const isTooManyConnections = (error: unknown): boolean => describe(error).code === SQLSTATE.tooManyConnections

/** Whether the connection that gave this error is of no more use. */
export function endsConnection(error: unknown): boolean {
  const { name, code, severity } = describe(error)
  if (name === 'PostgresError') return isFatal(severity) || String(code).startsWith(SQLSTATE_CLASS.connectionException)
  const failure = classifyFailure(error)
  return failure === 'lost' || failure === 'refused'
}

/** Whether no connection was to be had: what waits behind this would fare no better. */
export function isUnreachable(error: unknown): boolean {
  return classifyFailure(error) === 'refused' && endsConnection(error)
}

function classifyState(state: string, severity: unknown): Failure {
  if (RETRIED.includes(state)) return 'retry'
  if (REFUSING.includes(state) || REFUSING_CLASSES.includes(state.slice(0, 2))) return 'refused'
  // A backend that ends for any other reason may have committed before.
  if (isFatal(severity) || state.startsWith(SQLSTATE_CLASS.connectionException)) return 'lost'
  return 'bug'
}

function isFatal(severity: unknown): boolean {
  return severity === 'FATAL' || severity === 'PANIC'
}

function describe(error: unknown): DatabaseError {
  // Node tries every address of a name and, where all fail, gives their errors together.
  const one: unknown = error instanceof AggregateError ? error.errors[0] : error
  return one !== null && typeof one === 'object' ? one : {}
}
