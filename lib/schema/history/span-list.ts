/** Schemas of the routes that list steps across traces, and of those that group failures. */
import Type, { type Static } from 'typebox'
import { SPAN_KINDS, STATUSES, Timestamp, TraceId } from '../input.ts'
import { closed, named, nullable } from '../object.ts'
import {
  AnyJson,
  AnyJsonObject,
  Count,
  DateTime,
  ShownSpanId,
  ShownTraceId,
  SpanEvent,
  spanCost,
  spanHead
} from '../output.ts'
import { Environment } from '../query.ts'
import { Hint } from './hint.ts'

/** Maximum page size of a list of spans with their texts. */
export const MOST_WITH_TEXTS = 20
/** Number of days for which failures are grouped if the request has no times. */
export const FAILURE_DAYS = 7

const text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))
const time = (description: string) => Type.Optional(Type.String({ ...Timestamp, description }))
const limit = (description: string, preset = 50) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: preset, description }))

/** Filters of the trace that a span or a failure belongs to. */
const ofTrace = {
  environment: Type.Optional(Environment),
  traceName: text('The exact name of the trace.'),
  tag: text('A tag that the trace must have.'),
  userId: text('The exact user id of the trace.'),
  sessionId: text('The exact session id of the trace.')
}

export const SpanListQuery = closed({
  kind: Type.Optional(Type.Enum([...SPAN_KINDS], { description: 'The kind of the span.' })),
  name: text('The exact name of the span.'),
  status: Type.Optional(Type.Enum([...STATUSES], { description: 'The status of the span.' })),
  model: text('The exact model of the span.'),
  traceId: Type.Optional(Type.Unsafe<string>({ ...TraceId, description: 'Lists only spans of this trace.' })),
  ...ofTrace,
  from: time("The inclusive lower bound of the trace's startedAt."),
  to: time("The inclusive upper bound of the trace's startedAt."),
  sort: Type.Optional(
    Type.Enum(['newest', 'slowest'], {
      default: 'newest',
      description:
        '`slowest` returns the slowest spans from the traces that it can examine in 1 s, up to 50,000. nextCursor is ' +
        'set if the period has more traces.'
    })
  ),
  minDurationMs: Type.Optional(
    Type.Integer({ minimum: 0, description: 'The minimum duration of the span in milliseconds, inclusive.' })
  ),
  withoutCost: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'If true, lists only spans with no known cost. With `kind=llm`, these are calls to models without a price.'
    })
  ),
  texts: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Adds the input, output, attributes and events of each span. ' +
        `\`limit\` must then be at most ${MOST_WITH_TEXTS}.`
    })
  ),
  limit: limit('The maximum number of spans per page. The default is 20 with `texts=true`.'),
  after: text('The nextCursor of the previous page. Requires the same `sort`.')
})
export type SpanListQuery = Static<typeof SpanListQuery>

const StepError = named('StepError', {
  type: nullable(
    Type.String(),
    'The type of the error, such as `TimeoutError`. Null if the sender did not provide one.'
  ),
  message: nullable(
    Type.String(),
    'The message, truncated to 1,000 characters. Null if the sender did not provide one.'
  )
})

const bytes = (what: string) => Type.Integer({ minimum: 0, description: `The size of the ${what} as JSON, in bytes.` })

export const ListedSpan = named('ListedSpan', {
  ...spanHead,
  traceName: Type.String(),
  environment: nullable(Type.String(), 'The environment of the trace. Null means unassigned.'),
  ...spanCost,
  error: nullable(StepError, 'Why the span failed. Null unless its status is `error`.'),
  inputBytes: bytes('input'),
  outputBytes: bytes('output'),
  attributesBytes: bytes('attributes'),
  eventCount: Count,
  input: Type.Optional(AnyJson),
  output: Type.Optional(AnyJson),
  attributes: Type.Optional(AnyJsonObject),
  events: Type.Optional(Type.Array(SpanEvent))
})

const Reached = nullable(
  DateTime,
  'The start of the last trace examined, if the request stopped at its work limits. Otherwise null.'
)

export const SpanList = named('SpanList', {
  spans: Type.Array(ListedSpan),
  nextCursor: nullable(
    Type.String(),
    'To get the next page, pass this value as `after`. Null on the last page. Any earlier page may be short or empty.'
  ),
  reached: Reached,
  hint: Hint,
  pageSize: Type.Integer({ minimum: 0, description: 'The limit in effect.' })
})

export const FailureListQuery = closed({
  kind: Type.Optional(
    Type.Enum([...SPAN_KINDS, 'trace'], {
      description: 'The kind of the failed step. `trace` selects traces that failed without a failed step.'
    })
  ),
  name: text('The exact name of the failed step.'),
  model: text('The exact model of the failed step.'),
  ...ofTrace,
  from: time(`The inclusive lower bound of the trace's startedAt. The default is ${FAILURE_DAYS} days before \`to\`.`),
  to: time("The inclusive upper bound of the trace's startedAt. The default is now."),
  limit: limit('The maximum number of groups.'),
  after: text('The nextCursor of an earlier response for the same period. Groups the failures that it left out.')
})
export type FailureListQuery = Static<typeof FailureListQuery>

/** Maximum number of steps whose failures a response counts separately. */
export const MOST_STEPS = 50

const counts = {
  count: Type.Integer({ minimum: 1, description: 'The number of failures.' }),
  passedOn: Type.Integer({
    minimum: 0,
    description: 'The number of these failures whose step has a child that also failed.'
  }),
  traces: Type.Integer({ minimum: 1, description: 'The number of traces with such a failure.' })
}

const failing = {
  name: Type.String({ description: 'The name of the failed step, or of the trace if `kind` is `trace`.' }),
  kind: Type.Enum([...SPAN_KINDS, 'trace'], {
    description: 'The kind of the failed step, or `trace` for traces that failed without a failed step.'
  })
}

export const StepFailures = named('StepFailures', { ...failing, ...counts })

export const FailureGroup = named('FailureGroup', {
  ...failing,
  type: nullable(Type.String(), 'The type of the error. Null if the senders did not provide one.'),
  message: nullable(
    Type.String(),
    'The message, with placeholders such as `<id>`, `<path>` and `<number>` for values that vary. Null if none.'
  ),
  ...counts,
  firstSeen: DateTime,
  lastSeen: DateTime,
  example: closed({
    traceId: ShownTraceId,
    spanId: nullable(ShownSpanId, 'Null if `kind` is `trace`.'),
    message: nullable(Type.String(), 'The message of the last failure, truncated to 1,000 characters.')
  })
})

export const FailureList = named('FailureList', {
  from: DateTime,
  to: DateTime,
  errors: Type.Array(FailureGroup, {
    description: 'The groups, ordered by failures without a failed child, most first.'
  }),
  steps: Type.Array(StepFailures, {
    description: `The failures per step, ordered as in \`errors\`, for up to ${MOST_STEPS} steps.`
  }),
  failureCount: Type.Integer({ minimum: 0, description: 'The number of failures in all groups.' }),
  groupCount: Type.Integer({ minimum: 0, description: 'The number of groups. `errors` contains the first of them.' }),
  complete: Type.Boolean({ description: 'Whether all traces between `from` and `to` were examined.' }),
  reached: Reached,
  nextCursor: nullable(
    Type.String(),
    'To group the failures that this request did not reach, pass this value as `after`. Null if it is complete.'
  ),
  hint: Hint,
  pageSize: Type.Integer({ minimum: 0, description: 'The limit in effect.' })
})
