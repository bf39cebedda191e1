/** The scores of a project: how they are spread, how they change, where sources disagree, and whose traces they are. */

import Type, { type Static } from 'typebox'
import type { App } from '../../lib/app.ts'
import { readCursor, readTime, renderCursor } from '../../lib/http/paging.ts'
import { checkTexts, refuseField } from '../../lib/http/refuse.ts'
import { JsonText } from '../../lib/http/route.ts'
import { ScoreName } from '../../lib/schema/input.ts'
import { closed } from '../../lib/schema/object.ts'
import { ScoreListQuery } from '../../lib/schema/query.ts'
import { readDisagreement } from '../../lib/store/analytics/scored/disagreement.ts'
import { readScoreSeries } from '../../lib/store/analytics/scored/series.ts'
import { SOURCES } from '../../lib/store/analytics/scored/summary.ts'
import { SCORE_ORDER } from '../../lib/store/lists/order.ts'
import { listScores } from '../../lib/store/lists/score-list.ts'
import { readTracesById } from '../../lib/store/lists/traces-by-id.ts'
import { IN_PROJECT, pageRoute } from './page-routes.ts'
import { ScoreDisagreement, ScoredTraces, ScoreSeries } from './replies.ts'

const RANGES = { '1h': 1, '6h': 6, '24h': 24, '7d': 7 * 24, '30d': 30 * 24, '90d': 90 * 24, '1y': 365 * 24 } as const
const DEFAULT_RANGE = '7d'
const HOUR_MS = 3_600_000
/** A chart of more days would have more steps than a screen has points. */
const MOST_DAYS = 400
/** The zones of the world. */
const [FURTHEST_WEST, FURTHEST_EAST] = [-12 * 60, 14 * 60]

const { from, to, environment } = ScoreListQuery.properties
const WHEN = { range: Type.Optional(Type.Enum(Object.keys(RANGES))), from, to, env: environment }
const SeriesQuery = closed({
  name: Type.Optional(ScoreName),
  ...WHEN,
  offset: Type.Optional(Type.Integer({ minimum: FURTHEST_WEST, maximum: FURTHEST_EAST }))
})
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

/** A page of these; each has the summary of its trace. */
const PAGE = 50

export default function scores(app: App): void {
  const { sql } = app

  pageRoute(app, {
    method: 'GET',
    path: `${IN_PROJECT}/score-series`,
    access: 'visitor',
    query: SeriesQuery,
    replies: { 200: ScoreSeries },
    async handler(request) {
      const { name, offset = 0 } = request.query
      const asked = { name, offset, ...readWhen(request.query) }
      return { body: await sql.read(each => readScoreSeries(each, request.project.id, asked), request) }
    }
  })

  pageRoute(app, {
    method: 'GET',
    path: `${IN_PROJECT}/score-disagreement`,
    access: 'visitor',
    query: DisagreementQuery,
    replies: { 200: ScoreDisagreement },
    async handler(request) {
      const asked = { name: request.query.name, ...readWhen(request.query) }
      const { traces, ...found } = await sql.read(each => readDisagreement(each, request.project.id, asked), request)
      return { body: new JsonText(`${JSON.stringify(found).slice(0, -1)},"traces":${traces}}`) }
    }
  })

  pageRoute(app, {
    method: 'GET',
    path: `${IN_PROJECT}/scored-traces`,
    access: 'visitor',
    query: ScoredQuery,
    replies: { 200: ScoredTraces },
    async handler(request) {
      const { project, query } = request
      const { name, source, value, after } = query
      checkTexts({ value })
      const [min, below] = [readNumber('min', query.min), readNumber('below', query.below)]
      const { from, to, environment } = readWhen(query)
      const asked = {
        name,
        environment,
        from: new Date(from).toISOString(),
        to: new Date(to).toISOString(),
        limit: PAGE,
        after: readCursor('after', SCORE_ORDER, after),
        picked: { source, value, min, below }
      }
      const { scores, next } = await sql.read(each => listScores(each, project.id, asked), request)
      const ids = new Set((JSON.parse(scores) as { traceId: string }[]).map(({ traceId }) => traceId))
      const traces = await sql.read(each => readTracesById(each, project.id, [...ids]), request)
      return {
        body: new JsonText(`{"scores":${scores},"traces":${traces},"nextCursor":${renderCursor(SCORE_ORDER, next)}}`)
      }
    }
  })
}

type When = Pick<Static<typeof SeriesQuery>, 'range' | 'from' | 'to' | 'env'>

/** The two ends in ms since 1970. `to` is now if it is not given, and `from` a week before `to`. */
function readWhen({ range, from, to, env }: When) {
  const other = from === undefined ? (to === undefined ? undefined : 'to') : 'from'
  if (range !== undefined && other !== undefined) refuseField(other, 'cannot be combined with range')
  const end = readInstant('to', to) ?? Date.now()
  const length = RANGES[(range ?? DEFAULT_RANGE) as keyof typeof RANGES] * HOUR_MS
  const begin = readInstant('from', from) ?? Math.max(0, end - length)
  if (begin > end) refuseField('from', 'must not be later than to')
  if (end - begin > MOST_DAYS * 24 * HOUR_MS) refuseField('from', `must be at most ${MOST_DAYS} days before to`)
  return { from: begin, to: end, environment: env?.toLowerCase() }
}

function readInstant(name: string, text: string | undefined): number | undefined {
  const time = readTime(name, text)
  const ms = time === undefined ? undefined : Date.parse(time)
  return ms !== undefined && ms < 0 ? refuseField(name, 'must be in 1970 or later') : ms
}

function readNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  return Number.isFinite(value) ? value : refuseField(name, 'must be a finite number')
}
