/**
 * Finds pages of filtered traces, in any order, by merging lists.
 *
 * A list contains the traces of one family (a combination of status, environment and model). If the query has a name, a
 * list contains the traces of one named family (a family and a name) instead. If the query has a tag or a user, a list
 * contains only the family's traces with that tag or user. Every list can be read from an index in every order. The
 * traces that match a query are the union of several lists, so a page is merged from each list's traces nearest the
 * edge where the page begins:
 *
 * 1. The matching families are read. A project has at most four families per model and environment.
 * 2. One page is read from each list of a few frequent families, and these pages are merged. If the result fills the
 *    page, its last trace is a bound: no trace further from the edge is on the page. Because of the bound, lookups in
 *    the remaining lists end early and cost less (test/bench/RESULTS.md, "Reading lists").
 * 3. In each remaining list, the trace nearest the edge is looked up. These traces may tighten the bound.
 * 4. A page of n traces can contain traces from at most n lists. The page is merged from the n lists whose first traces
 *    are nearest the edge.
 *
 * The cost does not depend on the number of traces, matching or not. The exception is a query with a user, a tag and a
 * name. Such a query checks the name of each of the user's traces that have the tag. For the `slowest` and `costliest`
 * orders, the index of a long list contains only the list's top traces. Deeper pages are found by
 * lib/store/lists/trace-depth.ts.
 */
import { hashInSql } from '../../rows/list-numbers.ts'
import { isRanked } from '../rankings/rankings.ts'
import type { Edge } from './cursor.ts'
import { behindEdge } from './order.ts'
import type { FoundTraces, PageSearch, TraceQuery } from './trace-query.ts'
import { FAMILY_FILTERS, TraceStatement } from './trace-statement.ts'

/**
 * Maximum number of families merged for a page of the newest traces (test/bench/RESULTS.md, "Reading lists"). With more
 * families, the index of all traces is walked instead. A project exceeds the limit only if its clients send made-up
 * model names.
 */
export const MOST_FAMILIES = 5000

/**
 * Number of lists read to find the first bound. The lists belong to the most frequent families among the newest SAMPLE
 * traces.
 */
const FREQUENT = 4
const SAMPLE = 100

/** Reads the page. Returns undefined if too many families match or the page lies deeper than the rankings reach. */
export async function mergeLists(search: PageSearch, mostFamilies: number): Promise<FoundTraces | undefined> {
  const { sql, projectId, query, names, rowsText } = search
  const { edge, down, isCursor, limit } = search.start
  const statement = new TraceStatement(projectId, query, names, rowsText)
  const { list, listed, nearest, row } = findLists(statement, query)
  const most = statement.bind(mostFamilies)
  // One trace beyond the limit shows whether there is a next page; one trace behind the edge shows whether there is a
  // previous page.
  const wanted = statement.bind(limit + 1)
  const areFew = `(select count(*) from lists) <= ${most}`
  const order = statement.order(down, 'm.key', 'm.id')
  const rest = nearest('near.list', down, edge, `${wanted} + 1 - near.place`, statement.within(down, 'end_of_page'))
  const page = statement.pageOfRows(`(select t.* from picked m cross join lateral (${row('m')}) t ${order})`)
  const before = () => `select from lists cross join lateral (${nearest('lists.list', !down, behindEdge(edge), '1')}) m
    where ${areFew} limit 1`
  const behind = isCursor ? statement.hasRow(before()) : 'false'
  // All traces above the highest floor are in the rankings. The `newest` order has no floors.
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
    { prepare: rowsText === undefined }
  )
  return fits ? found : undefined
}

interface Lists {
  /** Number of a family or named family, as an expression over trace_families. */
  readonly list: string
  /**
   * Returns the number that identifies a list in its index, computed from the list's family and the query's tag and
   * user.
   */
  listed(list: string): string
  /** Returns a query for the (key, id) of a list's traces nearest an edge, and within `bound` if set. */
  nearest(list: string, down: boolean, edge: Edge, limit: string, bound?: string): string
  /** Returns a query for the (key, id) of a list's newest traces, within `bound` if set. The key may be null. */
  members(list: string, limit: string, bound?: string): string
  /**
   * Returns a query for the trace that a row (list, key, id) of `table` identifies. The trace is looked up in its
   * list's index, whose pages have just been read. An index by id would require reading another page for each trace.
   * The query has `order by` so that the planner does not use another index while the tables are empty.
   */
  row(table: string): string
}

/** Returns SQL for the lists that make up a query's result. */
export function findLists(statement: TraceStatement, { sort, name, tag, userId }: TraceQuery): Lists {
  const { traces, trace_tags: traceTags } = statement.names
  const under = (value: string | undefined) => {
    const text = value === undefined ? undefined : `${statement.bind(value)}::text`
    return (list: string) => (text === undefined ? list : hashInSql(text, list))
  }
  const [namedFamilyIn, ofUser, ofTag] = [under(name), under(userId), under(tag)] as const
  // If the query has both a tag and a user, only lists of families exist, so the name becomes a condition on a list's
  // rows.
  const isBeside = name !== undefined && tag !== undefined && userId !== undefined
  const isFamily = name === undefined || isBeside
  const base = isFamily ? 'family' : 'named_family'
  const column = userId === undefined ? base : `user_${base}`
  const [table, listed] =
    tag === undefined ? [traces, column] : [traceTags, userId === undefined ? `tag_${base}` : 'tag_user']
  const ofRun = statement.ofRun(tag === undefined ? 'traces' : 'trace_tags')
  const ranked = sort === 'newest' ? '' : `and ${isRanked(base, sort)}`
  const named = (list: string) => (isBeside ? `and named_family = ${namedFamilyIn(list)}` : '')
  const nearest: Lists['nearest'] = (list, down, edge, limit, bound = '') => `
    select ${statement.column} as key, id from ${table}
    where ${statement.beyond(down, edge)} ${bound} and ${listed} = ${ofTag(ofUser(list))} ${ranked}
      ${named(list)} ${ofRun}
    ${statement.order(down)} limit ${limit}`
  const members: Lists['members'] = (list, limit, bound = '') => `
    select ${statement.column} as key, id from ${table}
    where project_id = $1 ${bound} and ${listed} = ${ofTag(ofUser(list))} ${named(list)} ${ofRun}
    order by started_at desc, id desc limit ${limit}`
  const row: Lists['row'] = found => {
    const place = `(${statement.column}, id)`
    const wanted = `(${found}.key, ${found}.id)`
    // The index of all the project's traces by duration or cost also contains traces that no ranking includes.
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

/**
 * Returns conditions for all three filters, whether set or not, so that the statement is the same for all combinations.
 */
export function familyFilters(statement: TraceStatement, query: TraceQuery): string {
  return FAMILY_FILTERS.map(column => {
    const value = statement.bind(query[column] ?? null)
    return `and (${value}::text is null or ${column} = ${value})`
  }).join(' ')
}
