/**
 * Pages of traces that filters select, and of the slowest and costliest. Every list that can be asked for is made of
 * families (status, environment and model together), or, where a name is asked for, of named families (a family and a name); and of
 * each there is an index in every order, of all traces and of those of a tag or a user. So the page is the nearest of what
 * is nearest in each:
 *
 * 1. The families that match are read: as many as the project has models, times its environments, times four.
 * 2. Of the lists of a few frequent families, a page each is read and merged. Where that fills the page, its last trace
 *    bounds what is looked for in the others. (PostgreSQL reads all of an index page that may be asked for: a look into a
 *    long list takes 14 us, and 4 where the bound ends it.)
 * 3. In each of the others, the trace nearest the edge is looked up. These may bound the page more narrowly.
 * 4. Of the lists that have the nearest of these, as many as the page has traces, the page is merged.
 *
 * None of it grows with the number of traces, whatever matches, and where nothing does. (But for a user, a tag and a name
 * together: there, the named families of the traces of the list are looked at one by one.) Of the slowest and costliest of a long list
 * only the top is in its index: what lies deeper is not found here (lib/store/lists/trace-depth.ts).
 */
import type { Sql } from 'postgres'
import { hashInSql } from '../../rows/list-numbers.ts'
import { isRanked } from '../rankings/rankings.ts'
import type { Edge } from './cursor.ts'
import { behindEdge } from './order.ts'
import type { Found, Start, TraceQuery } from './trace-query.ts'
import { FAMILY_FILTERS, TraceStatement } from './trace-statement.ts'

/**
 * The most families that are merged for the newest traces, which can be walked as well: 20 to 45 ms. A project has more only
 * where its clients make up models.
 */
export const MOST_FAMILIES = 5000

/** How many families are read to find the bound, and of how many of the newest traces they are the most frequent. */
const FREQUENT = 4
const SAMPLE = 100

/** Reads the page; undefined: too many families match, or it lies too deep. */
export async function mergeLists(
  sql: Sql,
  projectId: number,
  query: TraceQuery,
  { edge, down, isCursor, limit }: Start,
  mostFamilies: number
): Promise<Found | undefined> {
  const statement = new TraceStatement(projectId, query)
  const { list, listed, nearest, row } = findLists(statement, query)
  const most = statement.bind(mostFamilies)
  // One trace more than asked for shows whether anything follows; one on the other side, whether anything precedes.
  const wanted = statement.bind(limit + 1)
  const areFew = `(select count(*) from lists) <= ${most}`
  const order = statement.order(down, 'm.key', 'm.id')
  const rest = nearest('near.list', down, edge, `${wanted} + 1 - near.place`, statement.within(down, 'end_of_page'))
  const page = statement.pageOfRows(`(select t.* from picked m cross join lateral (${row('m')}) t ${order})`)
  const before = () => `select from lists cross join lateral (${nearest('lists.list', !down, behindEdge(edge), '1')}) m
    where ${areFew} limit 1`
  const behind = isCursor ? statement.hasRow(before()) : 'false'
  // Everything above the highest floor is in the rankings. The newest have none.
  const hasFloor = query.sort !== 'newest'
  const floor = `(select max(f.${statement.column}) from lists join ranking_floors f
      on f.project_id = $1 and f.list = ${listed('lists.list')})`
  const isAbove = () =>
    down
      ? `(select count(*) >= ${wanted} and min(key) >= floor from picked)`
      : `${statement.bind(edge.key)} >= floor and behind`
  const [{ fits, ...found }] = await sql.unsafe<[Found & { readonly fits: boolean }]>(
    `with lists as materialized (
      select ${list} as list, row_number() over (order by seen.times desc nulls last) as place
      from trace_families left join (
        select newest.family, count(*) as times from (
          select family from traces where project_id = $1 order by started_at desc, id desc limit ${SAMPLE}
        ) newest group by newest.family
      ) seen using (family)
      where project_id = $1 ${familyFilters(statement, query)} limit ${most} + 1
    ), frequent as materialized (
      select lists.list, m.key, m.id from lists cross join lateral (${nearest('lists.list', down, edge, wanted)}) m
      where lists.place <= ${FREQUENT} and ${areFew} ${order} limit ${wanted}
    ), bound as materialized (
      select key, id from frequent m ${order} offset ${wanted} - 1 limit 1
    ), near as materialized (
      select lists.list, m.key, m.id, row_number() over (${order}) as place
      from lists cross join lateral (${nearest('lists.list', down, edge, '1', statement.within(down, 'bound'))}) m
      where lists.place > ${FREQUENT} and ${areFew} ${order} limit ${wanted}
    ), end_of_page as materialized (
      select key, id from (select key, id from frequent union all select key, id from near) m
      ${order} offset ${wanted} - 1 limit 1
    ), picked as materialized (
      select m.list, m.key, m.id from (
        select list, key, id from frequent
        union all
        select near.list, m.key, m.id from near cross join lateral (${rest}) m
      ) m ${order} limit ${wanted}
    ), beside as materialized (
      select ${hasFloor ? floor : 'null'} as floor, ${behind} as behind
    )
    select ${areFew} ${hasFloor ? `and (floor is null or ${isAbove()})` : ''} as fits, ${page} as page, behind
    from beside`,
    statement.values,
    { prepare: true }
  )
  return fits ? found : undefined
}

