/** Lists a project's scores by the start of their traces, newest first. A call examines a limited number of traces. */
import type { Sql } from 'postgres'
import { MAX_SCORES } from '../../schema/input.ts'
import { list } from '../answers/json-text.ts'
import { renderScore, type ScoreRow } from '../answers/score-json.ts'
import { SCORE_FIELDS } from '../trace/scores.ts'
import { edgeBelow, SCORE_ORDER } from './order.ts'
import { pickingConditions, type ScorePage, type ScoreQuery } from './score-list.ts'

/** Maximum number of traces that a call examines. */
const MOST_LOOKED = 20_000

/** The key is the trace's start, and the tie the score's number. */
export const SCORES_BY_TRACE = { ...SCORE_ORDER, name: 'scores:trace' }

interface Row extends ScoreRow {
  readonly seq: number
  readonly traceId: string
  readonly startedAt: string
}

/** `from` and `to` are bounds of the traces' start. `most` is for tests. */
export async function listScoresByTrace(
  sql: Sql,
  projectId: number,
  { name, environment, from = '-infinity', to, limit, after, picked }: ScoreQuery,
  most = MOST_LOOKED
): Promise<ScorePage> {
  const edge = edgeBelow(SCORES_BY_TRACE, after, to)
  const values: (string | number)[] = [projectId, from, edge.key, edge.tie, most]
  const bind = (value: string | number) => `$${values.push(value)}`
  const conditions = [
    ...(name === undefined ? [] : [`and s.name = ${bind(name)}`]),
    ...(environment === undefined ? [] : [`and l.environment = ${bind(environment)}`]),
    ...(picked === undefined ? [] : pickingConditions(picked, bind))
  ]
  // Traces that started at the same moment are examined together, because the cursor does not distinguish them.
  const looked = (most: string) => `select seq, id, started_at, environment, score_count from traces
    where project_id = $1 and started_at >= $2 and started_at <= $3
    order by started_at desc fetch first ${most} rows with ties`
  const found = await sql.unsafe<Row[]>(
    `select ${SCORE_FIELDS}, s.seq, l.id as "traceId", l.started_at as "startedAt"
    from (${looked('$5')}) l cross join lateral (
      select * from scores where project_id = $1 and trace_seq = l.seq order by trace_seq, seq limit ${MAX_SCORES}
    ) s
    where l.score_count > 0 and (l.started_at, s.seq) ${edge.inclusive ? '<=' : '<'} ($3, $4::bigint)
      ${conditions.join(' ')}
    order by l.started_at desc, s.seq desc limit ${bind(limit + 1)}`,
    values,
    { prepare: true }
  )
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  const scores = list(rows.map(row => renderScore(row, row.traceId)))
  if (found.length > limit && last !== undefined) {
    return { scores, next: { key: last.startedAt, tie: String(last.seq), inclusive: false } }
  }
  // Traces after those that were examined may have matching scores.
  const [beyond] = await sql.unsafe<{ startedAt: string }[]>(
    `select started_at as "startedAt" from traces
    where project_id = $1 and started_at >= $2 and started_at < (select min(started_at) from (${looked('$4')}) l)
    order by started_at desc limit 1`,
    [projectId, from, edge.key, most],
    { prepare: true }
  )
  return { scores, next: beyond && { key: beyond.startedAt, tie: SCORE_ORDER.highestTie, inclusive: true } }
}
