/**
 * Pages of traces that filters select. Every list that a filter can ask for is made of families (status, environment and
 * model together), or, where a name is asked for, of kinds (a family and a name); and of each there is an index in every
 * order, of all traces and of those of a tag or a user. So the page is the nearest of what is nearest in each:
 *
 * 1. The families that match are read: as many as the project has models, times its environments, times four.
 * 2. In each, the trace nearest the edge is looked up: 2 us.
 * 3. Of the lists that have the nearest of these, as many as the page has traces, the page is merged.
 *
 * None of it grows with the number of traces, whatever matches, and where nothing does.
 */
import type { Sql } from 'postgres'
import type { Edge } from '../cursor.ts'
import { behindEdge, type Found, type Start, type TraceQuery } from './trace-list.ts'
import { FAMILY_FILTERS, TraceStatement } from './trace-statement.ts'

/** The most families that are merged: 10 ms. A project has more only where its clients make up models. */
export const MOST_FAMILIES = 5000

/** Reads the page; undefined: too many families match. */
export async function mergeLists(
  sql: Sql,
  projectId: number,
  query: TraceQuery,
  { edge, down, isCursor, limit }: Start,
  mostFamilies: number
): Promise<Found | undefined> {
  const statement = new TraceStatement(projectId, query)
  const { list, nearest } = findLists(statement, query)
  const most = statement.bind(mostFamilies)
  // One trace more than asked for shows whether anything follows; one on the other side, whether anything precedes.
  const wanted = statement.bind(limit + 1)
  const areFew = `(select count(*) from lists) <= ${most}`
  const page = statement.pageOfKeys(
    down,
    `select m.key, m.id from near cross join lateral (${nearest('near.list', down, edge, `${wanted} + 1 - near.place`)}) m
      ${statement.order(down, 'm.key', 'm.id')} limit ${wanted}`
  )
  const before = () => `select from lists cross join lateral (${nearest('lists.list', !down, behindEdge(edge), '1')}) m
    where ${areFew} limit 1`
  const behind = isCursor ? statement.hasRow(before()) : 'false'
  const order = statement.order(down, 'm.key', 'm.id')
  const [{ fits, ...found }] = await sql.unsafe<[Found & { readonly fits: boolean }]>(
    `with lists as materialized (
      select ${list} as list from trace_families where project_id = $1 ${familyFilters(statement, query)} limit ${most} + 1
    ), near as materialized (
      select lists.list, row_number() over (${order}) as place
      from lists cross join lateral (${nearest('lists.list', down, edge, '1')}) m
      where ${areFew} ${order} limit ${wanted}
    )
    select ${areFew} as fits, ${page} as page, ${behind} as behind`,
    statement.values,
    { prepare: true }
  )
  return fits ? found : undefined
}

/** Which lists are merged. */
interface Lists {
  /** The number of a family's list. */
  readonly list: string
  /** The (key, id) of the traces of a list that lie nearest an edge, as a query. */
  nearest(list: string, down: boolean, edge: Edge, limit: string): string
}

function findLists(statement: TraceStatement, { name, tag, userId }: TraceQuery): Lists {
  const kindIn = (family: string) => `hashtextextended(${statement.bind(name as string)}::text, ${family})`
  // Of a user's traces with a tag there are families only: their kinds stand beside them.
  const ofFamily = name === undefined || (tag !== undefined && userId !== undefined)
  const owner: string[] = []
  if (userId !== undefined) owner.push(`and user_id = ${statement.bind(userId)}`)
  if (tag !== undefined) owner.push(`and tag = ${statement.bind(tag)}`)
  const nearest: Lists['nearest'] = (list, down, edge, limit) => `
    select ${statement.column} as key, id from ${tag === undefined ? 'traces' : 'trace_tags'}
    where ${statement.beyond(down, edge)} and ${ofFamily ? 'family' : 'kind'} = ${list} ${owner.join(' ')}
      ${ofFamily && name !== undefined ? `and kind = ${kindIn(list)}` : ''}
    ${statement.order(down)} limit ${limit}`
  return { list: ofFamily ? 'family' : kindIn('family'), nearest }
}

/** All of them, so that the statement is the same whichever are asked for. */
function familyFilters(statement: TraceStatement, query: TraceQuery): string {
  return FAMILY_FILTERS.map(column => {
    const value = statement.bind(query[column] ?? null)
    return `and (${value}::text is null or ${column} = ${value})`
  }).join(' ')
}
