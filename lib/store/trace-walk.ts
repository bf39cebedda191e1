/** Pages of traces along the index of their order. */
import type { Sql } from 'postgres'
import type { Edge } from '../cursor.ts'
import { behindEdge, type Found, type Start, type TraceQuery } from './trace-list.ts'
import { TraceStatement } from './trace-statement.ts'

/** Reads the page, looking at each trace for what else is asked for. */
export async function walkTraces(
  sql: Sql,
  projectId: number,
  query: TraceQuery,
  { edge, down, isCursor, limit }: Start
): Promise<Found> {
  const statement = new TraceStatement(projectId, query)
  const filters = statement.columnFilters()
  const walk = (down: boolean, edge: Edge, limit: number) =>
    `select * from traces where ${statement.beyond(down, edge)} ${filters.join(' ')}
      ${statement.order(down)} limit ${statement.bind(limit)}`
  // One trace more than asked for shows whether anything follows; one on the other side, whether anything precedes.
  const page = statement.pageOfRows(`(${walk(down, edge, limit + 1)})`)
  const behind = isCursor ? statement.hasRow(walk(!down, behindEdge(edge), 1)) : 'false'
  const [found] = await sql.unsafe<[Found]>(`select ${page} as page, ${behind} as behind`, statement.values, {
    // More filters come in so many combinations that their statements are not worth keeping.
    prepare: filters.length < 2
  })
  return found
}
