/** Reads a project's scores over time, by name. */
import type { Sql } from 'postgres'
import { type Period, type PeriodStep, startsOf } from '../../../rollups/period.ts'
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
  /** Inclusive bounds of createdAt, in milliseconds since 1970. */
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
type Row = { readonly examined: number } & (
  | (Omit<ScoreGroup, 'values'> & { readonly values: string })
  | { readonly name: null }
)

const isoOf = (ms: number): string => new Date(ms).toISOString()

/**
 * Returns SQL for two queries in a `with` clause: `examined` yields a bounded number of the newest matching scores, and
 * `counted` yields the examined scores in the environment. `bind` adds a parameter; $1 is the project.
 */
export function newestScores(query: ScoresQuery, bind: (value: string | number) => string): string {
  const { name, environment, from, to } = query
  const most = environment === undefined ? MOST_COUNTED_SCORES : MOST_COUNTED_OF_ENVIRONMENT
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
      select s.* from scores s
      where s.project_id = $1 ${name === undefined ? '' : `and s.name = ${bind(name)}`}
        and s.created_at >= ${bind(isoOf(from))}::timestamptz and s.created_at <= ${bind(isoOf(to))}::timestamptz
      order by s.created_at desc, s.seq desc
      limit ${bind(most)}
    ), counted as materialized (select s.* from examined s ${inEnvironment})`
}

/** Whether the examined scores reached their limit, so that the range may contain more. */
export const isFull = ({ environment }: Pick<ScoresQuery, 'environment'>, examined: number): boolean =>
  examined >= (environment === undefined ? MOST_COUNTED_SCORES : MOST_COUNTED_OF_ENVIRONMENT)

export async function readScoreSeries(sql: Sql, projectId: number, query: SeriesQuery): Promise<ScoreSeries> {
  const { from, to, period } = query
  const { step, offset } = period
  const starts = startsOf(period)
  const values: (string | number | number[])[] = [projectId]
  const bind = (value: string | number | number[]) => `$${values.push(value)}`
  const rows = await sql.unsafe<Row[]>(
    `with ${newestScores(query, bind)}
    select name, data_type as "dataType", source,
      width_bucket(extract(epoch from created_at)::float8 * 1000, ${bind(starts)}::float8[]) - 1 as step,
      string_agg(value::text, E'\\x01') as values, e.examined
    from (select count(*)::int as examined from examined) e left join counted on true
    group by 1, 2, 3, 4, e.examined`,
    values,
    { prepare: true }
  )
  const groups = rows.flatMap(row =>
    row.name === null ? [] : [{ ...row, values: row.values.split(SEPARATOR).map(each => JSON.parse(each)) }]
  )
  const { examined } = rows[0]!
  return {
    from: isoOf(from),
    to: isoOf(to),
    step,
    offset,
    starts: starts.map(isoOf),
    names: summariseScores(groups, starts.length),
    newest: isFull(query, examined) ? examined : null
  }
}
