/**
 * Pages of traces that no index has in the order asked for: several filters, or one under another sort than newest.
 *
 * A structure that had each of these in order would be an index for every pair of a filter and a sort, or of two filters,
 * and most of them would grow at random places. Instead:
 *
 * 1. A short walk along the order, which fills the page where a fortieth of the traces match.
 * 2. Newest first, and without a tag, the kinds that match are merged, for each has an order of its own.
 * 3. Where the traces of those kinds are few, or those of the tag, they are collected and sorted.
 * 4. Otherwise the walk goes on. As a rule it ends soon, for what is not few is not rare: in ten million traces, a page of
 *    50 is full after 51,000 of them, where matches are spread over the order. Where they are not (a tag and an environment
 *    that are both frequent and never meet), it looks at all traces of the tag, or of the project under another sort.
 *
 * Measured with a million traces, under other load, in us of PostgreSQL's CPU for a page: newest 900; a walk that fills it
 * 1,500; a rare name, slowest first, 4,600; two filters that 0.8 % match, 13,400 collected. Before there were kinds, the
 * last two looked at the whole project.
 */
import type { Sql } from 'postgres'
import type { Edge } from '../cursor.ts'
import { readSummaries } from './summary-page.ts'
import { findKinds, KIND_FILTERS } from './trace-kinds.ts'
import { behindEdge, type Found, type Start, type TraceQuery } from './trace-list.ts'
import { TraceStatement } from './trace-statement.ts'

/** How far each way is tried before the next. */
export interface SearchBounds {
  /** Traces that the short walk looks at. */
  readonly shortWalk: number
  /** The same where it must look into the table for tags. */
  readonly shortTagWalk: number
  /** The most matches that are collected and sorted. */
  readonly few: number
  /** The most kinds that are looked for by their numbers. */
  readonly kinds: number
}
export const SEARCH_BOUNDS: SearchBounds = { shortWalk: 2000, shortTagWalk: 250, few: 10_000, kinds: 2000 }

/** More than all. */
const LONG_WALK = Number.MAX_SAFE_INTEGER
const NO_KINDS = '{}'

/** What a search is for, and what is known of it. */
interface Search extends Start {
  readonly bounds: SearchBounds
  readonly projectId: number
  readonly query: TraceQuery
  /** The kinds that the filters want, as the text of an array; undefined: any, or too many to name. */
  readonly kinds: string | undefined
  /** Too many: what matches must be seen in the traces themselves. */
  readonly byColumns: boolean
}

/** Reads the page by whichever way finds it soon. */
export async function searchTraces(
  sql: Sql,
  projectId: number,
  query: TraceQuery,
  start: Start,
  bounds: SearchBounds
): Promise<Found> {
  const isOfKinds = KIND_FILTERS.some(name => query[name] !== undefined)
  const kinds = isOfKinds ? await findKinds(sql, projectId, query, bounds.kinds) : undefined
  if (kinds === NO_KINDS) return { page: null, behind: false }
  const search: Search = { ...start, bounds, projectId, query, kinds, byColumns: isOfKinds && kinds === undefined }
  const near = await walk(sql, search, looksForTags(search) ? bounds.shortTagWalk : bounds.shortWalk)
  if (isWhole(search, near)) return near
  if (kinds !== undefined && query.sort === 'newest' && query.tag === undefined) return merge(sql, search, kinds)
  return (
    (kinds !== undefined ? await collect(sql, search, ofKinds) : undefined) ??
    (query.tag !== undefined && !search.byColumns ? await collect(sql, search, ofTag) : undefined) ??
    walk(sql, search, LONG_WALK)
  )
}

/** Whether a walk must look at each trace for its tags: newest first, the traces of a tag have an order of their own. */
function looksForTags({ query, byColumns }: Pick<Search, 'query' | 'byColumns'>): boolean {
  return query.tag !== undefined && query.sort !== 'newest' && !byColumns
}

/** Whether nothing is missing that lies further away. */
function isWhole({ limit, isCursor }: Start, { page, behind }: Found): boolean {
  return (behind || !isCursor) && readSummaries(page).length > limit
}

/** Looks at so many traces along the order, each way. The limit keeps the planner from looking for matches elsewhere. */
async function walk(sql: Sql, search: Search, length: number): Promise<Found> {
  const { projectId, query, edge, down, isCursor, limit, kinds, byColumns } = search
  const statement = new TraceStatement(projectId, query)
  const { column } = statement
  const tagOrder = query.tag !== undefined && query.sort === 'newest' && !byColumns
  const looksForTag = looksForTags(search)
  const source = tagOrder ? 'trace_tags' : 'traces'
  const columns = byColumns ? '*' : `${column}, id, kind${looksForTag ? ', tags' : ''}`
  const far = statement.bind(length)
  const filters: string[] = []
  if (kinds !== undefined) filters.push(isOneOf(statement.bind(kinds)))
  if (looksForTag) filters.push(`tags @> array[${statement.bind(query.tag!)}]`)
  if (byColumns) filters.push(`true ${statement.columnFilters()}`)
  const matches = (down: boolean, edge: Edge, limit: number) => `
    select ${column} as key, id from (
      select ${columns} from ${source}
      where ${statement.beyond(down, edge)} ${tagOrder ? `and tag = ${statement.bind(query.tag!)}` : ''}
      ${statement.order(down)} limit ${far}
    ) passed where ${filters.join(' and ')} limit ${statement.bind(limit)}`
  const page = statement.pageOfKeys(down, matches(down, edge, limit + 1))
  const behind = isCursor ? statement.hasRow(matches(!down, behindEdge(edge), 1)) : 'false'
  const [found] = await sql.unsafe<[Found]>(`select ${page} as page, ${behind} as behind`, statement.values, {
    prepare: !byColumns
  })
  return found
}

