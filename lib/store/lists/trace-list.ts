/**
 * Lists traces (specification 4.7), with keyset pagination on (sort key, id) at any depth. Trace bodies are never read.
 * The type of list determines how a page is found:
 *
 * - The list without filters, and a session's list, are read along one index (lib/store/lists/trace-walk.ts).
 * - A list with filters is merged from the lists of the matching families (lib/store/lists/trace-merge.ts).
 * - Deep pages of the slowest or costliest traces with filters are found as described in
 *   lib/store/lists/trace-depth.ts.
 * - A page of a list of runs is first sought among the runs (lib/store/lists/trace-depth.ts). If the page is not
 *   found there, it is found in one of the ways above, by checking each trace.
 *
 * A statement's text alone determines which indexes the statement uses; its parameters have no influence. Each
 * statement can therefore be planned once per connection (plan_cache_mode of the readers). Reusing plans saves CPU on
 * every page (test/bench/RESULTS.md, "Reading lists").
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { list } from '../answers/json-text.ts'
import type { Edge } from './cursor.ts'
import { behindEdge, edgeAbove, edgeBelow, TRACE_ORDERS } from './order.ts'
import { readSummaries, type Summary } from './summary-page.ts'
import { DEPTH, findAmongRuns, MOST_RUNS, readDeep } from './trace-depth.ts'
import { MOST_FAMILIES, mergeLists } from './trace-merge.ts'
import type { FoundTraces, PageSearch, Start, TraceQuery } from './trace-query.ts'
import { FAMILY_FILTERS } from './trace-statement.ts'
import { walkTraces } from './trace-walk.ts'

export interface TracePage {
  /** Summaries of the page's traces, as a JSON array string. */
  readonly traces: string
  /** Edge at which the next page begins; undefined on the last page. */
  readonly next: Edge | undefined
  /** Edge at which the previous page ends; undefined on the first page. */
  readonly previous: Edge | undefined
}

/** Limits on merging and sorting, documented where each constant is defined. */
export const LIST_BOUNDS = { mostFamilies: MOST_FAMILIES, runs: MOST_RUNS, ...DEPTH }

const SORT_FIELDS = { newest: 'startedAt', slowest: 'durationMs', costliest: 'costUsd' } as const

/** Reads one page of a project's traces. `bounds` is for tests. */
export async function listTraces(
  sql: Sql,
  projectId: number,
  query: TraceQuery,
  names: TableNames = SCHEMA_NAMES,
  bounds = LIST_BOUNDS
): Promise<TracePage> {
  const { after, before, sort, limit } = query
  const order = TRACE_ORDERS[sort]
  const down = before === undefined
  const edge = down ? edgeBelow(order, after, query.to) : edgeAbove(order, before, query.from)
  const start: Start = { edge, down, isCursor: after !== undefined || before !== undefined, limit }
  const { page, behind } = await findPage({ sql, projectId, query, start, names }, bounds)
  const found = readSummaries(page)
  const traces = found.slice(0, limit)
  if (!down) traces.reverse()
  const follows = found.length > limit
  // The page before an empty page ends at the empty page's cursor and includes the row at the cursor.
  const edgeAt = (trace: Summary | undefined): Edge =>
    trace === undefined ? behindEdge(edge) : { key: trace[SORT_FIELDS[sort]], tie: trace.id, inclusive: false }
  return {
    traces: list(traces.map(trace => trace.render())),
    next: (down ? follows : behind) ? edgeAt(traces.at(-1)) : undefined,
    previous: (down ? behind : follows) ? edgeAt(traces[0]) : undefined
  }
}

/** More families than any project has. The statement adds 1 to this number, and the sum must fit into an int. */
const ALL_FAMILIES = 2 ** 31 - 2

const MERGED_FILTERS = [...FAMILY_FILTERS, 'name', 'tag', 'userId'] as const

/** Finds the page's traces. */
export async function findPage(
  search: PageSearch,
  { mostFamilies, runs, ...depth }: typeof LIST_BOUNDS
): Promise<FoundTraces> {
  const { query } = search
  const isNewest = query.sort === 'newest'
  const isMerged = query.sessionId === undefined && MERGED_FILTERS.some(name => query[name] !== undefined)
  if (query.runsOnly && (isMerged || !isNewest)) {
    const found = await findAmongRuns(search, runs, depth.near)
    if (found) return found
  }
  // Only the `newest` order can fall back to a walk along the index, so only this order limits the number of merged
  // families.
  const most = isNewest ? mostFamilies : ALL_FAMILIES
  const page = isMerged && (await mergeLists(search, most))
  if (page) return page
  return isMerged && !isNewest ? readDeep(search, depth) : walkTraces(search)
}
