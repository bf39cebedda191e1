/** Schemas of the routes for sessions and users, which are sums over traces. */
import Type, { type Static } from 'typebox'
import { closed, named, nullable } from '../object.ts'
import { Count, DateTime, summaryFields } from '../output.ts'
import { TraceListQuery } from '../query.ts'
import { Hint } from './hint.ts'
import { FirstError } from './search.ts'

const { environment, limit, userId, from } = TraceListQuery.properties
const text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))
const groupLimit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 100, default: 50, description: 'The maximum number of items per page.' })
)
const nextPage = Type.Optional(Type.String({ minLength: 1, description: 'The nextCursor of the previous page.' }))

export const SessionListQuery = closed({
  prefix: text('The beginning of the session id. A session with exactly this id comes first.'),
  userId: Type.Optional(
    Type.String({
      ...userId,
      description: "Lists only sessions with a trace by this user, ordered by the user's last trace in each."
    })
  ),
  environment: Type.Optional(
    Type.String({
      ...environment,
      description: "Lists only sessions with a trace in this environment, ordered by each session's last trace there."
    })
  ),
  limit: groupLimit,
  after: nextPage
})
export type SessionListQuery = Static<typeof SessionListQuery>

export const SessionQuery = closed({
  limit: Type.Optional(Type.Integer({ ...limit, description: 'The maximum number of traces per page.' })),
  after: nextPage
})

export const UserListQuery = closed({
  prefix: text(
    'The beginning of the user id. A user with exactly this id comes first, regardless of when their last trace was.'
  ),
  environment: Type.Optional(
    Type.String({
      ...environment,
      description: 'Counts only traces in this environment, both for the order and for the totals.'
    })
  ),
  from: Type.Optional(
    Type.String({
      ...from,
      description:
        "The start of the totals' period, rounded down to the beginning of the day in UTC. The default period is 30 " +
        'days, including today.'
    })
  ),
  limit: groupLimit,
  after: nextPage
})
export type UserListQuery = Static<typeof UserListQuery>

const costUsd = nullable(Type.Number({ minimum: 0 }), 'The total cost. Null if no trace has a cost.')
const tokens = { inputTokens: Count, outputTokens: Count }
const startOf = (what: string) => Type.String({ ...DateTime, description: `The start time of the ${what}.` })
const cursor = nullable(Type.String(), 'To get the next page, pass this value as `after`. Null on the last page.')
const pageSize = Type.Integer({ minimum: 0, description: 'The limit in effect.' })
const errorCount = Type.Integer({ minimum: 0, description: 'The number of traces with status `error`.' })

const sessionHead = {
  id: Type.String(),
  traceCount: Type.Integer({ minimum: 0, description: 'The number of traces in the totals.' }),
  partial: Type.Boolean({ description: 'Whether the session has older traces that are not in the totals.' }),
  errorCount,
  ...tokens,
  costUsd,
  firstStartedAt: startOf('first trace'),
  lastStartedAt: startOf('last trace')
}
const SessionSummary = named('SessionSummary', {
  ...sessionHead,
  lastStartedAt: startOf('last trace that matches `userId` and `environment`')
})

export const SessionList = named('SessionList', {
  sessions: Type.Array(SessionSummary),
  hint: Hint,
  nextCursor: cursor,
  pageSize
})

const Session = named('Session', {
  ...sessionHead,
  runningCount: Type.Integer({ minimum: 0, description: 'The number of traces that have not ended.' }),
  durationMs: Type.Integer({ minimum: 0, description: "The sum of the traces' durations." }),
  users: Type.Array(Type.String(), { description: "The traces' users, at most 20." })
})

const SessionTrace = named('SessionTrace', {
  ...summaryFields,
  firstError: nullable(FirstError, 'The failed step that ended first. Null if no step failed.')
})

export const SessionDetail = named('SessionDetail', {
  session: Session,
  traces: Type.Array(SessionTrace, { description: "A page of the session's traces, oldest first." }),
  nextCursor: cursor,
  pageSize
})

const UserSummary = named('UserSummary', {
  id: Type.String(),
  traceCount: Type.Integer({ minimum: 0, description: "The number of the user's traces that have ended." }),
  errorCount,
  ...tokens,
  costUsd,
  firstDay: Type.String({
    ...DateTime,
    description: "The beginning of the day, in UTC, of the user's first trace, even if before `from`."
  }),
  lastStartedAt: startOf("user's last trace")
})

export const UserList = named('UserList', {
  users: Type.Array(UserSummary),
  from: Type.String({ ...DateTime, description: 'The beginning of the first day in the totals.' }),
  countedFrom: nullable(
    DateTime,
    'The time from which traces are included, while older traces are still being counted. Null means all traces.'
  ),
  hint: Hint,
  nextCursor: cursor,
  pageSize
})