/** "is true" makes it a look into a hash: `any` of an array goes through it, and a join may lose the order. */
const isOneOf = (kinds: string): string => `(kind in (select unnest(${kinds}::bigint[]))) is true`

/** Newest first, each kind has an order of its own: the page is the nearest of what is nearest in each. */
async function merge(
  sql: Sql,
  { projectId, query, edge, down, isCursor, limit }: Search,
  kinds: string
): Promise<Found> {
  const statement = new TraceStatement(projectId, query)
  const wanted = statement.bind(kinds)
  const nearest = (down: boolean, edge: Edge, limit: number) => {
    const most = statement.bind(limit)
    return `select m.key, m.id from unnest(${wanted}::bigint[]) wanted (kind) cross join lateral (
        select started_at as key, id from traces where kind = wanted.kind and ${statement.beyond(down, edge)}
        ${statement.order(down)} limit ${most}
      ) m ${statement.order(down, 'm.key', 'm.id')} limit ${most}`
  }
  const page = statement.pageOfKeys(down, nearest(down, edge, limit + 1))
  const behind = isCursor ? statement.hasRow(nearest(!down, behindEdge(edge), 1)) : 'false'
  const [found] = await sql.unsafe<[Found]>(`select ${page} as page, ${behind} as behind`, statement.values, {
    prepare: true
  })
  return found
}

/** A query for candidates, and what follows it to let through those that match, as `sorted`. */
interface Candidates {
  /** (key, started_at, id, kind), in no order. */
  readonly all: string
  readonly matching: string
}

/** Collects and sorts all that match, among all candidates of a kind; undefined: those are too many. */
async function collect(
  sql: Sql,
  search: Search,
  candidates: (statement: TraceStatement, search: Search) => Candidates
): Promise<Found | undefined> {
  const { projectId, query, edge, down, isCursor, limit, bounds } = search
  const statement = new TraceStatement(projectId, query)
  const { all, matching } = candidates(statement, search)
  const side = (down: boolean, edge: Edge, limit: number) => `
    select sorted.key, sorted.id from (
      select * from few where (key, id) ${down ? '<' : '>'}${edge.inclusive ? '=' : ''}
        (${statement.bind(edge.key)}, ${statement.bind(edge.tie)}) ${statement.order(down, 'key')}
    ) sorted ${matching} limit ${statement.bind(limit)}`
  const page = statement.pageOfKeys(down, side(down, edge, limit + 1))
  const behind = isCursor ? statement.hasRow(side(!down, behindEdge(edge), 1)) : 'false'
  const [{ areFew, ...found }] = await sql.unsafe<[Found & { readonly areFew: boolean }]>(
    `with few as materialized (${all} limit ${bounds.few + 1}),
      size as materialized (select count(*) <= ${bounds.few} as fits from few)
    select fits as "areFew", case when fits then ${page} end as page, case when fits then ${behind} end as behind from size`,
    statement.values,
    { prepare: true }
  )
  return areFew ? found : undefined
}

/** Traces of the kinds; each is looked up among those of the tag, nearest the edge first, where there is a tag. */
function ofKinds(statement: TraceStatement, { query: { tag }, kinds, bounds }: Search): Candidates {
  const { column } = statement
  // One kind after the other, so that the planner cannot prefer another index.
  const all = `select m.* from unnest(${statement.bind(kinds!)}::bigint[]) wanted (kind) cross join lateral (
      select ${column} as key, started_at, id, kind from traces
      where kind = wanted.kind and ${statement.within()} limit ${bounds.few + 1}
    ) m`
  if (tag === undefined) return { all, matching: '' }
  const matching = `cross join lateral (
      select from trace_tags g where g.project_id = $1 and g.tag = ${statement.bind(tag)}
        and g.started_at = sorted.started_at and g.id = sorted.id limit 1
    ) tagged`
  return { all, matching }
}

/** Traces of the tag. */
function ofTag(statement: TraceStatement, { query: { tag }, kinds }: Search): Candidates {
  const all = `select ${statement.column} as key, started_at, id, kind from trace_tags
    where tag = ${statement.bind(tag!)} and ${statement.within()}`
  return { all, matching: kinds === undefined ? '' : `where ${isOneOf(statement.bind(kinds))}` }
}
