/** Detects whether PostgreSQL allows fewer connections than a server's processes would use. */
import type { Shortage } from '../database/pooled/connection-limit.ts'
import type { ConnectionRoom } from '../store/server/connection-room.ts'

/** Describes the shortage that one process has found. */
export function describeShortage(shortage: Shortage | undefined): string[] {
  if (shortage === undefined) return []
  const { allowed, wanted } = shortage
  return [`connections: the database allows this process ${allowed} of ${wanted}`]
}

/** Returns the shortages that are predictable before startup, as sentences with remedies. */
export function findShortage(room: ConnectionRoom, processes: number, perProcess: number): string[] {
  const wanted = processes * perProcess
  if (room.most >= wanted) return []
  return [
    `${room.setBy} allows ${room.most} connections, and the server would use up to ${wanted} (${perProcess} for each ` +
      'process): it works with fewer, more slowly. Raise the limit, or set DATABASE_CONNECTIONS and PROCESSES to what fits.'
  ]
}
