/**
 * The trace list (specification 4.7): pages found by keyset on (sort key, id), which an index serves at any depth. The
 * bodies of traces are never read.
 *
 * The statement is not prepared, so that PostgreSQL plans each with its values in sight. A prepared one may come to keep
 * a plan that fits no value in particular: for a tag that a third of 300,000 traces carry, that plan collects and sorts
 * them all (2 s on a busy machine), where walking traces_newest takes less than a millisecond. Planning and parsing cost
 * 0.1 ms.
 */
import type { Sql } from 'postgres'
import type { Edge } from '../cursor.ts'
import { list } from './json.ts'
import { edgeAbove, edgeBelow, type Sort, TRACE_ORDERS } from './order.ts'
import { readScoreMaps } from './scores.ts'
import { PAGE_TEXT, readSummaries, type Summary } from './summary-page.ts'

/** Filters are exact and combine with AND; `from` and `to` (canonical timestamps) are for the newest-first order only. */
export interface TraceFilters {
  readonly status?: string | undefined
  readonly model?: string | undefined
  readonly name?: string | undefined
  readonly tag?: string | undefined
  /** In lower case; 'unassigned' is what keys without an environment stamp. */
  readonly environment?: string | undefined
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

export interface TracePage {
  /** The summaries, as the text of a JSON array. */
  readonly traces: string
  /** Where the page after this one begins; undefined: this is the last. */
  readonly next: Edge | undefined
  /** Where the page before this one ends; undefined: this is the first. */
  readonly previous: Edge | undefined
}

interface Row {
  /** The page and one trace more, nearest the edge first. */
  readonly page: string | null
  /** Whether there is a trace on the other side of the edge. */
  readonly behind: boolean
}

const SORTS = {
  newest: { column: 'started_at', field: 'startedAt' },
  slowest: { column: 'duration_ms', field: 'durationMs' },
  costliest: { column: 'cost_usd', field: 'costUsd' }
} as const

const FILTERS = [
  ['status', 'status'],
  ['model', 'model'],
  ['name', 'name'],
  ['environment', 'environment'],
  ['sessionId', 'session_id'],
  ['userId', 'user_id']
] as const

/** One page of a project's traces. */
export async function listTraces(sql: Sql, projectId: number, query: TraceQuery): Promise<TracePage> {
  const { after, before, sort, limit } = query
  const order = TRACE_ORDERS[sort]
  const down = before === undefined
  const edge = down ? edgeBelow(order, after, query.to) : edgeAbove(order, before, query.from)
  const edgeBehind = { ...edge, inclusive: !edge.inclusive }

  const statement = new Statement(projectId, query)
  // One row more than asked for shows whether anything follows; one on the other side, whether anything precedes.
  const ahead = statement.walk(down, edge, limit + 1)
  const behind =
    after === undefined && before === undefined ? 'false' : `exists ${statement.walk(!down, edgeBehind, 1)}`
  const [row] = await sql.unsafe<[Row]>(
    `select (select ${PAGE_TEXT} from ${ahead} t) as page, ${behind} as behind`,
    statement.values,
    { prepare: !statement.isFiltered }
  )

  const found = readSummaries(row.page)
  const traces = found.slice(0, limit)
  if (!down) traces.reverse()
  const [follows, precedes] = [found.length > limit, row.behind]
  // An empty page leads back to what lies behind its own cursor, the row at the cursor included.
  const edgeAt = (trace: Summary | undefined): Edge =>
    trace === undefined ? edgeBehind : { key: trace[SORTS[sort].field], tie: trace.id, inclusive: false }
  return {
    traces: list(await renderSummaries(sql, projectId, traces)),
    next: (down ? follows : precedes) ? edgeAt(traces.at(-1)) : undefined,
    previous: (down ? precedes : follows) ? edgeAt(traces[0]) : undefined
  }
}

/** The text of a statement, put together from fixed pieces; every value is a parameter. */
class Statement {
  readonly values: (string | number)[] = []
  readonly #projectId: number
  readonly #query: TraceQuery

  constructor(projectId: number, query: TraceQuery) {
    this.#projectId = projectId
    this.#query = query
  }

  /** Whether a filter is given, so that the values decide which plan is best. */
  get isFiltered(): boolean {
    return FILTERS.some(([filter]) => this.#query[filter] !== undefined) || this.#query.tag !== undefined
  }

  /** The first `limit` rows from an edge on, down the list or up, nearest first. */
  walk(down: boolean, edge: Edge, limit: number): string {
    const { column } = SORTS[this.#query.sort]
    const beyond = `${down ? '<' : '>'}${edge.inclusive ? '=' : ''}`
    const way = down ? 'desc' : 'asc'
    return `(
      select * from traces
      where ${this.#conditions(down)} and (${column}, id) ${beyond} (${this.#bind(edge.key)}, ${this.#bind(edge.tie)})
      order by ${column} ${way}, id ${way}
      limit ${this.#bind(limit)})`
  }

  /** The filters, and the bound that lies ahead; the one behind is in the edge. */
  #conditions(down: boolean): string {
    const query = this.#query
    const conditions = [`project_id = ${this.#bind(this.#projectId)}`]
    for (const [filter, column] of FILTERS) {
      const value = query[filter]
      if (value !== undefined) conditions.push(`${column} = ${this.#bind(value)}`)
    }
    if (query.tag !== undefined) conditions.push(`tags @> array[${this.#bind(query.tag)}]`)
    if (down && query.from !== undefined) conditions.push(`started_at >= ${this.#bind(query.from)}`)
    if (!down && query.to !== undefined) conditions.push(`started_at <= ${this.#bind(query.to)}`)
    // The indexes of the other sorts hold only the rows that have the key.
    if (query.sort !== 'newest') conditions.push(`${SORTS[query.sort].column} is not null`)
    return conditions.join(' and ')
  }

  #bind(value: string | number): string {
    return `$${this.values.push(value)}`
  }
}

async function renderSummaries(sql: Sql, projectId: number, traces: readonly Summary[]): Promise<string[]> {
  const scored = traces.filter(trace => trace.scoreCount > 0).map(trace => trace.seq)
  const maps = scored.length === 0 ? undefined : await readScoreMaps(sql, projectId, scored)
  return traces.map(trace => trace.render(maps?.get(trace.seq) ?? '{}'))
}
