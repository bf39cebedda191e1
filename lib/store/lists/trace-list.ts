/**
 * The trace list (specification 4.7). Pages are found by keyset on (sort key, id), at any depth. The bodies of traces
 * are never read. There are three ways to a page:
 *
 * - The list without filters, and that of a session, is read along one index (lib/store/lists/trace-walk.ts).
 * - A list with filters is merged from the lists of the families that match (lib/store/lists/trace-merge.ts).
 * - Pages deep in the slowest and costliest with filters are found in other ways (lib/store/lists/trace-depth.ts).
 *
 * The text of a statement fixes the indexes that it uses, whatever the values are. So each statement can be planned
 * once for each connection (plan_cache_mode of the readers), which saves CPU on every page (test/bench/RESULTS.md,
 * "Reading lists").
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { list } from '../answers/json-text.ts'
import type { Edge } from './cursor.ts'
import { behindEdge, edgeAbove, edgeBelow, TRACE_ORDERS } from './order.ts'
import { readSummaries, type Summary } from './summary-page.ts'
import { DEPTH, readDeep } from './trace-depth.ts'
import { MOST_FAMILIES, mergeLists } from './trace-merge.ts'
import type { FoundTraces, Start, TraceQuery } from './trace-query.ts'
import { FAMILY_FILTERS } from './trace-statement.ts'
import { walkTraces } from './trace-walk.ts'

export interface TracePage {
  /** The summaries, as the text of a JSON array. */
  readonly traces: string
  /** The edge at which the page after this one begins; undefined if this is the last. */
  readonly next: Edge | undefined
  /** The edge at which the page before this one ends; undefined if this is the first. */
  readonly previous: Edge | undefined
}

/** The bounds of merging and sorting; the files that define them say what they mean. */
const BOUNDS = { mostFamilies: MOST_FAMILIES, ...DEPTH }

const SORT_FIELDS = { newest: 'startedAt', slowest: 'durationMs', costliest: 'costUsd' } as const

/** Reads one page of a project's traces. `bounds` is for tests. */
export async function listTraces(
  sql: Sql,
  projectId: number,
  query: TraceQuery,
  names: TableNames = SCHEMA_NAMES,
  bounds = BOUNDS
): Promise<TracePage> {
  const { after, before, sort, limit } = query
  const order = TRACE_ORDERS[sort]
  const down = before === undefined
  const edge = down ? edgeBelow(order, after, query.to) : edgeAbove(order, before, query.from)
  const start: Start = { edge, down, isCursor: after !== undefined || before !== undefined, limit }
  const { page, behind } = await findPage(sql, projectId, query, start, names, bounds)
  const found = readSummaries(page)
  const traces = found.slice(0, limit)
  if (!down) traces.reverse()
  const follows = found.length > limit
  // From an empty page the way back leads to the rows before its own cursor, the row at the cursor included.
  const edgeAt = (trace: Summary | undefined): Edge =>
    trace === undefined ? behindEdge(edge) : { key: trace[SORT_FIELDS[sort]], tie: trace.id, inclusive: false }
  return {
    traces: list(traces.map(trace => trace.render())),
    next: (down ? follows : behind) ? edgeAt(traces.at(-1)) : undefined,
    previous: (down ? behind : follows) ? edgeAt(traces[0]) : undefined
  }
}

/**
 * More families than any project has. The statement adds one to this number, which must still be an int of
 * PostgreSQL's.
 */
const ALL_FAMILIES = 2 ** 31 - 2

const MERGED_FILTERS = [...FAMILY_FILTERS, 'name', 'tag', 'userId'] as const

async function findPage(
  sql: Sql,
  projectId: number,
  query: TraceQuery,
  start: Start,
  names: TableNames,
  { mostFamilies, ...depth }: typeof BOUNDS
): Promise<FoundTraces> {
  const isNewest = query.sort === 'newest'
  const isMerged = query.sessionId === undefined && MERGED_FILTERS.some(name => query[name] !== undefined)
  // Only in the order newest can a page be walked to instead, so only there is the number of merged families bounded.
  const most = isNewest ? mostFamilies : ALL_FAMILIES
  const page = isMerged && (await mergeLists(sql, projectId, query, start, most, names))
  if (page) return page
  return isMerged && !isNewest
    ? readDeep(sql, projectId, query, start, depth, names)
    : walkTraces(sql, projectId, query, start, names)
}
