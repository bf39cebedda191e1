/** Puts the text of a statement that reads a page of traces together from fixed pieces. Every value is a parameter. */
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { RANKING_COLUMNS } from '../rankings/rankings.ts'
import type { Edge } from './cursor.ts'
import { type Sort, TRACE_ORDERS } from './order.ts'
import { pageText } from './summary-page.ts'
import type { TraceQuery } from './trace-query.ts'

export const SORT_COLUMNS: Readonly<Record<Sort, string>> = { newest: 'started_at', ...RANKING_COLUMNS }

/** The filters by the three fields that make up a trace's family. */
export const FAMILY_FILTERS = ['status', 'environment', 'model'] as const

export class TraceStatement {
  readonly values: (string | number | null)[] = []
  readonly column: string
  readonly names: TableNames
  readonly #query: TraceQuery

  constructor(projectId: number, query: TraceQuery, names: TableNames = SCHEMA_NAMES) {
    this.values.push(projectId)
    this.column = SORT_COLUMNS[query.sort]
    this.#query = query
    this.names = names
  }

  /** Adds a parameter, and returns its placeholder. */
  bind(value: string | number | null): string {
    return `$${this.values.push(value)}`
  }

  /** The condition of the project's traces from an edge on, down or up the order, as far as `from` and `to` allow. */
  beyond(down: boolean, edge: Edge): string {
    const { from, to } = this.#query
    const way = `${down ? '<' : '>'}${edge.inclusive ? '=' : ''}`
    const conditions = [
      `project_id = $1 and (${this.column}, id) ${way} (${this.bind(edge.key)}, ${this.bind(edge.tie)})`
    ]
    // Only the bound that lies ahead; the edge takes care of the other one.
    if (down && from !== undefined) conditions.push(`started_at >= ${this.bind(from)}`)
    if (!down && to !== undefined) conditions.push(`started_at <= ${this.bind(to)}`)
    return `${conditions.join(' and ')} ${this.hasKey}`
  }

  /** A condition for slowest and costliest: their indexes hold only rows that have the sort key. */
  get hasKey(): string {
    return this.#query.sort === 'newest' ? '' : `and ${this.column} is not null`
  }

  /**
   * The condition of traces that lie no further from the edge than the one row of `table`, which has (key, id). If the
   * table is empty, every trace meets it.
   */
  within(down: boolean, table: string): string {
    const { lowestKey, lowestTie, highestKey, highestTie } = TRACE_ORDERS[this.#query.sort]
    const [key, tie] = down ? [lowestKey, lowestTie] : [highestKey, highestTie]
    const or = (column: string, value: string) => `coalesce((select ${column} from ${table}), ${this.bind(value)})`
    return `and (${this.column}, id) ${down ? '>=' : '<='} (${or('key', key)}, ${or('id', tie)})`
  }

  /** The clause `order by`, with the trace nearest the edge first. */
  order(down: boolean, column = this.column, id = 'id'): string {
    const way = down ? 'desc' : 'asc'
    return `order by ${column} ${way}, ${id} ${way}`
  }

  /** The filters as conditions on traces, each with `and` in front. */
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
    return tag === undefined ? conditions : [...conditions, `and tags @> array[${this.bind(tag)}]`]
  }

  /**
   * An expression that says whether a query of at most one row has one. `exists` would ignore the query's order, and
   * PostgreSQL might then take another index.
   */
  hasRow(query: string): string {
    return `coalesce((select true from (${query}) found), false)`
  }

  /** An expression for the text of a page of these traces. */
  pageOfRows(rows: string): string {
    return `(select ${pageText(this.names)} from ${rows} t)`
  }
}
