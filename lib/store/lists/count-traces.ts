/** Counts the traces of a list, up to a limit. */
import type { Sql } from 'postgres'
import type { TableNames } from '../../database/tables.ts'
import type { TraceQuery } from './trace-query.ts'

/** Maximum number of traces that are counted along an index, which takes a few hundredths of a second. */
export const MOST_ALONG_INDEX = 100_000

/** Whether the query lists all traces of a time, in the order of time. Their number is read from an index alone. */
export function isOfTimeOnly({ from: _, to: __, limit: ___, sort, ...others }: TraceQuery): boolean {
  return sort === 'newest' && Object.values(others).every(value => value === undefined || value === false)
}

/** Counts the traces of a time, up to one more than MOST_ALONG_INDEX. */
export async function countOfTime(
  sql: Sql,
  projectId: number,
  { from, to }: Pick<TraceQuery, 'from' | 'to'>,
  names: TableNames
): Promise<number> {
  const [{ traces }] = await sql.unsafe<[{ readonly traces: number }]>(
    `select count(*)::int as traces from (
      select from ${names.traces}
      where project_id = $1 and started_at >= $2::timestamptz and started_at <= $3::timestamptz
      order by started_at desc limit ${MOST_ALONG_INDEX} + 1
    ) listed`,
    [projectId, from ?? '-infinity', to ?? 'infinity'],
    { prepare: true }
  )
  return traces
}
