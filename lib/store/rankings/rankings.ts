/**
 * The two rankings of a list: its slowest traces and its costliest traces. Each ranking is an index.
 *
 * A trace's position in a ranking does not depend on time, so each new trace goes to a different page of the index. If
 * many traces are stored, writing these pages accounts for most of the cost of recording (test/bench/RESULTS.md, "With
 * traces stored"). Only the top traces of a long list are therefore ranked, that is, indexed.
 *
 * A ranking's floor is a duration or a cost, stored in ranking_floors. Traces below the floor need not be indexed. The
 * bits of the column `ranked`, in a trace and its tags, show which rankings include the row. A page that begins above
 * the floor is read from the index; deeper pages are found without rankings (lib/store/lists/trace-depth.ts).
 *
 * Floors only rise, and writers use only committed floors. A reader that sees an unranked trace therefore also sees the
 * floor that excluded the trace.
 */
import type { Sql } from 'postgres'
import { tagListsInSql } from '../../rows/list-numbers.ts'
import type { Sort } from '../lists/order.ts'

export type Ranking = Exclude<Sort, 'newest'>
export const RANKINGS: readonly Ranking[] = ['slowest', 'costliest']

/** Bits of `ranked`, in traces and in trace_tags. */
export const RANKED = { family: { slowest: 1, costliest: 2 }, named_family: { slowest: 4, costliest: 8 } } as const
/** Value of `ranked` for a row in all four rankings; the column's default. */
export const RANKED_IN_ALL = 15

export const RANKING_COLUMNS: Readonly<Record<Ranking, string>> = { slowest: 'duration_ms', costliest: 'cost_usd' }

/**
 * Returns the condition of a ranking's partial index. PostgreSQL uses the index only for queries with the same
 * condition.
 */
export const isRanked = (base: keyof typeof RANKED, ranking: Ranking): string =>
  `${RANKING_COLUMNS[ranking]} is not null and (ranked & ${RANKED[base][ranking]}) <> 0`

/** A ranking of more than `most` traces is cut to its top `kept` traces. */
export interface RankingSize {
  readonly most: number
  readonly kept: number
}

/** A cut ranking fills 100 list pages of 50 traces. `most` bounds the number of index entries that a cut reads. */
export const RANKING_SIZE: RankingSize = { most: 20_000, kept: 5_000 }

/** A list: the rows of `table` whose column for `base` contains the number `list`. */
export interface RankedList {
  readonly table: 'traces' | 'trace_tags'
  readonly base: keyof typeof RANKED
  /** A 64-bit integer, as a string. */
  readonly list: string
}

/**
 * A list is frequent if at least `least` of the project's newest traces belong to the list. `traces` is the number of
 * newest traces examined.
 */
const SAMPLE = { traces: 2_000, least: 4 }

export async function findFrequentLists(sql: Sql, projectId: number): Promise<RankedList[]> {
  const { tag_family: tagFamily, tag_named_family: tagNamedFamily } = tagListsInSql('own.tag', {
    family: 'family',
    namedFamily: 'named_family',
    userFamily: 'family'
  })
  return sql.unsafe<RankedList[]>(
    `with newest as materialized (
      select family, named_family, tags from traces where project_id = $1 order by started_at desc, id desc limit ${SAMPLE.traces}
    )
    select "table", base, list::text from (
      select 'traces' as "table", 'family' as base, family as list from newest
      union all select 'traces', 'named_family', named_family from newest
      union all select 'trace_tags', 'family', ${tagFamily} from newest, unnest(tags) as own (tag)
      union all select 'trace_tags', 'named_family', ${tagNamedFamily} from newest, unnest(tags) as own (tag)
    ) listed group by "table", base, list having count(*) >= ${SAMPLE.least}`,
    [projectId]
  )
}

/**
 * Raises a list's ranking floor if the ranking is too long. A writer uses the old floor until it next reads the floors.
 */
export async function cutRanking(
  sql: Sql,
  projectId: number,
  { table, base, list }: RankedList,
  ranking: Ranking,
  { most, kept }: RankingSize = RANKING_SIZE
): Promise<void> {
  const column = RANKING_COLUMNS[ranking]
  const listed = table === 'traces' ? base : `tag_${base}`
  // Two statements are used, because not every server accepts an insert from a large select. Floors only rise, so a
  // concurrent write between the two statements is harmless.
  const [lowest] = await sql.unsafe<{ key: number }[]>(
    `with top as materialized (
      select ${column} as key from ${table} where project_id = $1 and ${listed} = $2 and ${isRanked(base, ranking)}
        and ${column} >= coalesce((select ${column} from ranking_floors where project_id = $1 and list = $2), 0)
      order by ${column} desc, id desc limit ${most} + 1
    )
    select key from (select key from top order by key desc offset ${kept} limit 1) lowest
    where (select count(*) from top) > ${most}`,
    [projectId, list]
  )
  if (lowest === undefined) return
  await sql.unsafe(
    `insert into ranking_floors as f (project_id, list, ${column}) values ($1, $2, $3)
    on conflict (project_id, list) do update set ${column} = greatest(f.${column}, excluded.${column})`,
    [projectId, list, lowest.key]
  )
}
