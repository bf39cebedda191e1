/** Routes of a review: the traces of a queue, and leases of traces, so that no two people score the same trace. */
import type { Sql } from 'postgres'
import Type from 'typebox'
import type { App } from '../../lib/app.ts'
import type { TableNames } from '../../lib/database/tables.ts'
import { TraceSearchQuery } from '../../lib/schema/history/search.ts'
import { ScoreName, TraceId } from '../../lib/schema/input.ts'
import { closed } from '../../lib/schema/object.ts'
import { leaseFirst, readJudged, readRunning } from '../../lib/store/projects/review-leases.ts'
import { findPageOf, readSearch, runSearch, searchCursor } from '../search.ts'
import { bodyReader, IN_PROJECT, pageRoute, readRoute } from './page-routes.ts'
import { ReviewClaimReply, ReviewQueueReply } from './replies.ts'

/** Maximum number of traces among which a request looks for one that nobody else is judging. */
const MOST_CANDIDATES = 100
/** Attempts to lease a trace while others lease the same ones. */
const ATTEMPTS = 5

const QueueQuery = closed({ ...TraceSearchQuery.properties, judge: ScoreName })
const ClaimBody = closed({
  judge: ScoreName,
  traceIds: Type.Array(TraceId, { minItems: 1, maxItems: MOST_CANDIDATES })
})

export default function review(app: App): void {
  const { sql } = app
  const readClaim = bodyReader(ClaimBody)

  readRoute(app, `${IN_PROJECT}/review`, {
    query: QueueQuery,
    replies: { 200: ReviewQueueReply },
    async handler(request) {
      const { id } = request.project
      const { judge, ...query } = request.query
      const asked = readSearch(query)
      const work = async (each: Sql, names: TableNames) => {
        const page = await findPageOf(each, id, asked, names)
        const ids = page.found.map(found => found.id)
        const judged = await readJudged(each, id, judge, ids, names)
        return { page, ids, judged, running: await readRunning(each, id, ids, names) }
      }
      const { page, ids, judged, running } = await runSearch(app, id, asked, request, work)
      const traces = ids.map(each => ({ id: each, isJudged: judged.has(each), isRunning: running.has(each) }))
      return { body: { traces, nextCursor: searchCursor(asked.query.sort, page.next) } }
    }
  })

  pageRoute(app, {
    method: 'POST',
    path: `${IN_PROJECT}/review/claims`,
    access: 'member',
    smallBody: true,
    replies: { 200: ReviewClaimReply },
    async handler(request) {
      const { judge: scoreName, traceIds } = readClaim(request.payload)
      const { visitor, project } = request
      const wanted = traceIds.map(each => each.toLowerCase())
      const judged = await sql.readOf(
        project.id,
        (each, names) => readJudged(each, project.id, scoreName, wanted, names),
        request
      )
      const open = wanted.filter(each => !judged.has(each))
      const reviewer = { projectId: project.id, userId: visitor.userId, scoreName }
      let traceId: string | undefined
      for (let attempt = 0; attempt < ATTEMPTS && open.length > 0 && traceId === undefined; attempt++) {
        traceId = await sql.write(each => leaseFirst(each, reviewer, open))
      }
      return { body: { traceId: traceId ?? null, judged: [...judged] } }
    }
  })
}
