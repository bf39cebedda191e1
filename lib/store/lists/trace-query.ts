/** A query of the trace list, and what a statement finds for it. */
import type { Edge } from './cursor.ts'
import type { Sort } from './order.ts'

/**
 * Filters are exact and combine with AND. `from` and `to` are canonical timestamps, and allowed only in the order
 * newest.
 */
export interface TraceFilters {
  readonly status?: string | undefined
  /** In lower case. 'unassigned' selects traces that were recorded by a key without an environment. */
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
  /** At most one of `after` and `before` is set. */
  readonly after?: Edge | undefined
  readonly before?: Edge | undefined
}

/** The edge at which a page begins, and the direction in which it goes. */
export interface Start {
  readonly edge: Edge
  /** Whether the page goes down the list; otherwise it goes up. */
  readonly down: boolean
  /** Whether the page begins at a cursor, so that there may be traces on the other side of the edge. */
  readonly isCursor: boolean
  readonly limit: number
}

/** The result of a statement. */
export interface FoundTraces {
  /** The page and, if there is one, the trace after it: text for readSummaries, the trace nearest the edge first. */
  readonly page: string | null
  /** Whether there is a trace on the other side of the edge. */
  readonly behind: boolean
}
