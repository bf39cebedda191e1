/** Describes a query of the trace list and its result. */
import type { Sql } from 'postgres'
import type { TableNames } from '../../database/tables.ts'
import type { Edge } from './cursor.ts'
import type { Sort } from './order.ts'

/**
 * Filters are exact and combine with AND. `from` and `to` are canonical timestamps, allowed only when `sort` is
 * `newest`.
 */
export interface TraceFilters {
  readonly status?: string | undefined
  /** Environment in lower case. 'unassigned' selects traces recorded by a key without an environment. */
  readonly environment?: string | undefined
  readonly model?: string | undefined
  readonly name?: string | undefined
  readonly tag?: string | undefined
  readonly sessionId?: string | undefined
  readonly userId?: string | undefined
  /** Whether only runs are listed (lib/trace/runs.ts). False is the same as undefined. */
  readonly runsOnly?: boolean | undefined
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

/** Edge at which a page begins, and the page's direction. */
export interface Start {
  readonly edge: Edge
  /** Whether the page extends down the list rather than up the list. */
  readonly down: boolean
  /** Whether the page begins at a cursor, so that traces may exist on the other side of the edge. */
  readonly isCursor: boolean
  readonly limit: number
}

/** Adds a parameter to a statement and returns its placeholder. */
export type Bind = (value: string | number | null) => string

/**
 * Returns an expression for a string that is made of traces of the project $1. `rows` is a query for the traces, in
 * parentheses.
 */
export type RowsText = (rows: string, bind: Bind, names: TableNames) => string

/** A page to find, and the tables to read it from. */
export interface PageSearch {
  readonly sql: Sql
  readonly projectId: number
  readonly query: TraceQuery
  readonly start: Start
  readonly names: TableNames
  /** Makes the page's string, by default the string of its summaries. */
  readonly rowsText?: RowsText | undefined
}

export interface FoundTraces {
  /** The page's traces, nearest the edge first, and the trace after it if any, as a string that `rowsText` made. */
  readonly page: string | null
  /** Whether a trace exists on the other side of the edge. */
  readonly behind: boolean
}
