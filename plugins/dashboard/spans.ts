/** Route that lists steps across traces, with the parameters of `GET /api/v1/spans`. */
import type { App } from '../../lib/app.ts'
import { SpanListQuery } from '../../lib/schema/history/span-list.ts'
import { answerSpanList } from '../spans.ts'
import { IN_PROJECT, readRoute } from './page-routes.ts'
import { StepsReply } from './replies.ts'

export default function stepList(app: App): void {
  readRoute(app, `${IN_PROJECT}/spans`, {
    query: SpanListQuery,
    replies: { 200: StepsReply },
    handler: request => answerSpanList(app, request.project.id, request.query, request)
  })
}
