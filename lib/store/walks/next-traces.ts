/**
 * Reads the next traces of a bounded walk (lib/store/walks/bounded-walk.ts) in the order of the trace list, newest
 * first or by another sort. A portion's statement joins them with what it looks for, such as failed spans:
 *
 *     const statement = new TraceStatement(projectId, { sort: 'newest', limit, from, environment }, names)
 *     sql.unsafe(`with portion as materialized (${nextTraces(statement, { edge, size, conditions })})
 *       select … from portion p left join lateral (
 *         select … from ${names.spans} s where s.project_id = $1 and s.trace_seq = p.seq and …
 *       ) s on p.is_examined order by p.place`, statement.values, { prepare: false })
 *
 * `edge` begins as `edgeBelow(TRACE_ORDERS.newest, cursor, to)`, and continues after the last examined trace.
 */
import type { Edge } from '../lists/cursor.ts'
import type { TraceStatement } from '../lists/trace-statement.ts'

/**
 * Maximum number of spans of a portion. Traces whose spans would exceed it are left to the next portion, except the
 * first trace.
 */
const MOST_SPANS = 20_000

export interface NextTraces {
  readonly edge: Edge
  /** Maximum number of traces. */
  readonly size: number
  /**
   * Conditions on the rows of traces, each with a leading `and`, that decide `fits`. They must be cheap.
   */
  readonly conditions?: readonly string[]
  /** Maximum number of spans of the traces that fit. */
  readonly spans?: number
}

/**
 * Returns a query for the next traces beyond the edge, within the query's `from` and `to`, whether they fit or not. Its
 * columns are `place` (1 is nearest the edge), `seq`, `id`, `key` (the sort key), `fits`, and `is_examined`: false for
 * traces that fit and are left to the next portion, and for all traces after these. The portion has examined the rows
 * with `is_examined`. More traces follow if it returns `size` rows, or a row that is not examined.
 */
export function nextTraces(
  statement: TraceStatement,
  { edge, size, conditions = [], spans = MOST_SPANS }: NextTraces
): string {
  const { traces } = statement.names
  const order = statement.order(true)
  const fits = conditions.length === 0 ? 'true' : `(true ${conditions.join(' ')}) is true`
  return `select place, seq, id, key, fits, place = 1 or spans <= ${statement.bind(spans)} as is_examined from (
    select seq, id, key, fits, row_number() over way as place,
      sum(case when fits then span_count else 0 end) over way as spans
    from (
      select seq, id, ${statement.column} as key, span_count, ${fits} as fits
      from ${traces} where ${statement.beyond(true, edge)} ${order} limit ${statement.bind(size)}
    ) next window way as (order by key desc, id desc)
  ) placed`
}
