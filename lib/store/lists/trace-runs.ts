/**
 * Finds pages of runs alone (lib/trace/runs.ts), if other filters are set or the order is not `newest`. The lists of
 * families do not tell runs from other traces: where few traces are runs, a merge would check thousands of traces for
 * each run. A page is therefore looked for in a bounded number of traces first:
 *
 * 1. Walks a short distance: for `newest`, along the index of runs, for the other orders, along the index of all the
 *    project's slowest or costliest traces, at whose top runs are frequent.
 * 2. For the other orders, sorts all of the project's runs if they are few.
 *
 * A page that is not found belongs to a project with many runs, most of which do not match. Its other filters then
 * decide (lib/store/lists/trace-list.ts).
 */
import type { Sql } from 'postgres'
import type { TableNames } from '../../database/tables.ts'
import type { FoundTraces, Start, TraceQuery } from './trace-query.ts'
import { TraceStatement } from './trace-statement.ts'
import { walkNear } from './trace-walk.ts'

/** Maximum number of traces that each method examines. */
export const MOST_RUNS = 2_000

/** Reads the page. Returns undefined if the examined traces do not hold the whole page. */
export async function findAmongRuns(
  sql: Sql,
  projectId: number,
  query: TraceQuery,
  start: Start,
  most: number,
  names: TableNames
): Promise<FoundTraces | undefined> {
  const near = await walkNear(sql, projectId, query, start, most, names)
  if (near !== undefined || query.sort === 'newest') return near
  return sortRuns(sql, projectId, query, start, most, names)
}

/** Reads the page by sorting all of the project's runs. Returns undefined if there are more than `most`. */
async function sortRuns(
  sql: Sql,
  projectId: number,
  query: TraceQuery,
  { edge, down, isCursor, limit }: Start,
  most: number,
  names: TableNames
): Promise<FoundTraces | undefined> {
  const statement = new TraceStatement(projectId, query, names)
  const bound = statement.bind(most)
  const wanted = statement.bind(limit + 1)
  const filters = statement.columnFilters()
  const [key, tie] = [statement.bind(edge.key), statement.bind(edge.tie)]
  const ahead = `(${statement.column}, id) ${down ? '<' : '>'}${edge.inclusive ? '=' : ''} (${key}, ${tie})`
  const matching = `from runs where true ${statement.hasKey} ${filters.join(' ')}`
  const page = statement.pageOfRows(`(select * ${matching} and ${ahead} ${statement.order(down)} limit ${wanted})`)
  const behind = isCursor ? `exists (select ${matching} and not (${ahead}))` : 'false'
  const [{ areFew, ...found }] = await sql.unsafe<[FoundTraces & { readonly areFew: boolean }]>(
    `with runs as materialized (
      select * from ${names.traces} where project_id = $1 and is_run order by started_at desc, id desc limit ${bound} + 1
    )
    select (select count(*) from runs) <= ${bound} as "areFew", ${page} as page, ${behind} as behind`,
    statement.values,
    { prepare: filters.length < 2 }
  )
  return areFew ? found : undefined
}
