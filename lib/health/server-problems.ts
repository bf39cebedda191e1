/** Describes what is wrong with the running server of a database, or with its absence, as sentences with remedies. */
import { VERSION } from '../version.ts'
import type { FoundServer, RunningServer } from './running-server.ts'
import { isUpkeepLack } from './upkeep.ts'

export function serverProblems(found: FoundServer, expectsServer: boolean): string[] {
  if ('server' in found) return runningProblems(found.server)
  if (found.is === 'silent') {
    const who = found.pid === undefined ? '' : ` (process ${found.pid})`
    return [`The server at ${found.address}${who} does not respond: check its log.`]
  }
  return expectsServer ? [describeAbsence(found)] : []
}

const START = 'start it with `spoor serve`,'
const SET_ADDRESS = 'set HOST and PORT to where'
const NOT_EXPECTED = 'If no server should be running, use `spoor status --no-server`.'

function describeAbsence(found: Exclude<FoundServer, { is: 'ours' | 'nameless' | 'silent' }>): string {
  const { is, address } = found
  if (address === undefined) return `No server is running: start it with \`spoor serve\`. ${NOT_EXPECTED}`
  if (is === 'nothing') {
    return /:0$/.test(address)
      ? `PORT is 0, so the server's address is unknown: set PORT to the port that it listens on. ${NOT_EXPECTED}`
      : `No server is running at ${address}: ${START} or ${SET_ADDRESS} it listens. ${NOT_EXPECTED}`
  }
  const what = is === 'something else' ? 'is not spoor' : 'is the spoor server for another database'
  return `The program at ${address} ${what}: ${SET_ADDRESS} the server for this database listens. ${NOT_EXPECTED}`
}

function runningProblems({ address, version, ready, reasons, lacks }: RunningServer): string[] {
  const advice = reasons.includes('not configured') ? ' See its log for what is missing.' : ''
  return [
    ...(ready ? [] : [`The server at ${address} is not ready: ${reasons.join('; ')}.${advice}`]),
    // Status describes upkeep itself, with the names that GET /readyz leaves out.
    ...lacks.filter(lack => !isUpkeepLack(lack)).map(lack => `The server reports a problem with ${lack}.`),
    ...(version === VERSION
      ? []
      : [`The server runs spoor ${version ?? 'from an older release'}, but this command is ${VERSION}.`])
  ]
}
