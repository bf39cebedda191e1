/** Reads a project's scores over time, by name. */
import type { Sql } from 'postgres'
import { type Period, type PeriodStep, startsOf } from '../../../rollups/period.ts'
import { MAX_SCORES } from '../../../schema/input.ts'
import { type ScoreGroup, type ScoreSummary, summariseScores } from './summary.ts'

/**
 * Maximum number of scores counted in a range, newest first. The limit is lower if an environment is given, because
 * looking up each score's trace makes the query take four times as long.
 */
export const MOST_COUNTED_SCORES = 20_000
export const MOST_COUNTED_OF_ENVIRONMENT = 5000

export interface ScoresQuery {
  readonly name?: string | undefined
  /** Environment in lower case. */
  readonly environment?: string | undefined
  /** Whether `from` and `to` are bounds of the trace's start instead of the score's creation. */
  readonly byTrace?: boolean | undefined
  /** Inclusive bounds, in milliseconds since 1970. */
  readonly from: number
  readonly to: number
}

export interface SeriesQuery extends ScoresQuery {
  /** Divides the range from `from` to `to` into steps. */
  readonly period: Period
}

export interface ScoreSeries {
  readonly from: string
  readonly to: string
  readonly step: PeriodStep
  readonly offset: number
  readonly starts: readonly string[]
  readonly names: readonly ScoreSummary[]
  /** Number of scores counted, if the range may contain more; otherwise null. */
  readonly newest: number | null
}

/** Separates JSON values, which cannot contain this character. */
const SEPARATOR = '\u0001'

/** `name` is null if none of the examined scores is counted. */
type Row = Examined & ((Omit<ScoreGroup, 'values'> & { readonly values: string }) | { readonly name: null })

/** Number of examined scores, and whether the range may contain more. */
export interface Examined {
  readonly examined: number
  readonly isFull: boolean
}

const isoOf = (ms: number): string => new Date(ms).toISOString()

const mostOf = ({ byTrace, environment }: ScoresQuery): number =>
  byTrace || environment === undefined ? MOST_COUNTED_SCORES : MOST_COUNTED_OF_ENVIRONMENT

/**
 * Returns SQL for queries in a `with` clause: `examined` yields a bounded number of the newest matching scores, each
 * with its time as `at`, and `counted` yields the examined scores in the environment. `bind` adds a parameter; $1 is
 * the project.
 */
export function newestScores(query: ScoresQuery, bind: (value: string | number) => string): string {
  const { name, environment, from, to } = query
  if (query.byTrace) return scoresOfNewestTraces(query, bind)
  // As in score-list.ts, the query for the trace has `order by` and `limit` so that PostgreSQL uses the index on `seq`.
  const inEnvironment =
    environment === undefined
      ? ''
      : `where coalesce((
          select true from (
            select environment from traces
            where project_id = $1 and seq >= s.trace_seq and seq <= s.trace_seq order by seq limit 1
          ) t where t.environment = ${bind(environment)}
        ), false)`
  return `examined as materialized (
      select s.*, s.created_at as at from scores s
      where s.project_id = $1 ${name === undefined ? '' : `and s.name = ${bind(name)}`}
        and s.created_at >= ${bind(isoOf(from))}::timestamptz and s.created_at <= ${bind(isoOf(to))}::timestamptz
      order by s.created_at desc, s.seq desc
      limit ${bind(mostOf(query))}
    ), counted as materialized (select s.* from examined s ${inEnvironment})`
}

/** As in score-list.ts, `order by` makes PostgreSQL use the primary key of scores. */
function scoresOfNewestTraces(query: ScoresQuery, bind: (value: string | number) => string): string {
  const { name, environment, from, to } = query
  return `looked as materialized (
      select seq, started_at, environment, score_count from traces
      where project_id = $1 and started_at >= ${bind(isoOf(from))}::timestamptz
        and started_at <= ${bind(isoOf(to))}::timestamptz
      order by started_at desc, id desc limit ${MOST_COUNTED_SCORES}
    ), examined as materialized (
      select s.*, l.started_at as at from looked l cross join lateral (
        select * from scores where project_id = $1 and trace_seq = l.seq order by trace_seq, seq limit ${MAX_SCORES}
      ) s
      where l.score_count > 0 ${name === undefined ? '' : `and s.name = ${bind(name)}`}
        ${environment === undefined ? '' : `and l.environment = ${bind(environment)}`}
      order by l.started_at desc, s.seq desc
      limit ${bind(mostOf(query))}
    ), counted as materialized (select * from examined)`
}

/** Returns SQL for one row of type Examined. */
export const examinedInSql = (query: ScoresQuery): string => `(
    select count(*)::int as examined, count(*) >= ${mostOf(query)}
      ${query.byTrace ? `or (select count(*) from looked) >= ${MOST_COUNTED_SCORES}` : ''} as "isFull"
    from examined
  )`

export async function readScoreSeries(sql: Sql, projectId: number, query: SeriesQuery): Promise<ScoreSeries> {
  const { from, to, period } = query
  const { step, offset } = period
  const starts = startsOf(period)
  const values: (string | number | number[])[] = [projectId]
  const bind = (value: string | number | number[]) => `$${values.push(value)}`
  const rows = await sql.unsafe<Row[]>(
    `with ${newestScores(query, bind)}
    select name, data_type as "dataType", source,
      width_bucket(extract(epoch from at)::float8 * 1000, ${bind(starts)}::float8[]) - 1 as step,
      string_agg(value::text, E'\\x01') as values, e.examined, e."isFull"
    from ${examinedInSql(query)} e left join counted on true
    group by 1, 2, 3, 4, e.examined, e."isFull"`,
    values,
    { prepare: true }
  )
  const groups = rows.flatMap(row =>
    row.name === null ? [] : [{ ...row, values: row.values.split(SEPARATOR).map(each => JSON.parse(each)) }]
  )
  const { examined, isFull } = rows[0]!
  return {
    from: isoOf(from),
    to: isoOf(to),
    step,
    offset,
    starts: starts.map(isoOf),
    names: summariseScores(groups, starts.length),
    newest: isFull ? examined : null
  }
}
