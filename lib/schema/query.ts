/** Schemas of the list routes' query parameters (specification 4.7 and 4.14). */
import Type, { type Static } from 'typebox'
import { STATUSES, Timestamp } from './input.ts'

const DEFAULT_LIMIT = 50

export const Environment = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$',
  description: "The trace's environment, converted to lower case. `unassigned` selects traces without an environment."
})
const limitUpTo = (maximum: number) =>
  Type.Integer({ minimum: 1, maximum, default: DEFAULT_LIMIT, description: 'The maximum number of items per page.' })
const text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))
const time = (description: string) => Type.Optional(Type.String({ ...Timestamp, description }))

export const TraceListQuery = Type.Object(
  {
    status: Type.Optional(
      Type.Enum([...STATUSES, 'running'], { description: 'A trace is `running` until it has ended.' })
    ),
    model: text('The exact model.'),
    name: text('The exact name of the trace.'),
    tag: text('A tag that the trace must have.'),
    environment: Type.Optional(Environment),
    sessionId: text('The exact session id. Requires `sort=newest`.'),
    userId: text('The exact user id. Requires `sort=newest`.'),
    runsOnly: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Lists only traces with a model, a cost, or a span of a kind other than `chain` and `custom`.'
      })
    ),
    from: time('The inclusive lower bound of startedAt. Requires `sort=newest`.'),
    to: time('The inclusive upper bound of startedAt. Requires `sort=newest`.'),
    sort: Type.Optional(
      Type.Enum(['newest', 'slowest', 'costliest'], {
        default: 'newest',
        description:
          '`slowest` uses durationMs and omits running traces. `costliest` uses costUsd and omits traces ' +
          'without a cost.'
      })
    ),
    limit: Type.Optional(limitUpTo(200)),
    after: text('The nextCursor of the previous page. Requires the same `sort`.'),
    before: text('The prevCursor of the following page. Requires the same `sort`.')
  },
  { additionalProperties: false }
)
export type TraceListQuery = Static<typeof TraceListQuery>

export const ScoreListQuery = Type.Object(
  {
    name: text('The exact name of the score.'),
    environment: Type.Optional(Environment),
    from: time('The inclusive lower bound of createdAt.'),
    to: time('The inclusive upper bound of createdAt.'),
    limit: Type.Optional(limitUpTo(500)),
    after: text('The nextCursor of the previous page.')
  },
  { additionalProperties: false }
)
export type ScoreListQuery = Static<typeof ScoreListQuery>

export const ChangeListQuery = Type.Object(
  {
    after: text(
      'The nextCursor from an earlier page, or `now` for only future writes. If omitted, the list starts at the ' +
        'oldest stored trace.'
    ),
    limit: Type.Optional(limitUpTo(500))
  },
  { additionalProperties: false }
)
export type ChangeListQuery = Static<typeof ChangeListQuery>

export const pageSizeOf = (query: { readonly limit?: number }): number => query.limit ?? DEFAULT_LIMIT
