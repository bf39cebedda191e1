/**
 * Finds pages of the slowest and costliest traces that lie deeper than a ranking reaches
 * (lib/store/rankings/rankings.ts), or that a ranking cannot fill because traces at its top were deleted. Tries three
 * methods in order:
 *
 * 1. Walks a short distance along the index of all the project's slowest or costliest traces, which has no floor. If
 *    many traces match, the traces found fill the page.
 * 2. If few traces match, reads and sorts all matching traces.
 * 3. Otherwise, walks the same index without a limit until the page is full. If one trace in 1,000 matches, a page of
 *    50 traces requires examining 50,000 traces.
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { familyFilters, findLists } from './trace-merge.ts'
import type { FoundTraces, Start, TraceQuery } from './trace-query.ts'
import { TraceStatement } from './trace-statement.ts'
import { walkNear, walkTraces } from './trace-walk.ts'

/**
 * Maximum number of traces that the first method examines (`near`), and maximum number that the second method sorts
 * (`few`).
 */
export const DEPTH = { near: 2_000, few: 2_000 }

export async function readDeep(
  sql: Sql,
  projectId: number,
  query: TraceQuery,
  start: Start,
  { near, few }: typeof DEPTH,
  names: TableNames = SCHEMA_NAMES
): Promise<FoundTraces> {
  return (
    (await walkNear(sql, projectId, query, start, near, names)) ??
    (await sortFew(sql, projectId, query, start, few, names)) ??
    walkTraces(sql, projectId, query, start, names)
  )
}

/** Reads the page by sorting all matching traces. Returns undefined if more than `few` match. */
async function sortFew(
  sql: Sql,
  projectId: number,
  query: TraceQuery,
  { edge, down, isCursor, limit }: Start,
  few: number,
  names: TableNames
): Promise<FoundTraces | undefined> {
  const statement = new TraceStatement(projectId, query, names)
  const { list, members, row } = findLists(statement, query)
  const most = statement.bind(few)
  const wanted = statement.bind(limit + 1)
  const order = statement.order(down, 'm.key', 'm.id')
  const [key, tie] = [statement.bind(edge.key), statement.bind(edge.tie)]
  const ahead = `(key, id) ${down ? '<' : '>'}${edge.inclusive ? '=' : ''} (${key}, ${tie})`
  const page = statement.pageOfRows(`(select t.* from picked m cross join lateral (${row('m')}) t ${order})`)
  const behind = isCursor ? `exists (select from members where key is not null and not (${ahead}))` : 'false'
  const [{ areFew, ...found }] = await sql.unsafe<[FoundTraces & { readonly areFew: boolean }]>(
    `with lists as materialized (
      select ${list} as list from ${names.trace_families} where project_id = $1 ${familyFilters(statement, query)}
    ), members as materialized (
      select lists.list, m.key, m.id from lists cross join lateral (${members('lists.list', `${most} + 1`)}) m
      limit ${most} + 1
    ), picked as materialized (
      select m.list, m.key, m.id from members m where key is not null and ${ahead} ${order} limit ${wanted}
    )
    select (select count(*) from members) <= ${most} as "areFew", ${page} as page, ${behind} as behind`,
    statement.values,
    { prepare: true }
  )
  return areFew ? found : undefined
}
