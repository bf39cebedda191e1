/**
 * Completes a gathered trace whose root, or first span of a process, never came: after some time without a span, the
 * trace ends with the spans that it has. Such an end is a rank of the trace under the name `idle`, with the number of
 * spans that it was made of. It holds until more spans come. So the trace is the same in whatever order spans and ends
 * arrive.
 */
import { isBefore, parseTimestamp } from '../timestamp.ts'
import { setMark } from './marks.ts'
import type { Ranks } from './ranks.ts'

export interface IdleEnd {
  readonly status: string
  /** As timestamps are stored (lib/trace/timestamp.ts). */
  readonly endedAt: string
}

/** Ends a stored trace, if it has still the version that `end` was made of. */
export interface IdleOperation {
  readonly operation: 'idle'
  readonly traceId: string
  readonly version: number
  readonly end: IdleEnd
}

/** A stored span, as far as the end follows from it. */
export interface EndedSpan {
  readonly id: string
  readonly parentId: string | null
  readonly status: string
  readonly endedAt: string
}

/** The name of the end among the ranks. */
export const IDLE = 'idle'
/** The first that one of the spans has is the trace's. */
const STATUSES = ['error', 'ok', 'unset']

/**
 * Ends at the latest end. The status is that of the spans whose parents are not there: `error` if one failed, else `ok`
 * if one said so, else `unset`. There must be a span.
 */
export function endOf(spans: readonly EndedSpan[]): IdleEnd {
  const ids = new Set(spans.map(({ id }) => id))
  const statuses = spans.filter(({ parentId }) => parentId === null || !ids.has(parentId)).map(({ status }) => status)
  return {
    status: STATUSES.find(status => statuses.includes(status)) ?? 'unset',
    endedAt: spans.map(({ endedAt }) => endedAt).reduce((last, time) => (isBefore(last, time) ? time : last))
  }
}

/** The rank of an end that was made of `spanCount` spans: one of more spans is better. */
export const ranksOfEnd = ({ status, endedAt }: IdleEnd, spanCount: number): Ranks => ({
  [IDLE]: [0, -spanCount, JSON.stringify([status, endedAt])]
})

/**
 * The end among the ranks of a trace of `spanCount` spans; undefined if there is none, or more spans have come since.
 */
export function readEnd({ [IDLE]: rank, times }: Ranks, spanCount: number): IdleEnd | undefined {
  if (rank === undefined || times !== undefined || rank[1] !== -spanCount) return undefined
  const [status, endedAt] = JSON.parse(rank[2])
  return { status, endedAt }
}

/** Whether a text, which may come from a file that anybody wrote, is that of an end. */
export function isEndText(text: string): boolean {
  try {
    const cells: unknown = JSON.parse(text)
    if (!Array.isArray(cells) || cells.length !== 2) return false
    const [status, endedAt] = cells
    return STATUSES.includes(status) && typeof endedAt === 'string' && parseTimestamp(endedAt) === endedAt
  } catch {
    return false
  }
}

/** Says in the metadata that the trace was completed so, or no longer. */
export function markEnd(metadata: string | null, ranks: Ranks, end: IdleEnd | undefined): string | null {
  return ranks[IDLE] === undefined ? metadata : setMark(metadata, 'completed', end === undefined ? undefined : IDLE)
}
