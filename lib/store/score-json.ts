/** Scores as answers show them: JSON text made of rows, without parsing what the rows hold as JSON. */
import { plain, text } from './json.ts'

/** The columns of a score in answers; ids are hexadecimal, `value` is JSON text. */
export interface ScoreRow {
  readonly id: string
  readonly spanId: string | null
  readonly name: string
  readonly dataType: string
  readonly value: string
  readonly comment: string | null
  readonly source: string
  readonly evaluatorId: string | null
  readonly runId: string | null
  readonly createdAt: string
}

export type ScoreSummaryRow = Pick<ScoreRow, 'id' | 'name' | 'dataType' | 'value' | 'evaluatorId'>

/** The score output object (specification 2.7). */
export function renderScore(score: ScoreRow, traceId: string): string {
  return (
    `{"id":"${score.id}","traceId":"${traceId}","spanId":${plain(score.spanId)},"name":${text(score.name)}` +
    `,"dataType":"${score.dataType}","value":${score.value},"comment":${text(score.comment)}` +
    `,"source":"${score.source}","evaluatorId":${text(score.evaluatorId)},"runId":${text(score.runId)}` +
    `,"createdAt":"${score.createdAt}"}`
  )
}

const renderSummary = (score: ScoreSummaryRow): string =>
  `${text(score.name)}:{"scoreId":"${score.id}","dataType":"${score.dataType}","value":${score.value}` +
  `,"evaluatorId":${text(score.evaluatorId)}}`

/** The `scores` of a trace summary: of one trace's scores, newest first, the first of each name. */
export function renderScoreMap(scores: readonly ScoreSummaryRow[]): string {
  const newest = new Map<string, ScoreSummaryRow>()
  for (const score of scores) if (!newest.has(score.name)) newest.set(score.name, score)
  return `{${[...newest.values()].map(renderSummary).join(',')}}`
}
