/** The query parameters of lists (specification 4.7 and 4.14), as typebox schemas. */
import Type, { type Static } from 'typebox'
import { STATUSES, Timestamp } from './input.ts'

const DEFAULT_LIMIT = 50

export const Environment = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$',
  description: 'The environment of the trace, folded to lower case; `unassigned`: recorded by keys that have none.'
})
const limitUpTo = (maximum: number) =>
  Type.Integer({ minimum: 1, maximum, default: DEFAULT_LIMIT, description: 'How many a page has at most.' })
const text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))
const time = (description: string) => Type.Optional(Type.String({ ...Timestamp, description }))

export const TraceListQuery = Type.Object(
  {
    status: Type.Optional(
      Type.Enum([...STATUSES, 'running'], { description: '`running`: a streamed trace that has not ended.' })
    ),
    model: text('Exact match.'),
    name: text('Exact name of the trace.'),
    tag: text('A tag that the trace must carry.'),
    environment: Type.Optional(Environment),
    sessionId: text('Exact match; with sort=newest only.'),
    userId: text('Exact match; with sort=newest only.'),
    from: time('Inclusive lower bound of startedAt; with sort=newest only.'),
    to: time('Inclusive upper bound of startedAt; with sort=newest only.'),
    sort: Type.Optional(
      Type.Enum(['newest', 'slowest', 'costliest'], {
        default: 'newest',
        description:
          '`slowest`: by durationMs, without running traces; `costliest`: by costUsd, without those that have none.'
      })
    ),
    limit: Type.Optional(limitUpTo(200)),
    after: text('The nextCursor of a page under the same sort: what comes after it.'),
    before: text('The prevCursor of a page under the same sort: what comes before it.')
  },
  { additionalProperties: false }
)
export type TraceListQuery = Static<typeof TraceListQuery>

export const ScoreListQuery = Type.Object(
  {
    name: text('Exact name of the score.'),
    environment: Type.Optional(Environment),
    from: time('Inclusive lower bound of createdAt.'),
    to: time('Inclusive upper bound of createdAt.'),
    limit: Type.Optional(limitUpTo(500)),
    after: text('The nextCursor of a page: older scores.')
  },
  { additionalProperties: false }
)
export type ScoreListQuery = Static<typeof ScoreListQuery>

/** The limit that is in force for a query. */
export const pageSizeOf = (query: { readonly limit?: number }): number => query.limit ?? DEFAULT_LIMIT
