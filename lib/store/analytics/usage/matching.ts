/** Finds the traces of a period that are summed one by one: all, or those that match filters, if they are few. */
import type { Sql } from 'postgres'
import type { TableNames } from '../../../database/tables.ts'
import type { UsageTime } from '../../../rollups/usage.ts'
import { candidateReader } from '../../finding/candidates.ts'
import { NO_CONDITIONS } from '../../finding/conditions.ts'
import type { Edge } from '../../lists/cursor.ts'
import { edgeBelow, TRACE_ORDERS } from '../../lists/order.ts'
import type { TraceFilters } from '../../lists/trace-query.ts'

export type UsageFilters = Pick<TraceFilters, 'environment' | 'name' | 'model' | 'tag' | 'userId' | 'sessionId'>

/** Maximum numbers of traces that are summed one by one, and of their steps if the steps are read. */
export const MOST_EXACT = { traces: 20_000, steps: 200_000 }

const PORTION = 2000
/** Maximum number of traces that are examined. Only a project with thousands of models has no list to read. */
const MOST_EXAMINED = 50_000

/** Returns SQL for a time in milliseconds since 1970. */
export const timeOf = (value: string) => `to_timestamp(${value}::float8 / 1000)`

/** Returns SQL for a text that is never null. Different values, and null, have different texts. */
const neverNull = (column: string) => `coalesce('=' || ${column}, '')`

/**
 * Returns SQL for whether the group of a row of `row` is in the expression `listed`, which has the columns. PostgreSQL
 * reads the listed groups into a hash table. If it expects few rows, it joins by comparing each
 * row with every group, which takes a minute with 15,000 groups.
 */
export const isListed = (row: string, columns: readonly string[] = ['key', 'kind']): string => `(
    (${columns.map(column => neverNull(`${row}.${column}`)).join(', ')}) in (
      select ${columns.map(neverNull).join(', ')} from listed
    ))`

/** Returns SQL for whether two rows have the same key and kind, which may be null. */
export const isSameGroup = (one: string, other: string): string =>
  ['key', 'kind'].map(name => `${neverNull(`${one}.${name}`)} = ${neverNull(`${other}.${name}`)}`).join(' and ')

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

interface FewAsked extends Pick<UsageTime, 'from' | 'to'> {
  readonly readsSteps: boolean
  readonly seqs?: readonly number[] | undefined
}

/** Returns whether the period has few enough traces, or the traces with the numbers `seqs` few enough steps. */
export async function hasFew(
  sql: Sql,
  projectId: number,
  { from, to, readsSteps, seqs }: FewAsked,
  names: TableNames,
  most: typeof MOST_EXACT
): Promise<boolean> {
  if (seqs !== undefined && !readsSteps) return true
  const traces =
    seqs === undefined
      ? `started_at >= ${timeOf('$2')} and started_at < ${timeOf('$3')} order by started_at limit $4::int`
      : `seq = any ($2::bigint[])`
  const values = seqs === undefined ? [from, to, most.traces + 1] : [`{${seqs.join(',')}}`]
  const [row] = await sql.unsafe<[{ traces: number; steps: number }]>(
    `select count(*)::float8 as traces, ${readsSteps ? 'coalesce(sum(span_count), 0)' : '0'}::float8 as steps from (
      select ${readsSteps ? 'span_count' : ''} from ${names.traces} where project_id = $1 and ${traces}
    ) few`,
    [projectId, ...values],
    { prepare: true }
  )
  return row.traces <= most.traces && row.steps <= most.steps
}
