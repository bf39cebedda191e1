/**
 * Route that groups a period's failures, and counts those of the preceding period. With `earlier`, it reads the
 * failures before both, so that new failures stand out.
 */
import Type from 'typebox'
import type { App } from '../../lib/app.ts'
import { WEIGHTS } from '../../lib/limits/large-reads.ts'
import { type Period, periodBefore, STEPS, startsOf } from '../../lib/rollups/period.ts'
import { closed } from '../../lib/schema/object.ts'
import { Environment, TraceListQuery } from '../../lib/schema/query.ts'
import { FAILURE_ORDER, groupFailures } from '../../lib/store/failures/read-failures.ts'
import type { GroupedFailures } from '../../lib/trace/failures/failure-groups.ts'
import { startOf } from '../../lib/trace/failures/step-failure.ts'
import { readCursor, renderCursor } from '../paging.ts'
import { readTimeQuery, TIME, YEAR_1 } from './asked-time.ts'
import { IN_PROJECT, readRoute } from './page-routes.ts'
import { FailuresReply } from './replies.ts'

const FailureQuery = closed({
  ...TIME,
  env: Type.Optional(Environment),
  after: TraceListQuery.properties.after,
  /** Requests the failures before both periods instead. */
  earlier: Type.Optional(Type.Enum(['1']))
})

/** Maximum numbers of groups in a response, and of groups without failures in the period. */
const MOST_GROUPS = 200
const MOST_EARLIER = 1000
/** Maximum number of characters of an example's message. */
const MOST_MESSAGE = 500

export default function failures(app: App): void {
  readRoute(app, `${IN_PROJECT}/errors`, {
    query: FailureQuery,
    replies: { 200: FailuresReply },
    async handler(request) {
      const { project, query } = request
      const { period } = readTimeQuery(query, '7d')
      const isEarlier = query.earlier !== undefined
      const start = Math.max(YEAR_1, periodBefore(period).from)
      const asked = {
        trace: {
          from: isoOf(isEarlier ? YEAR_1 : start),
          to: lastBefore(isEarlier ? start : period.to),
          environment: query.env?.toLowerCase()
        },
        after: readCursor('after', FAILURE_ORDER, query.after),
        stepOf: (at: string) => (isEarlier ? Number.NEGATIVE_INFINITY : stepOf(period, at))
      }
      const work = () =>
        app.sql.readOf(project.id, (sql, names) => groupFailures(sql, project.id, asked, names), request)
      const found = await app.largeReads.run(project.id, work, { weight: WEIGHTS.search, client: request })
      const groups = found.groups.filter(({ count }) => count > 0)
      const others = groups.slice(MOST_GROUPS).filter(group => ownFailures(group) > 0)
      const { from, to, step, offset } = period
      return {
        body: {
          ...{ from: isoOf(from), to: isoOf(to), step, offset, starts: startsOf(period).map(isoOf) },
          groups: groups.slice(0, MOST_GROUPS).map(shown),
          earlier: found.groups
            .filter(({ count }) => count === 0)
            .slice(0, MOST_EARLIER)
            .map(({ name, kind, type, pattern, before, first }) => ({
              name,
              kind,
              type,
              pattern,
              before,
              firstAt: first
            })),
          others: others.length,
          otherFailures: others.reduce((sum, group) => sum + ownFailures(group), 0),
          reached: found.reached ?? null,
          nextCursor: JSON.parse(renderCursor(FAILURE_ORDER, found.next))
        }
      }
    }
  })
}

/** Returns the number of failures that steps did not pass on from a child. */
const ownFailures = ({ count, passedOn }: GroupedFailures): number => count - passedOn

const isoOf = (ms: number): string => new Date(ms).toISOString()

/** Returns the last moment before a time, which the store includes. */
const lastBefore = (ms: number): string => isoOf(Math.max(YEAR_1, ms - 1)).replace('Z', '999Z')

/** A step of a trace may start after the period in which the trace started. Such a step counts at the period's end. */
const stepOf = ({ from, to, step }: Period, at: string): number =>
  Math.floor((Math.min(Date.parse(at), to - 1) - from) / STEPS[step])

function shown({ name, kind, type, pattern, count, passedOn, traces, steps, before, ...rest }: GroupedFailures) {
  const { traceId, spanId, message } = rest.example
  return {
    ...{ name, kind, type, pattern, count, passedOn, traces: traces.size, steps, before },
    firstAt: rest.first,
    lastAt: rest.last,
    example: { traceId, spanId, message: message === null ? null : startOf(message, MOST_MESSAGE) }
  }
}
