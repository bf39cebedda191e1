/** The text of a statement that reads a page of traces, put together from fixed pieces; every value is a parameter. */

import { RANKING_COLUMNS } from '../rankings/rankings.ts'
import type { Edge } from './cursor.ts'
import { type Sort, TRACE_ORDERS } from './order.ts'
import { PAGE_TEXT } from './summary-page.ts'
import type { TraceQuery } from './trace-query.ts'

export const SORT_COLUMNS: Readonly<Record<Sort, string>> = { newest: 'started_at', ...RANKING_COLUMNS }

/** Filters by what makes a trace's family. */
export const FAMILY_FILTERS = ['status', 'environment', 'model'] as const

export class TraceStatement {
  readonly values: (string | number | null)[] = []
  readonly column: string
  readonly #query: TraceQuery

  constructor(projectId: number, query: TraceQuery) {
    this.values.push(projectId)
    this.column = SORT_COLUMNS[query.sort]
    this.#query = query
  }

  bind(value: string | number | null): string {
    return `$${this.values.push(value)}`
  }

  /** The project, and everything from an edge on, down the order or up, as far as `from` and `to` let it go. */
  beyond(down: boolean, edge: Edge): string {
    const { from, to } = this.#query
    const way = `${down ? '<' : '>'}${edge.inclusive ? '=' : ''}`
    const conditions = [
      `project_id = $1 and (${this.column}, id) ${way} (${this.bind(edge.key)}, ${this.bind(edge.tie)})`
    ]
    // The bound that lies ahead; the one behind is in the edge.
    if (down && from !== undefined) conditions.push(`started_at >= ${this.bind(from)}`)
    if (!down && to !== undefined) conditions.push(`started_at <= ${this.bind(to)}`)
    return `${conditions.join(' and ')} ${this.hasKey}`
  }

  /** The indexes of the other sorts hold only the rows that have the key. */
  get hasKey(): string {
    return this.#query.sort === 'newest' ? '' : `and ${this.column} is not null`
  }

  /** Nothing that lies further from the edge than the row of (key, id) that a table has; everything where it has none. */
  within(down: boolean, table: string): string {
    const { lowestKey, lowestTie, highestKey, highestTie } = TRACE_ORDERS[this.#query.sort]
    const [key, tie] = down ? [lowestKey, lowestTie] : [highestKey, highestTie]
    const or = (column: string, value: string) => `coalesce((select ${column} from ${table}), ${this.bind(value)})`
    return `and (${this.column}, id) ${down ? '>=' : '<='} (${or('key', key)}, ${or('id', tie)})`
  }

  /** `order by`, nearest the edge first. */
  order(down: boolean, column = this.column, id = 'id'): string {
    const way = down ? 'desc' : 'asc'
    return `order by ${column} ${way}, ${id} ${way}`
  }

  /** The filters as conditions on traces, each with `and` before it. */
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

  /** Whether a query that gives one row at the most gives one. "exists" would forget its order, and with it its index. */
  hasRow(query: string): string {
    return `coalesce((select true from (${query}) found), false)`
  }

  /** The page of rows of traces. */
  pageOfRows(rows: string): string {
    return `(select ${PAGE_TEXT} from ${rows} t)`
  }
}
