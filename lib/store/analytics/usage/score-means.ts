/**
 * Adds scores to sums that were read from the traces (exact.ts): each trace's newest score with each name. Booleans
 * count as 0 and 1. Categories are only counted.
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../../database/tables.ts'
import { MOST_SCORE_NAMES, type UsageScore } from '../../../schema/history/usage.ts'
import { MAX_SCORES } from '../../../schema/input.ts'
import { allAnswered } from '../../transactions.ts'
import { foundTraces, itemsOf, ofPeriod, type UsageAsked } from './exact.ts'
import { msOf, startInSql } from './marks.ts'
import { findMatching, MOST_EXACT } from './matching.ts'
import { groupsByRow, isUnlisted, listedKeys, type PeriodSums, type SameGroup } from './rows.ts'

/** Maximum number of scores that are read. */
const MOST_SCORES = 200_000

type ScoreRow = UsageScore & SameGroup

/** Returns the sums with scores; undefined if the period has too many scores. */
export async function withScores(
  sql: Sql,
  projectId: number,
  sums: PeriodSums,
  asked: UsageAsked,
  names: TableNames = SCHEMA_NAMES
): Promise<PeriodSums | undefined> {
  const { filters } = asked
  const seqs = filters && (await findMatching(sql, projectId, { ...asked, filters }, names, MOST_EXACT.traces))
  if (filters !== undefined && seqs === undefined) return undefined
  const values = [projectId, asked.from, asked.to]
  const list = seqs === undefined ? [] : [`{${seqs.join(',')}}`]
  const traces = ofPeriod(names, list.length > 0 ? '$4' : undefined)
  const [{ scores }] = await sql.unsafe<[{ scores: number }]>(
    `select coalesce(sum(t.score_count), 0)::float8 as scores from ${traces}`,
    [...values, ...list] as never[],
    { prepare: true }
  )
  if (scores > MOST_SCORES) return undefined
  const listed = listedKeys(sums)
  const read = async (of: UsageAsked): Promise<ScoreRow[]> =>
    sql.unsafe<ScoreRow[]>(
      statementOf(names, of, list.length > 0 ? '$7' : undefined),
      [...values, of.split?.field === 'tag' ? of.split.tagKey : '', ...listed, ...list] as never[],
      { prepare: true }
    )
  const whole: UsageAsked = { ...asked, split: undefined, interval: 'none' }
  const [ofAll = [], ofRows = []] = await allAnswered([read(whole), read(asked)])
  const groupsOf = groupsByRow(ofRows)
  return {
    ...sums,
    total: { ...sums.total, scores: mostOf(ofAll) },
    rows: sums.rows.map(row => ({ ...row, scores: mostOf(groupsOf(row)) }))
  }
}

/** Returns the scores of the names with the most scores, by name. */
const mostOf = (scores: readonly ScoreRow[]): UsageScore[] =>
  scores
    .toSorted((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1))
    .slice(0, MOST_SCORE_NAMES)
    .map(({ name, count, mean }) => ({ name, count, mean }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))

/**
 * Parameters 1 to 3 are those of `ofPeriod`; 4 is the tag's key, and 5 and 6 the listed keys. The `order by` of the
 * inner query makes PostgreSQL use the primary key of scores.
 */
function statementOf(names: TableNames, { split, interval }: UsageAsked, seqs: string | undefined): string {
  return `
  with ${foundTraces(names, `${ofPeriod(names, seqs)} and t.score_count > 0`, 'false')},
  items as (${itemsOf(names, split)}),
  labelled as (
    select ${startInSql(interval, 'started_at')} as start, key, seq,
      ${isUnlisted('$5', '$6')} as is_other
    from items where $4::text is not null
  )
  select ${msOf('start')} as start, case when is_other then null else key end as key, is_other as "isOther", s.name,
    count(*)::float8 as count, avg(s.number)::float8 as mean
  from labelled l cross join lateral (
    select distinct on (name) name, case when data_type = 'numeric' then value::text::float8
      when data_type = 'boolean' then (value::text = 'true')::int::float8 end as number
    from (
      select * from ${names.scores} where project_id = $1 and trace_seq = l.seq
      order by trace_seq, seq limit ${MAX_SCORES}
    ) own
    order by name, created_at desc, seq desc
  ) s
  group by 1, 2, 3, 4`
}
