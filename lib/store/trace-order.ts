/** Pages of traces that an index has in the order asked for. */
import type { Sql } from 'postgres'
import type { Edge } from '../cursor.ts'
import { KIND_FILTERS } from './trace-kinds.ts'
import { behindEdge, type Found, type Start, type TraceQuery } from './trace-list.ts'
import { TraceStatement } from './trace-statement.ts'

/** Reads the page along the index of the query's only filter, or of its session or user. */
export async function readInOrder(sql: Sql, projectId: number, query: TraceQuery, start: Start): Promise<Found> {
  const { edge, down, isCursor, limit } = start
  const statement = new TraceStatement(projectId, query)
  const ofTag = query.tag !== undefined && query.sessionId === undefined && query.userId === undefined
  const walk = ofTag ? walkTag : walkTraces
  // One trace more than asked for shows whether anything follows; one on the other side, whether anything precedes.
  const rows = walk(statement, query, down, edge, limit + 1)
  const page = ofTag ? statement.pageOfKeys(down, rows) : statement.pageOfRows(`(${rows})`)
  const behind = isCursor ? statement.hasRow(walk(statement, query, !down, behindEdge(edge), 1)) : 'false'
  const [found] = await sql.unsafe<[Found]>(`select ${page} as page, ${behind} as behind`, statement.values, {
    prepare: !isMixed(query)
  })
  return found
}

/** Filters that come in so many combinations that their statements are not worth keeping. */
function isMixed({ sessionId, userId, tag, ...query }: TraceQuery): boolean {
  const filters = [sessionId, userId, tag, ...KIND_FILTERS.map(name => query[name])]
  return filters.filter(filter => filter !== undefined).length > 1
}

type Walk = (statement: TraceStatement, query: TraceQuery, down: boolean, edge: Edge, limit: number) => string

const walkTraces: Walk = (statement, _query, down, edge, limit) =>
  `select * from traces where ${statement.beyond(down, edge)} ${statement.columnFilters()}
    ${statement.order(down)} limit ${statement.bind(limit)}`

const walkTag: Walk = (statement, query, down, edge, limit) =>
  `select started_at as key, id from trace_tags where ${statement.beyond(down, edge)} and tag = ${statement.bind(query.tag!)}
    ${statement.order(down)} limit ${statement.bind(limit)}`
