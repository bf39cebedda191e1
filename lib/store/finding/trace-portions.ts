/**
 * Reads the traces whose spans or failures are listed, newest first, on a bounded walk (lib/store/walks). If filters
 * select lists of an index, only their traces are read (candidates.ts); otherwise, all traces are examined.
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import type { Edge } from '../lists/cursor.ts'
import type { TraceFilters } from '../lists/trace-query.ts'
import { TraceStatement } from '../lists/trace-statement.ts'
import { nextTraces } from '../walks/next-traces.ts'
import { candidateReader } from './candidates.ts'
import { NO_CONDITIONS } from './conditions.ts'

/** `from` and `to` are inclusive bounds of the start. */
export type WalkedTraces = Pick<TraceFilters, 'environment' | 'name' | 'tag' | 'userId' | 'sessionId' | 'from' | 'to'>

export interface TracePortion {
  /** Query with the columns of nextTraces. */
  readonly text: string
  /** The statement to which the query's parameters are bound. */
  readonly statement: TraceStatement
  /** Returns whether more traces follow. `traces` is the number of rows, `examined` that of the examined rows. */
  readonly hasMore: (traces: number, examined: number) => boolean
}

export interface PortionsOf {
  readonly filters: WalkedTraces
  /** Whether only traces that failed or have a failed span match. */
  readonly isFailing: boolean
}

/** Returns a reader of at most `size` traces beyond an edge. */
export function portionReader(
  sql: Sql,
  projectId: number,
  { filters, isFailing }: PortionsOf,
  names: TableNames = SCHEMA_NAMES
): (edge: Edge, size: number) => Promise<TracePortion> {
  const { from, to, ...others } = filters
  const isListed = Object.values(others).some(value => value !== undefined)
  const query = { sort: 'newest' as const, limit: 1, ...filters }
  const read = isListed
    ? candidateReader({ sql, projectId, names, query, conditions: { ...NO_CONDITIONS, errors: isFailing } })
    : undefined
  return async (edge, size) => {
    const statement = new TraceStatement(projectId, query, names)
    if (read === undefined) {
      const conditions = isFailing ? [`and (error_count > 0 or status = 'error')`] : []
      const text = nextTraces(statement, { edge, size, conditions })
      return { text, statement, hasMore: (traces, examined) => traces === size || traces > examined }
    }
    const { candidates, hasMore } = await read(edge, size)
    const array = (values: readonly unknown[]) => statement.bind(`{${values.join(',')}}`)
    const columns = [
      `${array(candidates.map(({ seq }) => seq))}::bigint[]`,
      `${array(candidates.map(({ id }) => id))}::uuid[]`,
      `${array(candidates.map(({ at }) => at.key))}::timestamptz[]`,
      `${array(candidates.map(({ fits }) => fits))}::boolean[]`
    ]
    return {
      text: `select place, seq, id, key, fits, true as is_examined
        from unnest(${columns.join(', ')}) with ordinality as c (seq, id, key, fits, place)`,
      statement,
      hasMore: (traces, examined) => hasMore || traces > examined
    }
  }
}
