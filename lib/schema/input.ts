/**
 * What clients may send: the bodies of specification 2.1 to 2.3 and 2.7 as typebox schemas, the one source of
 * validation, OpenAPI document, MCP tools and types. Rules that a schema cannot say (order of times, U+0000 in text
 * columns, 100 levels) are in lib/trace.
 */
import Type, { type Static, type TProperties } from 'typebox'

export const MAX_SPANS = 200
export const MAX_TAGS = 20
export const MAX_EVENTS = 50
export const MAX_SCORES = 100
/** Request bodies, decoded. */
export const MAX_BODY_BYTES = 2_097_152
/** One stored document: a trace without its spans, or one span. */
export const MAX_DOCUMENT_BYTES = 768_000
/** Levels of nesting in a body; the outermost is level 1. */
export const MAX_JSON_DEPTH = 100

export const SPAN_KINDS = ['llm', 'agent', 'tool', 'chain', 'retriever', 'embedding', 'reranker', 'custom'] as const
export const STATUSES = ['ok', 'error', 'unset'] as const
export const DATA_TYPES = ['numeric', 'categorical', 'boolean'] as const

const closed = <P extends TProperties>(properties: P, options: object = {}) =>
  Type.Object(properties, { additionalProperties: false, ...options })

/** Any JSON value, kept exactly. */
const Json = Type.Unknown({ description: 'Any JSON value, kept exactly as sent.' })
const JsonObject = Type.Object({}, { description: 'An object of any JSON values, kept exactly as sent.' })
const Name = Type.String({ minLength: 1, maxLength: 500 })
const Label = Type.String({ minLength: 1, maxLength: 200 })
export const Timestamp = Type.String({
  format: 'date-time',
  description: 'ISO 8601 date and time; without Z or an offset it is read as UTC. Kept to the microsecond.'
})
export const TraceId = Type.String({
  pattern: '^[0-9a-fA-F]{32}$',
  description: '32 hexadecimal characters, folded to lower case.'
})
export const SpanId = Type.String({
  pattern: '^[0-9a-fA-F]{16}$',
  description: '16 hexadecimal characters, folded to lower case.'
})
const SchemaVersion = Type.Literal(1)
const Status = Type.Enum([...STATUSES])
const TokenCount = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Usage = closed({
  inputTokens: Type.Optional(TokenCount),
  outputTokens: Type.Optional(TokenCount),
  totalTokens: Type.Optional(TokenCount)
})
const Cost = Type.Number({ minimum: 0 })
const Tags = Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: MAX_TAGS })

export const EventInput = closed({
  name: Name,
  timestamp: Timestamp,
  attributes: Type.Optional(JsonObject)
})

export const SpanInput = closed({
  id: SpanId,
  parentSpanId: Type.Optional(Type.Union([SpanId, Type.Null()])),
  name: Name,
  kind: Type.Optional(Type.Enum([...SPAN_KINDS], { default: 'custom' })),
  status: Type.Optional(Type.Enum([...STATUSES], { default: 'unset' })),
  startedAt: Timestamp,
  endedAt: Timestamp,
  provider: Type.Optional(Label),
  model: Type.Optional(Label),
  input: Type.Optional(Json),
  output: Type.Optional(Json),
  attributes: Type.Optional(JsonObject),
  events: Type.Optional(Type.Array(EventInput, { maxItems: MAX_EVENTS })),
  usage: Type.Optional(Usage),
  costUsd: Type.Optional(Cost)
})
export type SpanInput = Static<typeof SpanInput>

const Spans = Type.Array(SpanInput, { maxItems: MAX_SPANS })

export const TraceInput = closed({
  id: TraceId,
  name: Name,
  status: Type.Optional(Status),
  startedAt: Timestamp,
  endedAt: Type.Optional(Timestamp),
  provider: Type.Optional(Label),
  model: Type.Optional(Label),
  sessionId: Type.Optional(Label),
  userId: Type.Optional(Label),
  tags: Type.Optional(Tags),
  input: Type.Optional(Json),
  output: Type.Optional(Json),
  metadata: Type.Optional(JsonObject),
  usage: Type.Optional(Usage),
  costUsd: Type.Optional(Cost),
  spans: Type.Optional(Spans)
})
export type TraceInput = Static<typeof TraceInput>

export const IngestBody = closed({ schemaVersion: SchemaVersion, trace: TraceInput })
export type IngestBody = Static<typeof IngestBody>

export const SpansBody = closed({
  schemaVersion: SchemaVersion,
  spans: Type.Array(SpanInput, { minItems: 1, maxItems: MAX_SPANS })
})
export type SpansBody = Static<typeof SpansBody>

export const EndBody = closed({
  schemaVersion: SchemaVersion,
  endedAt: Timestamp,
  status: Type.Optional(Type.Enum([...STATUSES], { default: 'unset' })),
  provider: Type.Optional(Label),
  model: Type.Optional(Label),
  output: Type.Optional(Json),
  usage: Type.Optional(Usage),
  costUsd: Type.Optional(Cost),
  metadata: Type.Optional(JsonObject),
  tags: Type.Optional(Tags),
  spans: Type.Optional(Spans)
})
export type EndBody = Static<typeof EndBody>

export const MetadataPatch = closed({ metadata: JsonObject })
export type MetadataPatch = Static<typeof MetadataPatch>

export const ScoreInput = closed({
  name: Type.String({ pattern: '^[A-Za-z0-9_-]+$', maxLength: 64 }),
  dataType: Type.Enum([...DATA_TYPES]),
  value: Type.Union([Type.Number(), Type.String({ maxLength: 200 }), Type.Boolean()]),
  comment: Type.Optional(Type.String({ maxLength: 2000 })),
  spanId: Type.Optional(SpanId)
})
export type ScoreInput = Static<typeof ScoreInput>
