/** Assembles, from fixed pieces, the statement that reads a page of traces. Every value is a parameter. */
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { RANKING_COLUMNS } from '../rankings/rankings.ts'
import type { Edge } from './cursor.ts'
import { type Sort, TRACE_ORDERS } from './order.ts'
import { pageText } from './summary-page.ts'
import type { RowsText, TraceQuery } from './trace-query.ts'

export const SORT_COLUMNS: Readonly<Record<Sort, string>> = { newest: 'started_at', ...RANKING_COLUMNS }

/** Filters by the three fields that make up a trace's family. */
export const FAMILY_FILTERS = ['status', 'environment', 'model'] as const

export class TraceStatement {
  readonly values: (string | number | null)[] = []
  readonly column: string
  readonly names: TableNames
  readonly #query: TraceQuery
  readonly #rowsText: RowsText

  /** `rowsText` makes the page's string, by default the string of its summaries. */
  constructor(
    projectId: number,
    query: TraceQuery,
    names: TableNames = SCHEMA_NAMES,
    rowsText: RowsText = rows => `(select ${pageText(names)} from ${rows} t)`
  ) {
    this.values.push(projectId)
    this.#rowsText = rowsText
    this.column = SORT_COLUMNS[query.sort]
    this.#query = query
    this.names = names
  }

  /** Adds a parameter and returns its placeholder. */
  bind(value: string | number | null): string {
    return `$${this.values.push(value)}`
  }

  /**
   * Whether a walk reads the index of runs. A session's walk does not, because a session has few traces and its own
   * index.
   */
  get readsRuns(): boolean {
    const { runsOnly = false, sort, sessionId } = this.#query
    return runsOnly && sort === 'newest' && sessionId === undefined
  }

  /** Returns the condition for the project's traces beyond an edge, down or up the order, within `from` and `to`. */
  beyond(down: boolean, edge: Edge): string {
    const { from, to } = this.#query
    const way = `${down ? '<' : '>'}${edge.inclusive ? '=' : ''}`
    const conditions = [
      `project_id = $1 and (${this.column}, id) ${way} (${this.bind(edge.key)}, ${this.bind(edge.tie)})`
    ]
    // Only the bound at the far end of the walk needs a condition, because the edge already lies within the other
    // bound.
    if (down && from !== undefined) conditions.push(`started_at >= ${this.bind(from)}`)
    if (!down && to !== undefined) conditions.push(`started_at <= ${this.bind(to)}`)
    return `${conditions.join(' and ')} ${this.hasKey}`
  }

  /** Condition for the `slowest` and `costliest` orders, whose indexes contain only rows with a sort key. */
  get hasKey(): string {
    return this.#query.sort === 'newest' ? '' : `and ${this.column} is not null`
  }

  /**
   * Returns the condition for traces no further from the edge than the only row (key, id) of `table`. If the table is
   * empty, every trace meets the condition.
   */
  within(down: boolean, table: string): string {
    const { lowestKey, lowestTie, highestKey, highestTie } = TRACE_ORDERS[this.#query.sort]
    const [key, tie] = down ? [lowestKey, lowestTie] : [highestKey, highestTie]
    const or = (column: string, value: string) => `coalesce((select ${column} from ${table}), ${this.bind(value)})`
    return `and (${this.column}, id) ${down ? '>=' : '<='} (${or('key', key)}, ${or('id', tie)})`
  }

  /** Returns the `order by` clause that puts the trace nearest the edge first. */
  order(down: boolean, column = this.column, id = 'id'): string {
    const way = down ? 'desc' : 'asc'
    return `order by ${column} ${way}, ${id} ${way}`
  }

  /**
   * Returns the condition that a row of `table` belongs to a run, with a leading `and`; an empty string if all traces
   * are listed. PostgreSQL does not recognise `is true` as the condition of the index of runs, and therefore reads the
   * index that the statement is made for.
   */
  ofRun(table: 'traces' | 'trace_tags'): string {
    const { traces, trace_tags: traceTags } = this.names
    if (!this.#query.runsOnly) return ''
    if (table === 'traces') return 'and is_run is true'
    return `and (select r.is_run from ${traces} r where r.project_id = $1 and r.id = ${traceTags}.id)`
  }

  /** Returns the filters as conditions on traces, each with a leading `and`. */
  columnFilters(): string[] {
    const { name, sessionId, userId, tag } = this.#query
    const equal = [
      ...FAMILY_FILTERS.map(column => [column, this.#query[column]] as const),
      ['name', name] as const,
      ['session_id', sessionId] as const,
      ['user_id', userId] as const
    ]
    const conditions = equal.flatMap(([column, value]) =>
      value === undefined ? [] : [`and ${column} = ${this.bind(value)}`]
    )
    if (this.#query.runsOnly) conditions.push(this.ofRun('traces'))
    return tag === undefined ? conditions : [...conditions, `and tags @> array[${this.bind(tag)}]`]
  }

  /**
   * Returns an expression that is true if the query returns a row. The query must return at most one row. `exists`
   * would ignore the query's order, and PostgreSQL might use another index.
   */
  hasRow(query: string): string {
    return `coalesce((select true from (${query}) found), false)`
  }

  /** Returns an expression for the page string of the given traces. */
  pageOfRows(rows: string): string {
    return this.#rowsText(rows, value => this.bind(value), this.names)
  }
}
