/** What the service answers: specification 2.4 to 2.10 as typebox schemas. */
import Type, { type Static, type TProperties, type TSchema } from 'typebox'
import { SCOPES } from '../keys.ts'
import { DATA_TYPES, SPAN_KINDS, STATUSES } from './input.ts'

const closed = <P extends TProperties>(properties: P) => Type.Object(properties, { additionalProperties: false })
const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])

const Count = Type.Integer({ minimum: 0 })
const Json = Type.Unknown({ description: 'Any JSON value.' })
const JsonObject = Type.Object({}, { description: 'An object of any JSON values.' })
const DateTime = Type.String({
  format: 'date-time',
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.(\\d{3}|\\d{6})Z$',
  description: 'ISO 8601 in UTC, with three or six fraction digits.'
})
const TraceId = Type.String({ pattern: '^[0-9a-f]{32}$' })
const SpanId = Type.String({ pattern: '^[0-9a-f]{16}$' })
const Usage = closed({ inputTokens: Count, outputTokens: Count, totalTokens: Count })

const ScoreValue = Type.Union([Type.Number(), Type.String(), Type.Boolean()])

const ScoreSummary = closed({
  scoreId: SpanId,
  dataType: Type.Enum([...DATA_TYPES]),
  value: ScoreValue,
  evaluatorId: nullable(Type.String())
})

const summaryFields = {
  id: TraceId,
  name: Type.String(),
  status: Type.Enum([...STATUSES, 'running']),
  environment: nullable(Type.String()),
  startedAt: DateTime,
  endedAt: nullable(DateTime),
  durationMs: nullable(Count),
  provider: nullable(Type.String()),
  model: nullable(Type.String()),
  sessionId: nullable(Type.String()),
  userId: nullable(Type.String()),
  tags: Type.Array(Type.String()),
  usage: Usage,
  costUsd: nullable(Type.Number({ minimum: 0 })),
  spanCount: Count,
  errorCount: Count,
  estimatedBytes: Count,
  ingestedAt: nullable(DateTime),
  scores: Type.Object(
    {},
    { additionalProperties: ScoreSummary, description: 'The newest score of each name, by name.' }
  )
}

export const TraceSummary = closed(summaryFields)

export const SpanOutput = closed({
  id: SpanId,
  traceId: TraceId,
  parentSpanId: nullable(SpanId),
  name: Type.String(),
  kind: Type.Enum([...SPAN_KINDS]),
  status: Type.Enum([...STATUSES]),
  startedAt: DateTime,
  endedAt: DateTime,
  durationMs: Count,
  provider: nullable(Type.String()),
  model: nullable(Type.String()),
  input: Json,
  output: Json,
  attributes: JsonObject,
  events: Type.Array(closed({ name: Type.String(), timestamp: DateTime, attributes: nullable(JsonObject) })),
  usage: nullable(Usage),
  costUsd: nullable(Type.Number({ minimum: 0 }))
})

export const ScoreOutput = closed({
  id: SpanId,
  traceId: TraceId,
  spanId: nullable(SpanId),
  name: Type.String(),
  dataType: Type.Enum([...DATA_TYPES]),
  value: ScoreValue,
  comment: nullable(Type.String()),
  source: Type.Enum(['api', 'annotation', 'eval']),
  evaluatorId: nullable(Type.String()),
  runId: nullable(Type.String()),
  createdAt: DateTime
})
export type ScoreOutput = Static<typeof ScoreOutput>

export const TraceDetail = closed({
  trace: closed({
    ...summaryFields,
    input: Json,
    output: Json,
    metadata: JsonObject,
    metadataUpdatedAt: nullable(DateTime),
    bodyHash: Type.String({ pattern: '^[0-9a-f]{64}$' })
  }),
  spans: Type.Array(SpanOutput),
  scores: Type.Array(ScoreOutput)
})

const RequestId = Type.String({ description: 'The same as the X-Request-Id header.' })

export const TraceList = closed({
  traces: Type.Array(TraceSummary),
  nextCursor: nullable(Type.String()),
  prevCursor: nullable(Type.String()),
  pageSize: Count
})
export const TraceRecorded = closed({
  ok: Type.Boolean(),
  traceId: TraceId,
  projectId: Type.String(),
  spanCount: Count,
  duplicate: Type.Boolean(),
  running: Type.Boolean(),
  requestId: RequestId
})
export const SpansAppended = closed({
  ok: Type.Boolean(),
  traceId: TraceId,
  added: Count,
  duplicate: Count,
  spanCount: Count,
  requestId: RequestId
})
export const TraceEnded = closed({
  ok: Type.Boolean(),
  traceId: TraceId,
  duplicate: Type.Boolean(),
  spanCount: Count,
  requestId: RequestId
})
export const MetadataPatched = closed({
  ok: Type.Boolean(),
  traceId: TraceId,
  metadata: JsonObject,
  changed: Type.Boolean(),
  requestId: RequestId
})
export const TraceDeleted = closed({ ok: Type.Boolean(), traceId: TraceId })
export const ScoreAdded = closed({ ok: Type.Boolean(), score: ScoreOutput, requestId: RequestId })
export const ScoreDeleted = closed({ ok: Type.Boolean(), traceId: TraceId, scoreId: SpanId })
export const TraceScores = closed({ traceId: TraceId, scores: Type.Array(ScoreOutput) })
export const ScoreList = closed({
  scores: Type.Array(ScoreOutput),
  nextCursor: nullable(Type.String()),
  pageSize: Count
})

export const KeyDescription = closed({
  keyId: Type.String(),
  projectId: Type.String(),
  scopes: Type.Array(Type.Enum([...SCOPES])),
  expiresAt: nullable(DateTime),
  lastUsedAt: DateTime,
  environment: nullable(Type.String())
})

export const Project = closed({
  id: Type.String(),
  name: Type.String(),
  slug: Type.String(),
  description: Type.String(),
  traceCount: Count,
  spanCount: Count,
  estimatedBytes: Count,
  lastTraceAt: nullable(DateTime),
  createdAt: DateTime,
  storage: closed({ limitBytes: Count, level: Type.Enum(['ok', 'warning', 'critical']) }),
  keyScopes: Type.Array(Type.Enum([...SCOPES]))
})

export const ApiIndex = closed({
  name: Type.String(),
  version: Type.String(),
  openapi: Type.String(),
  docs: Type.String(),
  mcp: Type.String(),
  endpoints: Type.Object({}, { additionalProperties: Type.String() }),
  auth: Type.String()
})

export const ErrorBody = closed({
  error: closed({ code: Type.String(), message: Type.String(), requestId: RequestId })
})
