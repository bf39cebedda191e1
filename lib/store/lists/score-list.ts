/** Lists a project's scores (specification 4.14), newest first, with keyset pagination on (created_at, seq). */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { list } from '../answers/json-text.ts'
import { renderScore, type ScoreRow } from '../answers/score-json.ts'
import { SCORE_FIELDS } from '../trace/scores.ts'
import type { Edge } from './cursor.ts'
import { edgeBelow, SCORE_ORDER } from './order.ts'
import type { TraceFilters } from './trace-query.ts'

/** Maximum number of scores that a call examines when filtering without an index: by environment, value or source. */
export const MAX_EXAMINED = 1000

/** `environment` is that of the score's trace; `from` and `to` are inclusive bounds of createdAt. */
export interface ScoreQuery extends Pick<TraceFilters, 'name' | 'environment' | 'from' | 'to'> {
  readonly limit: number
  readonly after?: Edge | undefined
  readonly picked?: PickedScores | undefined
}

/** Filters that only the dashboard uses. */
export interface PickedScores {
  readonly source?: string | undefined
  /** The value as a string: a number, `true`, `false` or the category. */
  readonly value?: string | undefined
  /** Selects numbers from `min` (inclusive) to `below` (exclusive). */
  readonly min?: number | undefined
  readonly below?: number | undefined
}

export interface ScorePage {
  /** Scores, as a JSON array string. */
  readonly scores: string
  /** Edge at which the next page begins; undefined on the last page. */
  readonly next: Edge | undefined
}

interface Row extends ScoreRow {
  readonly seq: number
  /**
   * Id of the score's trace. Null in two rows that are not part of the page: the last examined score and the next
   * score.
   */
  readonly traceId: string | null
}

/**
 * Returns SQL for a score's trace. The query has `order by` and `limit`, although it selects one row, so that
 * PostgreSQL uses the index on `seq`. While the tables are empty, the planner considers other indexes equally good, and
 * the connection would keep using the resulting plan.
 */
const traceOfScore = ({ traces }: TableNames): string => `select id, environment from ${traces}
  where project_id = $1 and seq >= s.trace_seq and seq <= s.trace_seq order by seq limit 1`

/** Lists one page of scores. If a filter has no index, a page can be short or empty even if more pages follow. */
export async function listScores(
  sql: Sql,
  projectId: number,
  query: ScoreQuery,
  names: TableNames = SCHEMA_NAMES
): Promise<ScorePage> {
  const { name, environment, from, limit, picked } = query
  const edge = edgeBelow(SCORE_ORDER, query.after, query.to)
  const most = environment === undefined && picked === undefined ? limit : MAX_EXAMINED
  const values: (string | number)[] = []
  const bind = (value: string | number) => `$${values.push(value)}`
  const conditions = [`s.project_id = ${bind(projectId)}`]
  if (name !== undefined) conditions.push(`s.name = ${bind(name)}`)
  if (from !== undefined) conditions.push(`s.created_at >= ${bind(from)}`)
  // `is true` keeps PostgreSQL from looking up traces by environment. An environment can have so many traces that this
  // lookup would be slow.
  const inEnvironment = environment === undefined ? '' : `and (t.environment = ${bind(environment)}) is true`
  const isPicked = picked === undefined ? [] : pickingConditions(picked, bind)
  const beyond = edge.inclusive ? '<=' : '<'
  const found = await sql.unsafe<Row[]>(
    `with examined as materialized (
      select s.*, row_number() over (order by created_at desc, seq desc) as place
      from ${names.scores} s
      where ${conditions.join(' and ')} and (s.created_at, s.seq) ${beyond} (${bind(edge.key)}, ${bind(edge.tie)})
      order by created_at desc, seq desc
      limit ${bind(most + 1)}
    )
    (
      select ${SCORE_FIELDS}, s.seq, t.id as "traceId"
      from examined s cross join lateral (${traceOfScore(names)}) t
      where s.place <= ${bind(most)} ${inEnvironment} ${isPicked.join(' ')}
      order by s.place
      limit ${bind(limit + 1)}
    )
    union all
    (select ${SCORE_FIELDS}, s.seq, null from examined s where s.place >= ${bind(most)} order by s.place)`,
    values,
    { prepare: true }
  )
  const matches = found.filter(row => row.traceId !== null)
  const [lastExamined, beyondIt] = found.filter(row => row.traceId === null)
  const rows = matches.slice(0, limit)
  // If more scores match than the page can hold, the next page begins after the last score on this page.
  const last = matches.length > limit ? rows.at(-1) : beyondIt && lastExamined
  return {
    scores: list(rows.map(row => renderScore(row, row.traceId!))),
    next: last && { key: last.createdAt, tie: String(last.seq), inclusive: false }
  }
}

/**
 * Returns conditions on scores as s, each with a leading `and`. Numbers are compared by value, regardless of notation.
 */
export function pickingConditions(
  { source, value, min, below }: PickedScores,
  bind: (value: string | number) => string
) {
  const number = "case when s.data_type = 'numeric' then s.value::text::float8 end"
  const isOf = (text: string) => [
    `s.value::text in (${bind(text)}, ${bind(JSON.stringify(text))})`,
    ...(Number.isFinite(Number(text)) ? [`coalesce(${number} = ${bind(Number(text))}::float8, false)`] : [])
  ]
  return [
    ...(source === undefined ? [] : [`and s.source = ${bind(source)}`]),
    ...(value === undefined ? [] : [`and (${isOf(value).join(' or ')})`]),
    ...(min === undefined ? [] : [`and ${number} >= ${bind(min)}::float8`]),
    ...(below === undefined ? [] : [`and ${number} < ${bind(below)}::float8`])
  ]
}
