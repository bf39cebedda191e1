/**
 * Finds pages of traces that filters select, in any order, by merging lists.
 *
 * A list has the traces of one family (status, environment and model together). If the query has a name, a list has
 * those of one named family (a family and a name) instead. If it has a tag or a user, a list has only the traces of
 * the family with that tag or user. An index holds every list, sorted in every order. The traces that match a query
 * are some of these lists together, so a page is merged from the traces of each list that lie nearest the edge where
 * the page begins:
 *
 * 1. The families that match are read. A project has at most as many as it has models, times its environments, times
 *    four.
 * 2. From the lists of a few frequent families, a page each is read, and these are merged. If they fill the page, its
 *    last trace is a bound: whatever lies further from the edge is not on the page. The bound makes looks into the
 *    other lists cheaper, because it ends them early (test/bench/RESULTS.md, "Reading lists").
 * 3. In each of the other lists, the trace nearest the edge is looked up. These traces may make the bound narrower.
 * 4. A page of n traces can have traces of no more than n lists: those whose nearest trace is nearest. It is merged
 *    from them.
 *
 * The cost does not grow with the number of traces, whatever matches. There is one exception: for a user, a tag and a
 * name together, the traces of the user with the tag are looked at one by one. The index of a long list has only the
 * top of its slowest and costliest, so deeper pages are not found here (lib/store/lists/trace-depth.ts).
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { hashInSql } from '../../rows/list-numbers.ts'
import { isRanked } from '../rankings/rankings.ts'
import type { Edge } from './cursor.ts'
import { behindEdge } from './order.ts'
import type { FoundTraces, Start, TraceQuery } from './trace-query.ts'
import { FAMILY_FILTERS, TraceStatement } from './trace-statement.ts'

/**
 * The most families that are merged for a page of the newest traces (test/bench/RESULTS.md, "Reading lists"). With
 * more, the index of all traces is walked instead. A project has more families only if its clients make up models.
 */
export const MOST_FAMILIES = 5000

/**
 * How many lists are read to find the first bound: the lists of the most frequent families among the newest SAMPLE
 * traces.
 */
const FREQUENT = 4
const SAMPLE = 100

/** Reads the page. Undefined if too many families match, or if the page lies deeper than the rankings go. */
export async function mergeLists(
  sql: Sql,
  projectId: number,
  query: TraceQuery,
  { edge, down, isCursor, limit }: Start,
  mostFamilies: number,
  names: TableNames = SCHEMA_NAMES
): Promise<FoundTraces | undefined> {
  const statement = new TraceStatement(projectId, query, names)
  const { list, listed, nearest, row } = findLists(statement, query)
  const most = statement.bind(mostFamilies)
  // One trace more than asked for shows whether anything follows. One on the other side shows whether anything
  // precedes.
  const wanted = statement.bind(limit + 1)
  const areFew = `(select count(*) from lists) <= ${most}`
  const order = statement.order(down, 'm.key', 'm.id')
  const rest = nearest('near.list', down, edge, `${wanted} + 1 - near.place`, statement.within(down, 'end_of_page'))
  const page = statement.pageOfRows(`(select t.* from picked m cross join lateral (${row('m')}) t ${order})`)
  const before = () => `select from lists cross join lateral (${nearest('lists.list', !down, behindEdge(edge), '1')}) m
    where ${areFew} limit 1`
  const behind = isCursor ? statement.hasRow(before()) : 'false'
  // Everything above the highest floor is in the rankings. The order newest has no floors.
  const hasFloor = query.sort !== 'newest'
  const floor = `(select max(f.${statement.column}) from lists join ${names.ranking_floors} f
      on f.project_id = $1 and f.list = ${listed('lists.list')})`
  const isAbove = () =>
    down
      ? `(select count(*) >= ${wanted} and min(key) >= floor from picked)`
      : `${statement.bind(edge.key)} >= floor and behind`
  const [{ fits, ...found }] = await sql.unsafe<[FoundTraces & { readonly fits: boolean }]>(
    `with lists as materialized (
      select ${list} as list, row_number() over (order by seen.times desc nulls last) as place
      from ${names.trace_families} left join (
        select newest.family, count(*) as times from (
          select family from ${names.traces} where project_id = $1 order by started_at desc, id desc limit ${SAMPLE}
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

/** SQL for the lists that are merged. */
interface Lists {
  /** The number of a family or named family, as an expression over trace_families. */
  readonly list: string
  /** The number by which the traces of a list are found: the family, with the tag and the user of the query. */
  listed(list: string): string
  /** A query for the (key, id) of the traces of a list that lie nearest an edge, and within a bound if one is given. */
  nearest(list: string, down: boolean, edge: Edge, limit: string, bound?: string): string
  /** A query for the (key, id) of the newest traces of a list. The key may be null. */
  members(list: string, limit: string): string
  /**
   * A query for the trace of which a row of `table` has (list, key, id). The trace is looked up in its list again,
   * whose index pages have just been read; an index by id would have to read another page for each trace. The query
   * has `order by`, so that the planner does not take another index while the tables are empty.
   */
  row(table: string): string
}

/** The lists that make up the result of a query. */
export function findLists(statement: TraceStatement, { sort, name, tag, userId }: TraceQuery): Lists {
  const { traces, trace_tags: traceTags } = statement.names
  const under = (value: string | undefined) => {
    const text = value === undefined ? undefined : `${statement.bind(value)}::text`
    return (list: string) => (text === undefined ? list : hashInSql(text, list))
  }
  const [namedFamilyIn, ofUser, ofTag] = [under(name), under(userId), under(tag)] as const
  // With both a tag and a user there are lists of families only. A name is a condition on the rows of such a list.
  const isBeside = name !== undefined && tag !== undefined && userId !== undefined
  const isFamily = name === undefined || isBeside
  const base = isFamily ? 'family' : 'named_family'
  const column = userId === undefined ? base : `user_${base}`
  const [table, listed] =
    tag === undefined ? [traces, column] : [traceTags, userId === undefined ? `tag_${base}` : 'tag_user']
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
    // The index of all of the project's slowest or costliest traces has each of them, also those that are not ranked.
    const inList = sort === 'newest' ? `and ${column} = ${ofUser(`${found}.list`)}` : ''
    return `select * from ${traces} where project_id = $1 ${inList}
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

/** Conditions for all three filters, set or not, so that the statement is the same whichever of them are set. */
export function familyFilters(statement: TraceStatement, query: TraceQuery): string {
  return FAMILY_FILTERS.map(column => {
    const value = statement.bind(query[column] ?? null)
    return `and (${value}::text is null or ${column} = ${value})`
  }).join(' ')
}
