/** Renders scores as JSON for responses, without parsing the JSON in the rows. */
import type { TableNames } from '../../database/tables.ts'
import { MAX_SCORES } from '../../schema/input.ts'
import type { PastScore } from '../../trace/prepared.ts'
import { type AnswerTexts, plain, text } from './json-text.ts'

/** Columns of a score in responses. Ids are hexadecimal; `value` is JSON-encoded. */
export interface ScoreRow extends Omit<PastScore, 'value'> {
  readonly value: string
}

/** Renders the score output object (specification 2.7). */
export function renderScore(score: ScoreRow, traceId: string): string {
  return (
    `{"id":"${score.id}","traceId":"${traceId}","spanId":${plain(score.spanId)},"name":${text(score.name)}` +
    `,"dataType":"${score.dataType}","value":${score.value},"comment":${text(score.comment)}` +
    `,"source":"${score.source}","evaluatorId":${text(score.evaluatorId)},"runId":${text(score.runId)}` +
    `,"createdAt":"${score.createdAt}"}`
  )
}

/** Renders a member of a trace summary's `scores`. The name, value and evaluator must already be JSON-encoded. */
const summaryMember = (name: string, id: string, dataType: string, value: string, evaluatorId: string): string =>
  `${name}:{"scoreId":"${id}","dataType":"${dataType}","value":${value},"evaluatorId":${evaluatorId}}`

/**
 * Renders the member `scores` of a trace summary: the newest score of each name. Expects one trace's scores, newest
 * first.
 */
export function renderScoreMap(scores: readonly ScoreRow[]): string {
  const newest = new Map<string, ScoreRow>()
  for (const score of scores) if (!newest.has(score.name)) newest.set(score.name, score)
  const members = Array.from(newest.values(), ({ name, id, dataType, value, evaluatorId }) =>
    summaryMember(text(name), id, dataType, value, text(evaluatorId))
  )
  return `{${members.join(',')}}`
}

/** Separates values. `to_json` escapes this character, and values not passed through `to_json` cannot contain it. */
const SEPARATOR = '\u0002'
const SCORE_VALUES = [
  'to_json(name)',
  "encode(id, 'hex')",
  'data_type',
  'value',
  "coalesce(to_json(evaluator_id), 'null')"
] as const

/**
 * Returns SQL that yields the scores in a trace's summary as one string, or null if the trace has no scores. The trace
 * is the row t of the table traces; $1 is its project. The inner query has `order by`, and a `limit` that no trace
 * exceeds, so that the planner uses the primary key even while the table is empty.
 */
export const scoreMapText = ({ scores }: TableNames): string => `case when t.score_count > 0 then (
  select string_agg(concat_ws(E'\\x02', ${SCORE_VALUES.join(', ')}), E'\\x02' order by name)
  from (
    select distinct on (name) * from (
      select * from ${scores} where project_id = $1 and trace_seq = t.seq order by trace_seq, seq limit ${MAX_SCORES}
    ) all_of_it order by name, created_at desc, seq desc
  ) newest
) end`

/** Renders the member `scores` from the string that scoreMapText selects; an empty string means null. */
export function readScoreMap(joined: string): string {
  if (joined === '') return '{}'
  const values = joined.split(SEPARATOR)
  const each = SCORE_VALUES.length
  const members = Array.from({ length: values.length / each }, (_, i) => {
    const [name, id, dataType, value, evaluatorId] = values.slice(i * each, (i + 1) * each) as AnswerTexts<
      typeof SCORE_VALUES
    >
    return summaryMember(name, id, dataType, value, evaluatorId)
  })
  return `{${members.join(',')}}`
}