/** Which lists are merged. */
interface Lists {
  /** The number of a family's list, as an expression over trace_families. */
  readonly list: string
  /** The number by which the traces of a list are found. */
  listed(list: string): string
  /** The (key, id) of the traces of a list that lie nearest an edge, and within a bound if there is one, as a query. */
  nearest(list: string, down: boolean, edge: Edge, limit: string, bound?: string): string
  /** The (key, id) of the newest traces of a list, as a query; the key may be null. */
  members(list: string, limit: string): string
  /**
   * The trace of the (list, key, id) of a table's row, as a query. It is found in the list once more, where an index by id
   * would read another page for each. (It is asked for in order, so that no other list can seem as good while the tables
   * are empty.)
   */
  row(table: string): string
}

export function findLists(statement: TraceStatement, { sort, name, tag, userId }: TraceQuery): Lists {
  const under = (value: string | undefined) => {
    const text = value === undefined ? undefined : `${statement.bind(value)}::text`
    return (list: string) => (text === undefined ? list : hashInSql(text, list))
  }
  const [namedFamilyIn, ofUser, ofTag] = [under(name), under(userId), under(tag)] as const
  // Of a user's traces with a tag there are families only: their named families stand beside them.
  const isBeside = name !== undefined && tag !== undefined && userId !== undefined
  const isFamily = name === undefined || isBeside
  const base = isFamily ? 'family' : 'named_family'
  const column = userId === undefined ? base : `user_${base}`
  const [table, listed] =
    tag === undefined ? ['traces', column] : ['trace_tags', userId === undefined ? `tag_${base}` : 'tag_user']
  const ranked = sort === 'newest' ? '' : `and ${isRanked(base, sort)}`
  const nearest: Lists['nearest'] = (list, down, edge, limit, bound = '') => `
    select ${statement.column} as key, id from ${table}
    where ${statement.beyond(down, edge)} ${bound} and ${listed} = ${ofTag(ofUser(list))} ${ranked}
      ${isBeside ? `and named_family = ${namedFamilyIn(list)}` : ''}
    ${statement.order(down)} limit ${limit}`
  const members: Lists['members'] = (list, limit) => `
    select ${statement.column} as key, id from ${table}
    where project_id = $1 and ${listed} = ${ofTag(ofUser(list))}
    order by started_at desc, id desc limit ${limit}`
  const row: Lists['row'] = found => {
    const place = `(${statement.column}, id)`
    const wanted = `(${found}.key, ${found}.id)`
    // The index of all of the project's slowest or costliest has every trace; among its newest, another list is as near.
    const inList = sort === 'newest' ? `and ${column} = ${ofUser(`${found}.list`)}` : ''
    return `select * from traces where project_id = $1 ${inList}
      and ${place} >= ${wanted} and ${place} <= ${wanted} ${statement.hasKey}
      ${statement.order(true)} limit 1`
  }
  return {
    list: isFamily ? 'family' : namedFamilyIn('family'),
    listed: list => ofTag(ofUser(list)),
    nearest,
    members,
    row
  }
}

/** All of them, so that the statement is the same whichever are asked for. */
export function familyFilters(statement: TraceStatement, query: TraceQuery): string {
  return FAMILY_FILTERS.map(column => {
    const value = statement.bind(query[column] ?? null)
    return `and (${value}::text is null or ${column} = ${value})`
  }).join(' ')
}
