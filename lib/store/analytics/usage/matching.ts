/** Finds the traces of a period that match filters, along the indexes of lists (lib/store/finding/candidates.ts). */
import type { Sql } from 'postgres'
import type { TableNames } from '../../../database/tables.ts'
import type { UsageTime } from '../../../rollups/usage.ts'
import { candidateReader } from '../../finding/candidates.ts'
import { NO_CONDITIONS } from '../../finding/conditions.ts'
import type { Edge } from '../../lists/cursor.ts'
import { edgeBelow, TRACE_ORDERS } from '../../lists/order.ts'
import type { TraceFilters } from '../../lists/trace-query.ts'

export type UsageFilters = Pick<TraceFilters, 'environment' | 'name' | 'model' | 'tag' | 'userId' | 'sessionId'>

const PORTION = 2000
/** Maximum number of traces that are examined. Only a project with thousands of models has no list to read. */
const MOST_EXAMINED = 50_000

/** Returns the internal numbers of the matching traces; undefined if more than `most` match. */
export async function findMatching(
  sql: Sql,
  projectId: number,
  { from, to, filters }: UsageTime & { readonly filters: UsageFilters },
  names: TableNames,
  most: number
): Promise<readonly number[] | undefined> {
  const iso = (ms: number) => new Date(ms).toISOString()
  const query = { sort: 'newest' as const, limit: 1, ...filters, from: iso(from), to: iso(to) }
  const read = candidateReader({ sql, projectId, names, query, conditions: NO_CONDITIONS })
  const seqs: number[] = []
  let edge: Edge = edgeBelow(TRACE_ORDERS.newest, undefined, query.to)
  for (let examined = 0; seqs.length <= most && examined < MOST_EXAMINED; ) {
    const { candidates, hasMore } = await read(edge, PORTION)
    for (const { seq, fits } of candidates) if (fits) seqs.push(seq)
    examined += candidates.length
    const last = candidates.at(-1)
    if (!hasMore || last === undefined) return seqs.length <= most ? seqs : undefined
    edge = last.at
  }
  return undefined
}
