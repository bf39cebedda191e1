/**
 * Completes a gathered trace in which neither the root nor a process's first span has arrived. After some time without
 * new spans, the trace ends with its existing spans. The end is stored as a rank named `idle`, together with the number
 * of spans from which the end was computed. The end is valid until more spans arrive. The trace therefore does not
 * depend on the order of spans and ends.
 */

import { setMark } from '../metadata.ts'
import { isBefore, parseTimestamp } from '../timestamp.ts'
import { isCells, type Ranks } from './ranks.ts'

export interface IdleEnd {
  readonly status: string
  /** The trace's end as a canonical timestamp (lib/trace/timestamp.ts). */
  readonly endedAt: string
}

/** Ends a stored trace if the trace still has the version from which `end` was computed. */
export interface IdleOperation {
  readonly operation: 'idle'
  readonly traceId: string
  readonly version: number
  readonly end: IdleEnd
}

/** The part of a stored span that determines the trace's end. */
export interface EndedSpan {
  readonly id: string
  readonly parentId: string | null
  readonly status: string
  readonly endedAt: string
}

/** Name of the rank that holds an idle trace's end. */
export const IDLE = 'idle'
/** Statuses in order of precedence: the trace takes the first status that any of its top-level spans has. */
const STATUSES = ['error', 'ok', 'unset']

/**
 * Computes a trace's end from at least one span. The trace ends when its last span ends. Spans without a stored parent
 * decide the status: `error` if any failed, else `ok` if any is `ok`, else `unset`.
 */
export function endOf(spans: readonly EndedSpan[]): IdleEnd {
  const ids = new Set(spans.map(({ id }) => id))
  const statuses = spans.filter(({ parentId }) => parentId === null || !ids.has(parentId)).map(({ status }) => status)
  return {
    status: STATUSES.find(status => statuses.includes(status)) ?? 'unset',
    endedAt: spans.map(({ endedAt }) => endedAt).reduce((last, time) => (isBefore(last, time) ? time : last))
  }
}

/** Returns the rank of an end computed from `spanCount` spans. More spans yield a better rank. */
export const ranksOfEnd = ({ status, endedAt }: IdleEnd, spanCount: number): Ranks => ({
  [IDLE]: [0, -spanCount, JSON.stringify([status, endedAt])]
})

/**
 * Reads the end of a trace with `spanCount` spans. Returns undefined if no end is stored, or if more spans have arrived
 * since.
 */
export function readEnd({ [IDLE]: rank, times }: Ranks, spanCount: number): IdleEnd | undefined {
  if (rank === undefined || times !== undefined || rank[1] !== -spanCount) return undefined
  const [status, endedAt] = JSON.parse(rank[2])
  return { status, endedAt }
}

/** Whether a string, which may come from an untrusted file, is a serialised end. */
export const isEndText = (text: string): boolean =>
  isCells(text, [
    status => STATUSES.includes(status as string),
    endedAt => typeof endedAt === 'string' && parseTimestamp(endedAt) === endedAt
  ])

/** Adds a note to the metadata saying that the trace was completed because it was idle, or removes that note. */
export function markEnd(metadata: string | null, ranks: Ranks, end: IdleEnd | undefined): string | null {
  return ranks[IDLE] === undefined ? metadata : setMark(metadata, 'completed', end === undefined ? undefined : IDLE)
}
