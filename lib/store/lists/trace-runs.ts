/**
 * Finds pages of lists that show only runs (lib/trace/runs.ts), if other filters are set or the order is not `newest`.
 * The lists of families do not distinguish runs from other traces, so if few traces are runs, a merge would check
 * thousands of traces for each run. Therefore, a bounded number of traces is searched first:
 *
 * - `newest`: walks along the index of runs.
 * - The other orders: walks along the index of all the project's slowest or costliest traces, where runs are frequent
 *   near the top. If the page is still not full, sorts all of the project's runs, if they are few.
 *
 * If the page is not found, the project has many runs, few of which match. The page is then found by its other filters
 * (lib/store/lists/trace-list.ts).
 */
import type { Sql } from 'postgres'
import type { TableNames } from '../../database/tables.ts'
import type { FoundTraces, Start, TraceQuery } from './trace-query.ts'
import { TraceStatement } from './trace-statement.ts'
import { walkNear } from './trace-walk.ts'

/**
 * Maximum number of runs that are walked along or sorted. PostgreSQL takes a quarter of a microsecond for each
 * (test/bench/RESULTS.md, "Runs among other traces").
 */
export const MOST_RUNS = 10_000

interface Bounds {
  readonly runs: number
  /**
   * Maximum number of traces to walk past in a ranking, in which neighbouring traces lie on different pages of the
   * table.
   */
  readonly near: number
}

/** Reads the page. Returns undefined if the examined traces do not hold the whole page. */
export async function findAmongRuns(
  sql: Sql,
  projectId: number,
  query: TraceQuery,
  start: Start,
  { runs, near }: Bounds,
  names: TableNames
): Promise<FoundTraces | undefined> {
  if (query.sort === 'newest') return walkNear(sql, projectId, query, start, runs, names)
  return (
    (await walkNear(sql, projectId, query, start, near, names)) ??
    (await sortRuns(sql, projectId, query, start, runs, names))
  )
}

/** Reads the page by sorting all of the project's runs. Returns undefined if there are more than `most` runs. */
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
  const ahead = `(key, id) ${down ? '<' : '>'}${edge.inclusive ? '=' : ''} (${key}, ${tie})`
  const order = statement.order(down, 'm.key', 'm.id')
  const row = `select * from ${names.traces} where project_id = $1 and id = m.id limit 1`
  const page = statement.pageOfRows(`(select t.* from picked m cross join lateral (${row}) t ${order})`)
  const behind = isCursor ? `exists (select from runs where fits and not (${ahead}))` : 'false'
  const [{ areFew, ...found }] = await sql.unsafe<[FoundTraces & { readonly areFew: boolean }]>(
    `with runs as materialized (
      select ${statement.column} as key, id, (true ${statement.hasKey} ${filters.join(' ')}) as fits
      from ${names.traces} where project_id = $1 and is_run order by started_at desc, id desc limit ${bound} + 1
    ), picked as materialized (
      select m.key, m.id from runs m where fits and ${ahead} ${order} limit ${wanted}
    )
    select (select count(*) from runs) <= ${bound} as "areFew", ${page} as page, ${behind} as behind`,
    statement.values,
    { prepare: filters.length < 2 }
  )
  return areFew ? found : undefined
}
