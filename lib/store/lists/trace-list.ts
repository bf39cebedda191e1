/**
 * The trace list (specification 4.7): pages found by keyset on (sort key, id), at any depth. The bodies of traces are
 * never read.
 *
 * A list without filters, and a session's, is found along one index (lib/store/lists/trace-walk.ts), others by merging the lists of
 * what matches (lib/store/lists/trace-merge.ts), and deep in the slowest and costliest of these in other ways
 * (lib/store/lists/trace-depth.ts).
 *
 * Which way a statement goes is written in it, and never left to what the planner knows of the values: all are planned
 * once a connection (plan_cache_mode of the readers), which saves 0.5 ms of PostgreSQL's CPU on each page.
 */
import type { Sql } from 'postgres'
import { list } from '../answers/json-text.ts'
import type { Edge } from './cursor.ts'
import { behindEdge, edgeAbove, edgeBelow, TRACE_ORDERS } from './order.ts'
import { readSummaries, type Summary } from './summary-page.ts'
import { DEPTH, readDeep } from './trace-depth.ts'
import { MOST_FAMILIES, mergeLists } from './trace-merge.ts'
import type { Found, Start, TraceQuery } from './trace-query.ts'
import { FAMILY_FILTERS } from './trace-statement.ts'
import { walkTraces } from './trace-walk.ts'

export interface TracePage {
  /** The summaries, as the text of a JSON array. */
  readonly traces: string
  /** Where the page after this one begins; undefined: this is the last. */
  readonly next: Edge | undefined
  /** Where the page before this one ends; undefined: this is the first. */
  readonly previous: Edge | undefined
}

/** Up to how many what is merged, or sorted; see there. */
const BOUNDS = { mostFamilies: MOST_FAMILIES, ...DEPTH }

const SORT_FIELDS = { newest: 'startedAt', slowest: 'durationMs', costliest: 'costUsd' } as const

/** One page of a project's traces. */
export async function listTraces(sql: Sql, projectId: number, query: TraceQuery, bounds = BOUNDS): Promise<TracePage> {
  const { after, before, sort, limit } = query
  const order = TRACE_ORDERS[sort]
  const down = before === undefined
  const edge = down ? edgeBelow(order, after, query.to) : edgeAbove(order, before, query.from)
  const start: Start = { edge, down, isCursor: after !== undefined || before !== undefined, limit }
  const { page, behind } = await findPage(sql, projectId, query, start, bounds)
  const found = readSummaries(page)
  const traces = found.slice(0, limit)
  if (!down) traces.reverse()
  const follows = found.length > limit
  // An empty page leads back to what lies behind its own cursor, the row at the cursor included.
  const edgeAt = (trace: Summary | undefined): Edge =>
    trace === undefined ? behindEdge(edge) : { key: trace[SORT_FIELDS[sort]], tie: trace.id, inclusive: false }
  return {
    traces: list(traces.map(trace => trace.render())),
    next: (down ? follows : behind) ? edgeAt(traces.at(-1)) : undefined,
    previous: (down ? behind : follows) ? edgeAt(traces[0]) : undefined
  }
}

/** More than any project has; the statement adds one to it, which must still be an int of PostgreSQL's. */
const ALL_FAMILIES = 2 ** 31 - 2

const MERGED_FILTERS = [...FAMILY_FILTERS, 'name', 'tag', 'userId'] as const

async function findPage(
  sql: Sql,
  projectId: number,
  query: TraceQuery,
  start: Start,
  { mostFamilies, ...depth }: typeof BOUNDS
): Promise<Found> {
  const isNewest = query.sort === 'newest'
  const isMerged = query.sessionId === undefined && MERGED_FILTERS.some(name => query[name] !== undefined)
  // Only the newest are walked instead.
  const page = isMerged && (await mergeLists(sql, projectId, query, start, isNewest ? mostFamilies : ALL_FAMILIES))
  if (page) return page
  return isMerged && !isNewest
    ? readDeep(sql, projectId, query, start, depth)
    : walkTraces(sql, projectId, query, start)
}
