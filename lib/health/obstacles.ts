/** Describes, in a few words for people, why the database takes no writes. */
import { classifyFailure, SQLSTATE } from '../database/failure.ts'
import { causeOf } from '../failure-log.ts'

export const AWAY = 'the database cannot be reached'
export const READ_ONLY = 'the database takes no writes'
export const STUCK = 'the database does not get a write done'
/** PostgreSQL says the same of all three, and after a crash it is for seconds. */
const RECOVERING = 'the database is starting, recovering or stopping'

/**
 * The words for SQLSTATEs. For every other refusal, and for lost connections, they are that the database cannot be
 * reached.
 */
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
  if (isDenial(error)) return describeDenial(error)
  // The statements that look have nothing in them that clients sent, so their errors may be shown.
  if (classifyFailure(error) === 'bug') return `the database fails at a write: ${causeOf(error)}`
  return NAMES[String((error as { code?: unknown }).code)] ?? AWAY
}

/** Whether the database is reached, and does not allow its role what was asked. */
export const isDenial = (error: unknown): boolean =>
  (error as { code?: unknown } | undefined)?.code === SQLSTATE.insufficientPrivilege

/** A missing right in PostgreSQL's words, with the remedy. `role` is the role of DATABASE_URL. */
export function describeDenial(error: unknown, role = 'the role of DATABASE_URL'): string {
  const message = causeOf(error)
  const [, kind, name] = /^permission denied for (\w+) (\S+)$/.exec(message) ?? []
  if (kind === 'schema') return `${message}: grant usage and create on schema ${name} to ${role}`
  if (kind === 'table') return `${message}: grant select, insert, update and delete on spoor's tables to ${role}`
  if (kind === 'sequence') return `${message}: grant usage on spoor's sequences to ${role}`
  if (message.startsWith('must be owner of')) return `${message}: run \`spoor migrate\` as the owner of spoor's tables`
  return `${message}: ${role} lacks this right`
}
