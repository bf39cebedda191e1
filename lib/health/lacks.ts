/** Describes what a server lacks: connections that PostgreSQL does not allow, and background work that lags behind. */
import type { Shortage } from '../database/pooled/connection-limit.ts'
import type { ConnectionRoom } from '../store/server/properties.ts'

/** Describes a shortage of connections found by one process. */
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
    `${room.setBy} allows ${room.most} connections, but the server wants up to ${wanted} (${perProcess} per ` +
      'process). With fewer, the server is slower. Raise the limit, or lower DATABASE_CONNECTIONS or PROCESSES.'
  ]
}

/** Threshold for reporting a lag. Folding normally lags by a minute, and the index by several minutes after a burst. */
const LATE_MS = 600_000

/**
 * Age in milliseconds of the oldest write that is not yet folded into rollups (`charts`), searchable (`search`) or
 * packed together (`repacking`).
 */
interface Lags {
  readonly charts: number
  readonly search: number
  readonly repacking: number
}

/** Repacking waits for a calm server, so it may lag for hours. */
const LATE_REPACKING_MS = 86_400_000

/** Describes lags for `lacks` in GET /readyz. Omits causes, because the endpoint is public. */
export function describeLags({ charts, search, repacking }: Lags): string[] {
  return [
    ...(charts < LATE_MS ? [] : [`charts: totals are ${inMinutes(charts)} behind; see the log`]),
    ...(search < LATE_MS ? [] : [`search: the index is ${inMinutes(search)} behind; see the log`]),
    ...(repacking < LATE_REPACKING_MS ? [] : ['repacking: traces have waited over a day to be repacked; see the log'])
  ]
}

const inMinutes = (ms: number): string => `${Math.floor(ms / 60_000)} minutes`
