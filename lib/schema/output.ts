/** Schemas of the responses (specification 2.4 to 2.10). */
import Type, { type Static } from 'typebox'
import { DATA_TYPES, SPAN_KINDS, STATUSES } from './input.ts'
import { closed, mapOf, named, nullable } from './object.ts'
import { SCOPES } from './scopes.ts'

const count = (description: string) => Type.Integer({ minimum: 0, description })
export const Count = Type.Integer({ minimum: 0 })
export const AnyJson = Type.Unknown({ description: 'Any JSON value.' })
export const AnyJsonObject = Type.Unsafe<{ [key: string]: unknown }>(
  Type.Object({}, { additionalProperties: true, description: 'An object whose values can be any JSON.' })
)
export const DateTime = Type.String({
  format: 'date-time',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.(\\d{3}|\\d{6})Z$',
  description: 'An ISO 8601 time in UTC, with three or six fraction digits.'
})
export const ShownTraceId = Type.String({ pattern: '^[0-9a-f]{32}$' })
export const ShownSpanId = Type.String({ pattern: '^[0-9a-f]{16}$' })
export const Usage = named('Usage', { inputTokens: Count, outputTokens: Count, totalTokens: Count })

export const ScoreValue = Type.Union([Type.Number(), Type.String(), Type.Boolean()], {
  description: 'The value is a number for `numeric`, a string for `categorical` and a boolean for `boolean`.'
})

const ScoreSummary = named('ScoreSummary', {
  scoreId: ShownSpanId,
  dataType: Type.Enum([...DATA_TYPES]),
  value: ScoreValue,
  evaluatorId: nullable(Type.String())
})

export const summaryFields = {
  id: ShownTraceId,
  name: Type.String(),
  status: Type.Enum([...STATUSES, 'running'], { description: 'The status is `running` until the trace ends.' }),
  environment: nullable(Type.String(), 'The environment of the key that recorded the trace. Null means unassigned.'),
  startedAt: DateTime,
  endedAt: nullable(DateTime, 'The end time. Null while the trace is running.'),
  durationMs: nullable(Count, 'The duration. Null while the trace is running.'),
  provider: nullable(Type.String()),
  model: nullable(Type.String()),
  sessionId: nullable(Type.String()),
  userId: nullable(Type.String()),
  tags: Type.Array(Type.String()),
  usage: Usage,
  costUsd: nullable(Type.Number({ minimum: 0 })),
  spanCount: Count,
  errorCount: count('The number of spans with status `error`.'),
  estimatedBytes: count('The serialised size of the trace and its spans.'),
  ingestedAt: nullable(
    DateTime,
    'The time at which the service stored the trace. Null if it is not known, as for some imported traces.'
  ),
  scores: mapOf(ScoreSummary, 'The newest score for each name.')
}

export const TraceSummary = named('TraceSummary', summaryFields)

export const SpanEvent = named('SpanEvent', {
  name: Type.String(),
  timestamp: DateTime,
  attributes: nullable(AnyJsonObject)
})

export const spanHead = {
  id: ShownSpanId,
  traceId: ShownTraceId,
  parentSpanId: nullable(ShownSpanId),
  name: Type.String(),
  kind: Type.Enum([...SPAN_KINDS]),
  status: Type.Enum([...STATUSES]),
  startedAt: DateTime,
  endedAt: DateTime,
  durationMs: Count,
  provider: nullable(Type.String()),
  model: nullable(Type.String())
}
export const spanCost = {
  usage: nullable(Usage, "The span's usage. Null if none was recorded."),
  costUsd: nullable(Type.Number({ minimum: 0 }))
}

export const SpanOutput = named('Span', {
  ...spanHead,
  input: AnyJson,
  output: AnyJson,
  attributes: AnyJsonObject,
  events: Type.Array(SpanEvent),
  ...spanCost
})

export const ScoreSource = Type.Enum(['api', 'annotation', 'eval'], {
  description: 'The source is `api` for this API and MCP, `annotation` for the dashboard and `eval` for an evaluator.'
})

export const ScoreOutput = named('Score', {
  id: ShownSpanId,
  traceId: ShownTraceId,
  spanId: nullable(ShownSpanId, 'The scored span. If null, the score applies to the whole trace.'),
  name: Type.String(),
  dataType: Type.Enum([...DATA_TYPES]),
  value: ScoreValue,
  comment: nullable(Type.String()),
  source: ScoreSource,
  evaluatorId: nullable(Type.String()),
  runId: nullable(Type.String()),
  createdAt: DateTime
})
export type ScoreOutput = Static<typeof ScoreOutput>

