/** Routes for score charts: distribution and change over time, disagreement between sources, and the scored traces. */

import Type, { type Static } from 'typebox'
import type { App } from '../../lib/app.ts'
import { checkQueryTexts, refuseField } from '../../lib/http/refuse.ts'
import { JsonText } from '../../lib/http/route.ts'
import { ScoreName } from '../../lib/schema/input.ts'
import { closed } from '../../lib/schema/object.ts'
import { ScoreListQuery } from '../../lib/schema/query.ts'
import { readDisagreement } from '../../lib/store/analytics/scored/disagreement.ts'
import { readScoreSeries } from '../../lib/store/analytics/scored/series.ts'
import { SOURCES } from '../../lib/store/analytics/scored/summary.ts'
import { SCORE_ORDER } from '../../lib/store/lists/order.ts'
import { listScores } from '../../lib/store/lists/score-list.ts'
import { listScoresByTrace, SCORES_BY_TRACE } from '../../lib/store/lists/scores-by-trace.ts'
import { readTracesById } from '../../lib/store/lists/summary-page.ts'
import { readCursor, renderCursor } from '../paging.ts'
import { readTimeQuery, TIME } from './asked-time.ts'
import { IN_PROJECT, readRoute } from './page-routes.ts'
import { ScoreDisagreementReply, ScoredTracesReply, ScoreSeriesReply } from './replies.ts'

const WHEN = {
  ...TIME,
  env: ScoreListQuery.properties.environment,
  /** Whether times refer to the scores, which is the default, or to their traces. */
  by: Type.Optional(Type.Enum(['score', 'trace']))
}
const SeriesQuery = closed({ name: Type.Optional(ScoreName), ...WHEN })
const DisagreementQuery = closed({ name: ScoreName, ...WHEN })
const number = Type.Optional(Type.String({ pattern: '^-?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d+)?$', maxLength: 40 }))
const ScoredQuery = closed({
  name: ScoreName,
  ...WHEN,
  source: Type.Optional(Type.Enum(SOURCES)),
  value: Type.Optional(Type.String({ maxLength: 200 })),
  min: number,
  below: number,
  after: ScoreListQuery.properties.after
})

/** Maximum number of scores per page, each with its trace's summary. */
const PAGE = 50

export default function scorePages(app: App): void {
  const { sql } = app

  readRoute(app, `${IN_PROJECT}/score-series`, {
    query: SeriesQuery,
    replies: { 200: ScoreSeriesReply },
    async handler(request) {
      const asked = { name: request.query.name, ...readWhen(request.query) }
      return { body: await sql.read(each => readScoreSeries(each, request.project.id, asked), request) }
    }
  })

  readRoute(app, `${IN_PROJECT}/score-disagreement`, {
    query: DisagreementQuery,
    replies: { 200: ScoreDisagreementReply },
    async handler(request) {
      const asked = { name: request.query.name, ...readWhen(request.query) }
      const { traces, ...found } = await sql.read(each => readDisagreement(each, request.project.id, asked), request)
      return { body: new JsonText(`${JSON.stringify(found).slice(0, -1)},"traces":${traces}}`) }
    }
  })

  readRoute(app, `${IN_PROJECT}/scored-traces`, {
    query: ScoredQuery,
    replies: { 200: ScoredTracesReply },
    async handler(request) {
      const { project, query } = request
      const { name, source, value, after } = query
      checkQueryTexts({ value })
      const [min, below] = [readNumber('min', query.min), readNumber('below', query.below)]
      const { from, to, environment, byTrace } = readWhen(query)
      const order = byTrace ? SCORES_BY_TRACE : SCORE_ORDER
      const list = byTrace ? listScoresByTrace : listScores
      const asked = {
        name,
        environment,
        from: new Date(from).toISOString(),
        to: new Date(to).toISOString(),
        limit: PAGE,
        after: readCursor('after', order, after),
        picked: { source, value, min, below }
      }
      const { scores, next } = await sql.read(each => list(each, project.id, asked), request)
      const ids = new Set((JSON.parse(scores) as { traceId: string }[]).map(({ traceId }) => traceId))
      const traces = await sql.read(each => readTracesById(each, project.id, [...ids]), request)
      return {
        body: new JsonText(`{"scores":${scores},"traces":${traces},"nextCursor":${renderCursor(order, next)}}`)
      }
    }
  })
}

type When = Pick<Static<typeof SeriesQuery>, keyof typeof WHEN>

const readWhen = (query: When) => ({
  ...readTimeQuery(query, '7d'),
  environment: query.env?.toLowerCase(),
  byTrace: query.by === 'trace'
})

function readNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  return Number.isFinite(value) ? value : refuseField(name, 'must be a finite number')
}
