/**
 * The rankings of a list: its slowest and its costliest traces, each found along an index. Where in it a trace stands has
 * nothing to do with time, so that every new one goes to another page; with 20 million spans stored, those pages are most of
 * what recording costs. So of a long list only the top is ranked. Its floor, a row of ranking_floors, says from where down
 * a trace need not be in the index; the row of a trace, or of its tag, says in bits which of its rankings it is in. Pages
 * that begin above the floor are read as of any list, deeper ones otherwise (lib/store/lists/trace-depth.ts).
 *
 * Floors only rise, and are used by writers when they are committed: whoever sees a trace that is not ranked sees the
 * floor that it lies below.
 */
import type { Sql } from 'postgres'
import { tagListsInSql } from '../../rows/list-numbers.ts'
import type { Sort } from '../lists/order.ts'

export type Ranking = Exclude<Sort, 'newest'>
export const RANKINGS: readonly Ranking[] = ['slowest', 'costliest']

/** The bits of `ranked`, in traces and in trace_tags. */
export const RANKED = {
  family: { slowest: 1, costliest: 2 },
  named_family: { slowest: 4, costliest: 8 }
} as const
/** In all of them: the default of the column. */
export const RANKED_IN_ALL = 15

export const RANKING_COLUMNS: Readonly<Record<Ranking, string>> = { slowest: 'duration_ms', costliest: 'cost_usd' }

/** The condition of the index of a ranking; queries must have it as it stands there. */
export const isRanked = (base: keyof typeof RANKED, ranking: Ranking): string =>
  `${RANKING_COLUMNS[ranking]} is not null and (ranked & ${RANKED[base][ranking]}) <> 0`

/** What `ranked` is, in SQL, of a row that is in these lists: expressions. */
export function rankedInSql(
  projectId: string,
  lists: { readonly family: string; readonly named_family: string },
  keys: { readonly duration: string; readonly cost: string }
): string {
  const below = (base: keyof typeof RANKED) => {
    const { slowest, costliest } = RANKED[base]
    return `coalesce((select case when f.duration_ms > ${keys.duration} then ${slowest} else 0 end
        + case when f.cost_usd > ${keys.cost} then ${costliest} else 0 end
      from ranking_floors f where f.project_id = ${projectId} and f.list = ${lists[base]}), 0)`
  }
  return `(${RANKED_IN_ALL} - ${below('family')} - ${below('named_family')})::smallint`
}

/** What traces are ranked by; or the floors of a list, where null is that everything is ranked. */
export interface RankingKeys {
  readonly durationMs: number | null
  readonly costUsd: number | null
}

/** When a ranking is cut, and to how many. */
export interface RankingSize {
  readonly most: number
  readonly kept: number
}

/** A hundred pages of 50; cutting reads as many index entries as there are at most. */
export const RANKING_SIZE: RankingSize = { most: 20_000, kept: 5_000 }

/** A list, as a condition says which. */
export interface RankedList {
  readonly table: 'traces' | 'trace_tags'
  readonly base: keyof typeof RANKED
  /** A number of 64 bits, as text. */
  readonly list: string
}

/** Of so many of a project's newest traces, the lists that so many of them are in are looked at. */
const SAMPLE = { traces: 2_000, least: 4 }

/** The lists of a project that many of its newest traces are in. */
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

/** Raises the floor of a list's ranking where it has become long. Whoever writes meanwhile ranks by the floor of before. */
export async function cutRanking(
  sql: Sql,
  projectId: number,
  { table, base, list }: RankedList,
  ranking: Ranking,
  { most, kept }: RankingSize = RANKING_SIZE
): Promise<void> {
  const column = RANKING_COLUMNS[ranking]
  const listed = table === 'traces' ? base : `tag_${base}`
  await sql.unsafe(
    `with top as materialized (
      select ${column} as key from ${table} where project_id = $1 and ${listed} = $2 and ${isRanked(base, ranking)}
        and ${column} >= coalesce((select ${column} from ranking_floors where project_id = $1 and list = $2), 0)
      order by ${column} desc, id desc limit ${most} + 1
    )
    insert into ranking_floors as f (project_id, list, ${column})
    select $1, $2, key from (select key from top order by key desc offset ${kept} limit 1) lowest
    where (select count(*) from top) > ${most}
    on conflict (project_id, list) do update set ${column} = greatest(f.${column}, excluded.${column})`,
    [projectId, list]
  )
}
