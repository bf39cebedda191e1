/** Schemas of the search across a project's traces: its query parameters and its response. */
import Type, { type Static } from 'typebox'
import { SPAN_KINDS, STATUSES, Timestamp } from '../input.ts'
import { named, nullable } from '../object.ts'
import { Count, DateTime, ShownSpanId, summaryFields } from '../output.ts'
import { TraceListQuery } from '../query.ts'
import { Hint } from './hint.ts'

/** Maximum number of characters of words to search for. */
export const MOST_SEARCHED = 200
const MOST_TAGS = 20
const MOST_SCORES = 10

const text = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))
const words = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: MOST_SEARCHED, description }))
const count = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }))
const amount = (description: string) => Type.Optional(Type.Number({ minimum: 0, description }))
const time = (description: string) => Type.Optional(Type.String({ ...Timestamp, description }))
const flag = (description: string) => Type.Optional(Type.Boolean({ description }))

const listed = TraceListQuery.properties

export const TraceSearchQuery = Type.Object(
  {
    q: words(
      "Words, and phrases in double quotes. All of them must occur in the trace's texts: its name and metadata, the " +
        'inputs and outputs of the trace, its model calls and tool calls, and the errors of its steps. Search must ' +
        'be on for the project.'
    ),
    status: listed.status,
    model: listed.model,
    name: listed.name,
    tag: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        maxItems: MOST_TAGS,
        description: 'A tag that the trace must have. May be repeated.'
      })
    ),
    environment: listed.environment,
    sessionId: text('The exact session id.'),
    userId: text('The exact user id.'),
    runsOnly: listed.runsOnly,
    step: text(
      'The exact name of a step (span). `step`, `stepKind`, `stepStatus` and `error` must all match the same step.'
    ),
    stepKind: Type.Optional(Type.Enum([...SPAN_KINDS], { description: 'The kind of the step.' })),
    stepStatus: Type.Optional(Type.Enum([...STATUSES], { description: 'The status of the step.' })),
    error: words("The type of a failed step's error, such as `TimeoutError`, or words from its type and message."),
    errors: flag('If true, finds only traces that failed or have a failed step.'),
    score: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        maxItems: MOST_SCORES,
        description:
          'A condition on the newest score with a name: `helpfulness<0.5` (or <=, >, >=, =), `grounded=true`, ' +
          '`verdict=correct`. Spaces around the comparison are ignored. May be repeated.'
      })
    ),
    annotated: flag('Whether the trace has a score from the dashboard.'),
    minDurationMs: count('The minimum durationMs, inclusive.'),
    maxDurationMs: count('The maximum durationMs, inclusive.'),
    minCostUsd: amount('The minimum costUsd, inclusive.'),
    maxCostUsd: amount('The maximum costUsd, inclusive.'),
    withoutCost: flag('If true, finds only traces with no known cost.'),
    minTotalTokens: count('The minimum usage.totalTokens, inclusive.'),
    maxTotalTokens: count('The maximum usage.totalTokens, inclusive.'),
    from: time('The inclusive lower bound of startedAt.'),
    to: time('The inclusive upper bound of startedAt.'),
    sort: listed.sort,
    limit: listed.limit,
    after: text('The nextCursor of the previous page. Requires the same `sort`.')
  },
  { additionalProperties: false }
)
export type TraceSearchQuery = Static<typeof TraceSearchQuery>

/** Lengths in characters beyond which texts of a summary are cut. */
export const CUT = { message: 200, preview: 200 }

export const FirstError = named('FirstError', {
  spanId: ShownSpanId,
  step: Type.String({ description: 'The name of the step.' }),
  kind: Type.Enum([...SPAN_KINDS]),
  type: nullable(Type.String(), "The error's type, such as `TimeoutError`, if it was recorded."),
  message: nullable(Type.String(), `The error's message, if it was recorded, truncated to ${CUT.message} characters.`)
})

/** The kinds of texts that are searched (lib/search/texts.ts). */
export const EXCERPT_PLACES = ['name', 'input', 'output', 'error', 'metadata'] as const

const Excerpt = named('Excerpt', {
  place: Type.Enum([...EXCERPT_PLACES], {
    description:
      "Where the text was found: in the trace's name or metadata, in an input or output of the trace, a model call " +
      "or a tool call, or in a failed step's error."
  }),
  spanId: nullable(
    ShownSpanId,
    "The span that contains the text. Null for the trace's own name, input, output and metadata."
  ),
  role: nullable(
    Type.String(),
    'The role of the message that contains the text, such as `user`. Null if there is none.'
  ),
  text: Type.String(),
  marks: Type.Array(Type.Array(Count), {
    description: 'The start and end of each match in `text`, in UTF-16 code units.'
  })
})

const preview = (what: string) =>
  nullable(Type.String(), `The beginning of the ${what}, as text, truncated to about ${CUT.preview} characters.`)

export const FoundTrace = named('FoundTrace', {
  ...summaryFields,
  firstError: nullable(
    FirstError,
    'The failed step that ended first, preferably one that meets `step`, `stepKind`, `stepStatus` and `error`. Null ' +
      'if no step failed.'
  ),
  inputPreview: preview('input'),
  outputPreview: preview('output'),
  excerpt: nullable(Excerpt, 'A text that contains words from `q`, preferably not a system prompt. Null without `q`.'),
  moreExcerpts: Type.Array(Excerpt, {
    description: 'Up to two later texts that contain words from `q`, each in a different span.'
  })
})

const SearchIndex = named('SearchIndex', {
  isFilled: Type.Boolean({ description: 'Whether the index includes all traces from before search was turned on.' }),
  backTo: nullable(
    DateTime,
    'While the index is still being built, only traces that started at or after this time are indexed.'
  ),
  waiting: Type.Integer({ minimum: 0, description: 'The number of writes not yet indexed.' }),
  partlyIndexed: Type.Integer({
    minimum: 0,
    description:
      'The number of traces not yet searchable by their errors, tool calls and metadata, because an earlier version ' +
      'of the server indexed them.'
  })
})

export const TraceSearchPage = named('TraceSearchPage', {
  traces: Type.Array(FoundTrace),
  nextCursor: nullable(
    Type.String(),
    'To get the next page, pass this value as `after`. Even a short or empty page may have one. Null on the last page.'
  ),
  pageSize: Type.Integer({ minimum: 0, description: 'The limit in effect.' }),
  examined: Type.Integer({
    minimum: 0,
    description: 'The number of traces examined to find the page.'
  }),
  reached: nullable(
    Type.Union([DateTime, Type.Number()]),
    'Set if the call stopped before the page was full: the startedAt, durationMs or costUsd (depending on the sort) ' +
      'of the last trace examined. To continue, call again with nextCursor.'
  ),
  hint: Hint,
  index: nullable(SearchIndex, 'How complete the search index is. Null without `q`.')
})
