/** Finds pages of traces by walking an index in the order of the list. */
import type { Edge } from './cursor.ts'
import { behindEdge } from './order.ts'
import type { FoundTraces, PageSearch } from './trace-query.ts'
import { TraceStatement } from './trace-statement.ts'

/** Reads the page, checking any filters on each trace along the way. */
export async function walkTraces(search: PageSearch): Promise<FoundTraces> {
  const { statement, prepare, page, behind } = walkOf(search)
  const [found] = await search.sql.unsafe<[FoundTraces]>(
    `select ${statement.pageOfRows(`(${page()})`)} as page, ${behind} as behind`,
    statement.values,
    { prepare }
  )
  return found
}

/**
 * Reads the page by walking past at most `most` traces. Returns undefined if the page is not full although the walk has
 * more traces.
 */
export async function walkNear(search: PageSearch, most: number): Promise<FoundTraces | undefined> {
  const { statement, prepare, wanted, order, page, walked, behind } = walkOf(search)
  const bound = statement.bind(most)
  const [{ isWhole, ...found }] = await search.sql.unsafe<[FoundTraces & { readonly isWhole: boolean }]>(
    `with picked as materialized (${page(bound)})
    select case when (select count(*) from picked) = ${wanted} then true
        else (select count(*) from (${walked(bound)}) walked) < ${bound} end as "isWhole",
      ${statement.pageOfRows(`(select * from picked ${order})`)} as page, ${behind} as behind`,
    statement.values,
    { prepare }
  )
  return isWhole ? found : undefined
}

/**
 * Builds the pieces of the statement. `page` takes the maximum number of traces to examine; by default, the number is
 * unlimited.
 */
function walkOf({ projectId, query, start: { edge, down, isCursor, limit }, names, rowsText }: PageSearch) {
  const statement = new TraceStatement(projectId, query, names, rowsText)
  const filters = statement.columnFilters()
  const next = (columns: string, down: boolean, edge: Edge) =>
    `select ${columns} from ${names.traces} where ${statement.beyond(down, edge)}
      ${statement.readsRuns ? 'and is_run' : ''}`
  const walk = (down: boolean, edge: Edge, limit: string, most?: string) => {
    const all = next('*', down, edge)
    const looked =
      most === undefined ? all : `select * from (${all} ${statement.order(down)} limit ${most}) next where true`
    return `${looked} ${filters.join(' ')} ${statement.order(down)} limit ${limit}`
  }
  // One trace beyond the limit shows whether there is a next page; one trace behind the edge shows whether there is a
  // previous page.
  const wanted = statement.bind(limit + 1)
  return {
    statement,
    // Statements with two or more filters are not cached, because the filters have too many combinations.
    prepare: filters.length < 2 && rowsText === undefined,
    wanted,
    order: statement.order(down),
    page: (most?: string) => walk(down, edge, wanted, most),
    /** Query for the traces that `page(most)` examines. */
    walked: (most: string) => `${next('', down, edge)} ${statement.order(down)} limit ${most}`,
    behind: isCursor ? statement.hasRow(walk(!down, behindEdge(edge), '1')) : 'false'
  }
}
