/** What is asked of the trace list, and what its statements find. */
import type { Edge } from './cursor.ts'
import type { Sort } from './order.ts'

/** Filters are exact and combine with AND; `from` and `to` (canonical timestamps) are for the newest-first order only. */
export interface TraceFilters {
  readonly status?: string | undefined
  /** In lower case; 'unassigned' is what keys without an environment stamp. */
  readonly environment?: string | undefined
  readonly model?: string | undefined
  readonly name?: string | undefined
  readonly tag?: string | undefined
  readonly sessionId?: string | undefined
  readonly userId?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export interface TraceQuery extends TraceFilters {
  readonly sort: Sort
  readonly limit: number
  /** At most one of the two. */
  readonly after?: Edge | undefined
  readonly before?: Edge | undefined
}

/** Where a page begins, and which way it goes. */
export interface Start {
  readonly edge: Edge
  /** Down the list; otherwise up. */
  readonly down: boolean
  /** The page begins at a cursor, so that there may be something on its other side. */
  readonly isCursor: boolean
  readonly limit: number
}

/** What a statement finds. */
export interface Found {
  /** The page, and one trace more if there is one, nearest the edge first: text for readSummaries. */
  readonly page: string | null
  /** Whether there is a trace on the other side of the edge. */
  readonly behind: boolean
}
