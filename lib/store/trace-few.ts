/**
 * Pages of the slowest and costliest traces of a tag and a name together. No index has these in order: that would be two
 * entries more for each tag of each trace, for the rarest of questions. But one knows which they are, with what they are
 * sorted by. So of each kind that the name makes, the traces with the tag are sorted where they are few; and where they are
 * many, a walk along the tag's list of the family meets one soon.
 */
import type { Sql } from 'postgres'
import type { Edge } from '../cursor.ts'
import { behindEdge, type Found, type Start, type TraceQuery } from './trace-list.ts'
import { familyFilters, TraceStatement } from './trace-statement.ts'

/** To read so many takes 0.2 ms. Of more, a walk along a million meets a page of 50 within 50,000. */
export const FEW = 1000

export async function sortFew(
  sql: Sql,
  projectId: number,
  query: TraceQuery,
  { edge, down, isCursor, limit }: Start,
  mostSorted: number
): Promise<Found> {
  const statement = new TraceStatement(projectId, query)
  const { column } = statement
  const under = (value: string | undefined, list: string) =>
    `hashtextextended(${statement.bind(value as string)}::text, ${list})`
  const few = statement.bind(mostSorted)
  /** The nearest to an edge, of both. */
  const nearest = (down: boolean, edge: Edge, wanted: string) => {
    const beyond = statement.beyond(down, edge)
    const order = statement.order(down)
    return `select * from (
      (select kind, ${column}, id from found where times <= ${few} and ${beyond} ${order} limit ${wanted})
      union all
      select many.kind, m.${column}, m.id from (select distinct family, kind from found where times > ${few}) many
      cross join lateral (
        select ${column}, id from trace_tags
        where ${beyond} and tag_family = ${under(query.tag, 'many.family')} and kind = many.kind ${order} limit ${wanted}
      ) m
    ) m ${order} limit ${wanted}`
  }
  const page = statement.pageOfRows(`(
    select t.* from (${nearest(down, edge, statement.bind(limit + 1))}) m
    cross join lateral (${statement.rowAlong('kind', 'm.kind', `m.${column}`, 'm.id')}) t
    ${statement.order(down, `m.${column}`, 'm.id')})`)
  const behind = isCursor ? statement.hasRow(nearest(!down, behindEdge(edge), '1')) : 'false'
  const [found] = await sql.unsafe<[Found]>(
    `with kinds as materialized (
      select family, ${under(query.name, 'family')} as kind from trace_families
      where project_id = $1 ${familyFilters(statement, query)}
    ), found as materialized (
      select $1::int as project_id, kinds.family, kinds.kind, m.*, count(*) over (partition by kinds.kind) as times
      from kinds cross join lateral (
        select ${column}, id from trace_tags where project_id = $1 and tag_kind = ${under(query.tag, 'kinds.kind')}
        order by started_at desc, id desc limit ${few} + 1
      ) m
    )
    select ${page} as page, ${behind} as behind`,
    statement.values,
    { prepare: true }
  )
  return found
}
