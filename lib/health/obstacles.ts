/** Describes briefly why the database rejects writes. */
import { classifyFailure, SQLSTATE } from '../database/failure.ts'
import { causeOf } from '../failure-log.ts'

export const AWAY = 'the database cannot be reached'
export const READ_ONLY = 'the database does not accept writes'
export const STUCK = 'a write to the database did not finish in time'
/** PostgreSQL reports the same error while starting, recovering and stopping. Recovery after a crash takes seconds. */
const RECOVERING = 'the database is starting, recovering or stopping'

/** Descriptions by SQLSTATE. Other refusals and lost connections are described as an unreachable database. */
const NAMES: Readonly<Record<string, string>> = {
  [SQLSTATE.cannotConnectNow]: RECOVERING,
  [SQLSTATE.readOnlyTransaction]: READ_ONLY,
  [SQLSTATE.diskFull]: 'the database disk is full',
  [SQLSTATE.tooManyConnections]: 'the database has no connections left',
  [SQLSTATE.lockNotAvailable]: STUCK,
  [SQLSTATE.queryCanceled]: STUCK
}

/** Describes a rejection by the driver or a Pool. */
export function nameObstacle(error: unknown): string {
  if (isDenial(error)) return describeDenial(error)
  // The check's statements contain no client data, so their errors may be shown.
  if (classifyFailure(error) === 'bug') return `a write to the database fails: ${causeOf(error)}`
  return NAMES[String((error as { code?: unknown }).code)] ?? AWAY
}

/** Returns whether the database is reachable but spoor's role lacks a required privilege. */
export const isDenial = (error: unknown): boolean =>
  (error as { code?: unknown } | undefined)?.code === SQLSTATE.insufficientPrivilege

/** Describes a missing privilege in PostgreSQL's words, with the remedy. `role` is the DATABASE_URL role. */
export function describeDenial(error: unknown, role = 'the role in DATABASE_URL'): string {
  const message = causeOf(error)
  const [, kind, name] = /^permission denied for (\w+) (\S+)$/.exec(message) ?? []
  if (kind === 'schema') return `${message}: grant usage and create on schema ${name} to ${role}`
  if (kind === 'table') return `${message}: grant select, insert, update and delete on spoor's tables to ${role}`
  if (kind === 'sequence') return `${message}: grant usage on spoor's sequences to ${role}`
  if (message.startsWith('must be owner of')) return `${message}: run \`spoor migrate\` as the owner of spoor's tables`
  return `${message}: ${role} lacks this privilege`
}
