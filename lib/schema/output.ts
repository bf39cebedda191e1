/** Schemas of the responses (specification 2.4 to 2.10). */
import Type, { type Static } from 'typebox'
import { DATA_TYPES, SPAN_KINDS, STATUSES } from './input.ts'
import { closed, mapOf, named, nullable } from './object.ts'
import { SCOPES } from './scopes.ts'

const count = (description: string) => Type.Integer({ minimum: 0, description })
export const Count = Type.Integer({ minimum: 0 })
export const AnyJson = Type.Unknown({ description: 'Any JSON value.' })
export const AnyJsonObject = Type.Unsafe<{ [key: string]: unknown }>(
  Type.Object({}, { additionalProperties: true, description: 'An object of any JSON values.' })
)
export const DateTime = Type.String({
  format: 'date-time',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.(\\d{3}|\\d{6})Z$',
  description: 'ISO 8601 in UTC, with three or six fraction digits.'
})
export const ShownTraceId = Type.String({ pattern: '^[0-9a-f]{32}$' })
export const ShownSpanId = Type.String({ pattern: '^[0-9a-f]{16}$' })
export const Usage = named('Usage', { inputTokens: Count, outputTokens: Count, totalTokens: Count })

export const ScoreValue = Type.Union([Type.Number(), Type.String(), Type.Boolean()], {
  description: 'A number for `numeric`, a string for `categorical`, a boolean for `boolean`.'
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
  status: Type.Enum([...STATUSES, 'running'], { description: '`running` until the trace is ended.' }),
  environment: nullable(Type.String(), 'The environment of the key that recorded the trace; null: unassigned.'),
  startedAt: DateTime,
  endedAt: nullable(DateTime, 'Null while the trace is running.'),
  durationMs: nullable(Count, 'Null while the trace is running.'),
  provider: nullable(Type.String()),
  model: nullable(Type.String()),
  sessionId: nullable(Type.String()),
  userId: nullable(Type.String()),
  tags: Type.Array(Type.String()),
  usage: Usage,
  costUsd: nullable(Type.Number({ minimum: 0 })),
  spanCount: Count,
  errorCount: count('Spans whose status is `error`.'),
  estimatedBytes: count('Serialised size of the trace and its spans.'),
  ingestedAt: nullable(DateTime, 'When the service stored the trace; null: not known, for an imported one.'),
  scores: mapOf(ScoreSummary, 'The newest score of each name, by name.')
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
  usage: nullable(Usage, 'Null where none was recorded.'),
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
  description: '`api`: through this API or MCP; `annotation`: on the dashboard; `eval`: by an evaluator.'
})

export const ScoreOutput = named('Score', {
  id: ShownSpanId,
  traceId: ShownTraceId,
  spanId: nullable(ShownSpanId, 'The span that is judged; null: the whole trace.'),
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
  metadataUpdatedAt: nullable(DateTime, 'When the metadata was last changed after ingest; null: never.'),
  bodyHash: Type.String({
    pattern: '^[0-9a-f]{64}$',
    description: 'Identifies the body as it was ingested; later changes of the metadata leave it as it is.'
  })
}

export const TraceDetail = named('TraceDetail', {
  trace: named('Trace', { ...summaryFields, input: AnyJson, output: AnyJson, ...traceFoot }),
  spans: Type.Array(SpanOutput, { description: 'By `startedAt`, then id.' }),
  scores: Type.Array(ScoreOutput, { description: 'Newest first.' })
})

export const RequestId = Type.String({ description: 'The same as the X-Request-Id header.' })

export const TraceList = named('TraceList', {
  traces: Type.Array(TraceSummary),
  nextCursor: nullable(Type.String(), 'Pass as `after` for the next page; null: this is the last.'),
  prevCursor: nullable(Type.String(), 'Pass as `before` for the page before; null: this is the first.'),
  pageSize: count('The limit in force.')
})
export const TraceRecorded = named('TraceRecorded', {
  ok: Type.Boolean(),
  traceId: ShownTraceId,
  projectId: Type.String(),
  spanCount: Count,
  duplicate: Type.Boolean({ description: 'The identical body was stored before; nothing was written.' }),
  running: Type.Boolean({ description: 'The trace was started, not recorded whole.' }),
  requestId: RequestId
})
export const SpansAppended = named('SpansAppended', {
  ok: Type.Boolean(),
  traceId: ShownTraceId,
  added: count('Spans that this request wrote.'),
  duplicate: count('Spans that were stored before, identical.'),
  spanCount: count('Spans of the trace after this request.'),
  requestId: RequestId
})
export const TraceEnded = named('TraceEnded', {
  ok: Type.Boolean(),
  traceId: ShownTraceId,
  duplicate: Type.Boolean({ description: 'The trace had ended before with this very body.' }),
  spanCount: count('Spans of the trace after this request.'),
  requestId: RequestId
})
export const MetadataPatched = named('MetadataPatched', {
  ok: Type.Boolean(),
  traceId: ShownTraceId,
  metadata: AnyJsonObject,
  changed: Type.Boolean({ description: 'False: this was stored already, and nothing was written.' }),
  requestId: RequestId
})
export const TraceDeleted = named('TraceDeleted', { ok: Type.Boolean(), traceId: ShownTraceId })
export const ScoreAdded = named('ScoreAdded', { ok: Type.Boolean(), score: ScoreOutput, requestId: RequestId })
export const ScoreDeleted = named('ScoreDeleted', { ok: Type.Boolean(), traceId: ShownTraceId, scoreId: ShownSpanId })
export const TraceScoreList = named('TraceScoreList', { traceId: ShownTraceId, scores: Type.Array(ScoreOutput) })
export const ScoreList = named('ScoreList', {
  scores: Type.Array(ScoreOutput),
  nextCursor: nullable(Type.String(), 'Pass as `after` for the next page; null: this is the last.'),
  pageSize: count('The limit in force.')
})

export const KeyDescription = named('KeyDescription', {
  keyId: Type.String(),
  projectId: Type.String(),
  scopes: Type.Array(Type.Enum([...SCOPES])),
  expiresAt: nullable(DateTime, 'Null: never.'),
  lastUsedAt: DateTime,
  environment: nullable(Type.String(), 'The environment stamped on what the key records; null: unassigned.')
})

export const Project = named('Project', {
  id: Type.String(),
  name: Type.String(),
  slug: Type.String(),
  description: Type.String(),
  traceCount: Count,
  spanCount: Count,
  estimatedBytes: Count,
  lastTraceAt: nullable(DateTime, 'When the newest trace was ingested.'),
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
  endpoints: mapOf(Type.String(), 'Names of operations to `METHOD path`.'),
  auth: Type.String()
})
