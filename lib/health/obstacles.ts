/** What keeps the database from taking a write, in a few words for people. */
import { SQLSTATE } from '../database/failure.ts'

export const AWAY = 'the database cannot be reached'
export const READ_ONLY = 'the database takes no writes'
export const STUCK = 'the database does not get a write done'
/** PostgreSQL says the same of all three, and after a crash it is for seconds. */
const RECOVERING = 'the database is starting, recovering or stopping'

/** The words for SQLSTATEs. For every other error they are that the database cannot be reached. */
const NAMES: Readonly<Record<string, string>> = {
  [SQLSTATE.cannotConnectNow]: RECOVERING,
  [SQLSTATE.readOnlyTransaction]: READ_ONLY,
  [SQLSTATE.diskFull]: 'the disk of the database is full',
  [SQLSTATE.tooManyConnections]: 'the database has no connection left',
  [SQLSTATE.lockNotAvailable]: STUCK,
  [SQLSTATE.queryCanceled]: STUCK
}

/** Names what a rejection of the driver or of a Pool means. */
export function nameObstacle(error: unknown): string {
  return NAMES[String((error as { code?: unknown } | undefined)?.code)] ?? AWAY
}

/** What went wrong with a connection, or with all addresses of a name, for the log. */
export function causeOf(error: unknown): string {
  const { cause } = error as { cause?: unknown }
  const first = cause ?? error
  const { message, code } = (first instanceof AggregateError ? first.errors[0] : first) as Error & { code?: string }
  return message || String(code)
}
