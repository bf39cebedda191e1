/** Schemas of the sums over time that `GET /api/v1/usage` returns. */
import Type, { type Static } from 'typebox'
import { FIELD_VALUES } from '../field-values.ts'
import { SPAN_KINDS, Timestamp } from '../input.ts'
import { closed, named, nullable } from '../object.ts'
import { Count, DateTime } from '../output.ts'
import { Environment } from '../query.ts'
import { Hint } from './hint.ts'

/** Maximum number of groups that a response lists separately. */
const MOST_GROUPS = 200
export const USUAL_GROUPS = 20

const text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))
const time = (description: string) => Type.Optional(Type.String({ ...Timestamp, description }))

export const UsageQuery = closed({
  from: time(
    'The inclusive lower bound of startedAt. Defaults to 7 days before `to`. With an `interval`, defaults to the ' +
      'beginning of the last 7 days or 168 hours, the last of which contains `to`.'
  ),
  to: time('The exclusive upper bound of startedAt. Defaults to now.'),
  environment: Type.Optional(Environment),
  name: text('The exact name of the trace.'),
  model: text('The exact model of the trace.'),
  tag: text('A tag that the trace must have.'),
  userId: text('The exact user id of the trace.'),
  sessionId: text('The exact session id of the trace.'),
  by: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'Groups the results by `model`, `name`, `environment`, `user`, `step` (kind and name of the spans) or ' +
        '`tag:KEY` (the values of tags such as `KEY:value`). Without `by`, all traces are one group.'
    })
  ),
  interval: Type.Optional(
    Type.Enum(['hour', 'day', 'none'], {
      default: 'none',
      description: 'Divides the period into hours or days (UTC). With `none`, totals cover the whole period.'
    })
  ),
  stepKind: Type.Optional(
    Type.Enum([...SPAN_KINDS], { description: 'With `by=step`, includes only steps of this kind.' })
  ),
  sort: Type.Optional(
    Type.Enum(FIELD_VALUES.usageSort, {
      default: 'traces',
      description:
        'The value that groups are sorted by, descending. `tokens` is input plus output tokens; `duration` is p95Ms.'
    })
  ),
  scores: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        "Adds the traces' scores to each row and to the total. Unavailable with `by=step` or over 20,000 traces."
    })
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MOST_GROUPS,
      default: USUAL_GROUPS,
      description:
        'The number of groups to list separately, in `sort` order. All others are combined into one more group.'
    })
  )
})
export type UsageQuery = Static<typeof UsageQuery>

const Tokens = Type.Integer({ minimum: 0 })
const sums = {
  traces: Type.Integer({ minimum: 0, description: 'The number of finished traces.' }),
  errors: Type.Integer({ minimum: 0, description: 'The number of traces (steps with `by=step`) that failed.' }),
  inputTokens: Tokens,
  outputTokens: Tokens,
  costUsd: Type.Number({ minimum: 0, description: 'The known cost, recorded or computed, in US dollars.' }),
  computedCostUsd: nullable(
    Type.Number({ minimum: 0 }),
    'The part of costUsd from traces (steps with `by=step`) whose cost spoor computed from tokens. The rest was sent ' +
      'with the traces. Null if unknown.'
  ),
  withoutCost: Type.Integer({
    minimum: 0,
    description: 'The number of traces (steps with `by=step`) with no known cost.'
  }),
  p50Ms: nullable(Type.Number({ minimum: 0 }), 'The median duration in ms.'),
  p95Ms: nullable(Type.Number({ minimum: 0 }), 'The 95th percentile of the durations (nearest rank), in ms.')
}

/** Maximum number of names of scores per row. */
export const MOST_SCORE_NAMES = 20

const UsageScore = named('UsageScore', {
  name: Type.String(),
  count: Type.Integer({ minimum: 1, description: 'The number of traces with such a score.' }),
  mean: nullable(
    Type.Number(),
    'The mean of numeric scores, or the share of `true` for boolean scores. Null if all values are categories.'
  )
})
export type UsageScore = Static<typeof UsageScore>
const scores = {
  scores: Type.Optional(
    Type.Array(UsageScore, {
      description:
        `With \`scores=true\`, each trace's newest score per name, summarised by name, for the ${MOST_SCORE_NAMES} ` +
        'names with the most scores.'
    })
  )
}

export const UsageSums = named('UsageSums', { ...sums, ...scores })
export type UsageSums = Static<typeof UsageSums>

export const UsageRow = named('UsageRow', {
  start: nullable(DateTime, 'The start of the hour or day. Null if `interval` is `none`.'),
  key: nullable(
    Type.String(),
    "The group's value, such as a model or a name. Null for traces without one, and for the row that combines all " +
      'other groups. Traces recorded with keys without an environment have the environment `unassigned`.'
  ),
  kind: nullable(Type.String(), 'The kind of step, with `by=step`.'),
  isOther: Type.Boolean({ description: 'Whether the row combines all groups that are not listed separately.' }),
  steps: nullable(Count, 'The number of steps, with `by=step`.'),
  ...sums,
  ...scores
})
export type UsageRow = Static<typeof UsageRow>

export const UsageReply = named('UsageReply', {
  from: DateTime,
  to: DateTime,
  by: nullable(Type.String()),
  interval: Type.Enum(['hour', 'day', 'none']),
  approximate: Type.Boolean({
    description:
      'Whether stored totals were used because there are too many traces. If so, `from` and `to` are whole hours or ' +
      'days, and percentiles are approximate.'
  }),
  countedFrom: nullable(
    DateTime,
    'Traces that started before this time are not yet in the stored totals. Null if all are.'
  ),
  total: UsageSums,
  rows: Type.Array(UsageRow, {
    description:
      'Ordered by start, oldest first, then by `sort`, descending. Hours and days without traces are left out.'
  }),
  others: Type.Integer({ minimum: 0, description: 'The number of groups that are not listed separately.' }),
  hint: Hint
})
export type UsageReply = Static<typeof UsageReply>
