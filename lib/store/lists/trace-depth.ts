/**
 * Finds pages that would take too long to merge (lib/store/lists/trace-merge.ts). First walks a short distance along an
 * index, then sorts all members of a list if there are few. There are two kinds of such pages.
 *
 * Pages of the slowest and costliest traces that lie deeper than a ranking reaches (lib/store/rankings/rankings.ts), or
 * that a ranking cannot fill because traces at its top were deleted:
 *
 * 1. Walks a short distance along the index of all the project's slowest or costliest traces, which has no floor. If
 *    many traces match, the traces found fill the page.
 * 2. If few traces match, reads and sorts all matching traces.
 * 3. Otherwise, walks the same index without a limit until the page is full. If one trace in 1,000 matches, a page of
 *    50 traces requires examining 50,000 traces.
 *
 * Pages of lists that show only runs (lib/trace/runs.ts), if other filters are set or the order is not `newest`. The
 * lists of families do not distinguish runs from other traces, so if few traces are runs, a merge would check thousands
 * of traces for each run. Therefore, a bounded number of traces is searched first:
 *
 * - `newest`: walks along the index of runs.
 * - The other orders: walks along the index of all the project's slowest or costliest traces, where runs are frequent
 *   near the top. If the page is still not full, sorts all of the project's runs, if they are few.
 *
 * If the page is not found, the project has many runs, few of which match. The page is then found by its other filters
 * (lib/store/lists/trace-list.ts).
 */
import { familyFilters, findLists } from './trace-merge.ts'
import type { FoundTraces, PageSearch } from './trace-query.ts'
import { TraceStatement } from './trace-statement.ts'
import { walkNear, walkTraces } from './trace-walk.ts'

/**
 * Maximum number of traces to walk past in a ranking (`near`), in which neighbouring traces lie on different pages of
 * the table, and maximum number of matching traces to sort (`few`).
 */
export const DEPTH = { near: 2_000, few: 2_000 }

/**
 * Maximum number of runs that are walked along or sorted. PostgreSQL takes a quarter of a microsecond for each
 * (test/bench/RESULTS.md, "Runs among other traces").
 */
export const MOST_RUNS = 10_000

/** Reads a page below a ranking's floor. */
export async function readDeep(search: PageSearch, { near, few }: typeof DEPTH): Promise<FoundTraces> {
  return (await walkNear(search, near)) ?? (await sortFew(search, few)) ?? walkTraces(search)
}

/** Reads a page of runs. Returns undefined if the examined traces do not hold the whole page. */
export async function findAmongRuns(search: PageSearch, runs: number, near: number): Promise<FoundTraces | undefined> {
  if (search.query.sort === 'newest') return walkNear(search, runs)
  return (await walkNear(search, near)) ?? (await sortRuns(search, runs))
}

/** Reads the page by sorting all matching traces. Returns undefined if more than `few` match. */
const sortFew = (search: PageSearch, few: number) =>
  sortMembers(search, few, (statement, bound) => {
    const { list, members, row } = findLists(statement, search.query)
    return {
      members: `lists as materialized (
        select ${list} as list from ${search.names.trace_families}
        where project_id = $1 ${familyFilters(statement, search.query)}
      ), members as materialized (
        select lists.list, m.key, m.id from lists cross join lateral (${members('lists.list', `${bound} + 1`)}) m
        limit ${bound} + 1
      )`,
      fits: 'key is not null',
      row: row('m'),
      prepare: true
    }
  })

/** Reads the page by sorting all of the project's runs. Returns undefined if there are more than `most` runs. */
const sortRuns = (search: PageSearch, most: number) =>
  sortMembers(search, most, (statement, bound) => {
    const { traces } = search.names
    const filters = statement.columnFilters()
    return {
      members: `members as materialized (
        select ${statement.column} as key, id, (true ${statement.hasKey} ${filters.join(' ')}) as fits
        from ${traces} where project_id = $1 and is_run order by started_at desc, id desc limit ${bound} + 1
      )`,
      fits: 'fits',
      row: `select * from ${traces} where project_id = $1 and id = m.id limit 1`,
      prepare: filters.length < 2
    }
  })

export interface MemberTraces {
  /** Steps, the last of which is `members` (with the columns `key` and `id`, and at most one row beyond the bound). */
  readonly members: string
  /** Condition for members that may be on the page. */
  readonly fits: string
  /** Query for the trace of the member m. */
  readonly row: string
  /** Expression for the number that the bound limits; by default, the number of members. */
  readonly count?: string
  readonly prepare: boolean
}

/** Reads the page by sorting members. Returns undefined if there are more than `most`. */
export async function sortMembers(
  { sql, projectId, query, start: { edge, down, isCursor, limit }, names, rowsText }: PageSearch,
  most: number,
  membersOf: (statement: TraceStatement, bound: string) => MemberTraces
): Promise<FoundTraces | undefined> {
  const statement = new TraceStatement(projectId, query, names, rowsText)
  const bound = statement.bind(most)
  const { members, fits, row, prepare, count = '(select count(*) from members)' } = membersOf(statement, bound)
  const wanted = statement.bind(limit + 1)
  const order = statement.order(down, 'm.key', 'm.id')
  const [key, tie] = [statement.bind(edge.key), statement.bind(edge.tie)]
  const ahead = `(key, id) ${down ? '<' : '>'}${edge.inclusive ? '=' : ''} (${key}, ${tie})`
  const page = statement.pageOfRows(`(select t.* from picked m cross join lateral (${row}) t ${order})`)
  const behind = isCursor ? `exists (select from members where ${fits} and not (${ahead}))` : 'false'
  const [{ areFew, ...found }] = await sql.unsafe<[FoundTraces & { readonly areFew: boolean }]>(
    `with ${members}, picked as materialized (
      select * from members m where ${count} <= ${bound} and ${fits} and ${ahead} ${order} limit ${wanted}
    )
    select ${count} <= ${bound} as "areFew", ${page} as page, ${behind} as behind`,
    statement.values,
    { prepare: prepare && rowsText === undefined }
  )
  return areFew ? found : undefined
}