export const traceFoot = {
  metadata: AnyJsonObject,
  metadataUpdatedAt: nullable(DateTime, 'The time of the last metadata change after ingest. Null if there was none.'),
  bodyHash: Type.String({
    pattern: '^[0-9a-f]{64}$',
    description: 'A hash of the body as ingested. Later metadata changes do not affect it.'
  })
}

export const TraceDetail = named('TraceDetail', {
  trace: named('Trace', { ...summaryFields, input: AnyJson, output: AnyJson, ...traceFoot }),
  spans: Type.Array(SpanOutput, { description: 'The spans, ordered by `startedAt`, then id.' }),
  scores: Type.Array(ScoreOutput, { description: 'The scores, newest first.' })
})

export const RequestId = Type.String({ description: 'The value of the X-Request-Id header.' })

export const TraceList = named('TraceList', {
  traces: Type.Array(TraceSummary),
  nextCursor: nullable(Type.String(), 'To get the next page, pass this value as `after`. Null on the last page.'),
  prevCursor: nullable(Type.String(), 'To get the previous page, pass this value as `before`. Null on the first page.'),
  pageSize: count('The limit in effect.')
})
export const ChangeList = named('ChangeList', {
  traces: Type.Array(TraceSummary),
  nextCursor: Type.String({ description: 'To get the next page, or to sync later, pass this value as `after`.' }),
  caughtUp: Type.Boolean({ description: 'Whether the page reaches the last committed write.' }),
  pageSize: count('The limit in effect.')
})
export const TraceRecorded = named('TraceRecorded', {
  ok: Type.Boolean(),
  traceId: ShownTraceId,
  projectId: Type.String(),
  spanCount: Count,
  duplicate: Type.Boolean({
    description: 'Whether an identical body was already stored. If so, nothing was written.'
  }),
  running: Type.Boolean({ description: 'Whether the trace was started rather than recorded complete.' }),
  requestId: RequestId
})
export const SpansAppended = named('SpansAppended', {
  ok: Type.Boolean(),
  traceId: ShownTraceId,
  added: count('The number of spans that this request wrote.'),
  duplicate: count('The number of spans that were already stored with identical content.'),
  spanCount: count('The number of spans in the trace after this request.'),
  requestId: RequestId
})
export const TraceEnded = named('TraceEnded', {
  ok: Type.Boolean(),
  traceId: ShownTraceId,
  duplicate: Type.Boolean({ description: 'Whether the trace had already ended with the same body.' }),
  spanCount: count('The number of spans in the trace after this request.'),
  requestId: RequestId
})
export const MetadataPatched = named('MetadataPatched', {
  ok: Type.Boolean(),
  traceId: ShownTraceId,
  metadata: AnyJsonObject,
  changed: Type.Boolean({ description: 'Whether the metadata changed. If not, nothing was written.' }),
  requestId: RequestId
})
export const TraceDeleted = named('TraceDeleted', { ok: Type.Boolean(), traceId: ShownTraceId })
export const ScoreAdded = named('ScoreAdded', { ok: Type.Boolean(), score: ScoreOutput, requestId: RequestId })
export const ScoreDeleted = named('ScoreDeleted', { ok: Type.Boolean(), traceId: ShownTraceId, scoreId: ShownSpanId })
export const TraceScoreList = named('TraceScoreList', { traceId: ShownTraceId, scores: Type.Array(ScoreOutput) })
export const ScoreList = named('ScoreList', {
  scores: Type.Array(ScoreOutput),
  nextCursor: nullable(Type.String(), 'To get the next page, pass this value as `after`. Null on the last page.'),
  pageSize: count('The limit in effect.')
})

export const KeyDescription = named('KeyDescription', {
  keyId: Type.String(),
  projectId: Type.String(),
  scopes: Type.Array(Type.Enum([...SCOPES])),
  expiresAt: nullable(DateTime, 'The expiry time. Null means never.'),
  lastUsedAt: DateTime,
  environment: nullable(Type.String(), 'The environment of traces recorded with the key. Null means unassigned.')
})

export const Project = named('Project', {
  id: Type.String(),
  name: Type.String(),
  slug: Type.String(),
  description: Type.String(),
  traceCount: Count,
  spanCount: Count,
  estimatedBytes: Count,
  lastTraceAt: nullable(DateTime, 'The time of the most recent ingest.'),
  createdAt: DateTime,
  storage: closed({ limitBytes: Count, level: Type.Enum(['ok', 'warning', 'critical']) }),
  keyScopes: Type.Array(Type.Enum([...SCOPES]))
})

export const ApiIndex = named('ApiIndex', {
  name: Type.String(),
  version: Type.String(),
  openapi: Type.String(),
  docs: Type.String(),
  mcp: Type.String(),
  endpoints: mapOf(Type.String(), 'The operations by name, each as `METHOD path`.'),
  auth: Type.String()
})
