/**
 * The service's types and limits, made from its OpenAPI document by `npm run client-types`. Not written by hand: a test
 * compares it with the document.
 */

export const SPAN_KINDS = ['llm', 'agent', 'tool', 'chain', 'retriever', 'embedding', 'reranker', 'custom'] as const
export const STATUSES = ['ok', 'error', 'unset'] as const
export const MAX_SPANS = 200
export const MAX_EVENTS = 50
export const MAX_TAGS = 20
export const MAX_TAG = 64
export const MAX_NAME = 500
export const MAX_TEXT = 200
export const MAX_CATEGORY = 200
export const MAX_COMMENT = 2000

export interface TraceInput {
  /** A trace id has 32 hexadecimal characters, converted to lower case. */
  id: string
  /** The run's name. */
  name: string
  /** The run's outcome. It must be absent if `endedAt` is absent. */
  status?: 'ok' | 'error' | 'unset' | undefined
  /** A date and time. ISO 8601, UTC by default, kept to the microsecond. */
  startedAt: string
  /** The end time, not before `startedAt`. Absent while running. ISO 8601, UTC by default, kept to the microsecond. */
  endedAt?: string | undefined
  /** The provider of the model, such as `anthropic` or `openai`. */
  provider?: string | undefined
  /** The provider's name for the model. */
  model?: string | undefined
  /** The run's conversation or session. */
  sessionId?: string | undefined
  /** The user on whose behalf the run was made. */
  userId?: string | undefined
  /** Labels for finding the trace. */
  tags?: readonly string[] | undefined
  /** The run's input. Any JSON value is allowed and kept exactly as sent. */
  input?: unknown
  /** The run's output. Any JSON value is allowed and kept exactly as sent. */
  output?: unknown
  /** Additional data about the run. Later requests can add to it. Values can be any JSON, kept exactly as sent. */
  metadata?: Record<string, unknown> | undefined
  usage?: UsageInput | undefined
  /** The cost in US dollars. */
  costUsd?: number | undefined
  /** The steps of the run. */
  spans?: readonly SpanInput[] | undefined
}

export type ScoreInput = NumericScoreInput | CategoricalScoreInput | BooleanScoreInput

export interface TraceDetail {
  trace: Trace
  /** The spans, ordered by `startedAt`, then id. */
  spans: readonly Span[]
  /** The scores, newest first. */
  scores: readonly Score[]
}

export interface TraceList {
  traces: readonly TraceSummary[]
  /** To get the next page, pass this value as `after`. Null on the last page. */
  nextCursor: string | null
  /** To get the previous page, pass this value as `before`. Null on the first page. */
  prevCursor: string | null
  /** The limit in effect. */
  pageSize: number
}

export interface ScoreList {
  scores: readonly Score[]
  /** To get the next page, pass this value as `after`. Null on the last page. */
  nextCursor: string | null
  /** The limit in effect. */
  pageSize: number
}

export interface TraceScoreList {
  traceId: string
  scores: readonly Score[]
}

export interface Project {
  id: string
  name: string
  slug: string
  description: string
  traceCount: number
  spanCount: number
  estimatedBytes: number
  /** The time of the most recent ingest. */
  lastTraceAt: string | null
  /** An ISO 8601 time in UTC, with three or six fraction digits. */
  createdAt: string
  storage: { limitBytes: number; level: 'ok' | 'warning' | 'critical' }
  keyScopes: readonly ('traces:write' | 'traces:read' | 'traces:delete')[]
}

export interface KeyDescription {
  keyId: string
  projectId: string
  scopes: readonly ('traces:write' | 'traces:read' | 'traces:delete')[]
  /** The expiry time. Null means never. */
  expiresAt: string | null
  /** An ISO 8601 time in UTC, with three or six fraction digits. */
  lastUsedAt: string
  /** The environment of traces recorded with the key. Null means unassigned. */
  environment: string | null
}

export interface UsageInput {
  inputTokens?: number | undefined
  outputTokens?: number | undefined
  totalTokens?: number | undefined
}

export interface SpanInput {
  /** The span's id, unique within its trace. 16 hexadecimal characters, converted to lower case. */
  id: string
  /** The id of the parent span, which may arrive later. */
  parentSpanId?: string | null | undefined
  /** The step's name. */
  name: string
  /** The step's kind. The default is `custom`. */
  kind?: 'llm' | 'agent' | 'tool' | 'chain' | 'retriever' | 'embedding' | 'reranker' | 'custom' | undefined
  /** The step's outcome. The default is `unset`. */
  status?: 'ok' | 'error' | 'unset' | undefined
  /** A date and time. ISO 8601, UTC by default, kept to the microsecond. */
  startedAt: string
  /** The end, not before `startedAt`. ISO 8601, UTC by default, kept to the microsecond. */
  endedAt: string
  /** The provider of the model, such as `anthropic` or `openai`. */
  provider?: string | undefined
  /** The provider's name for the model. */
  model?: string | undefined
  /** The step's input. Any JSON value is allowed and kept exactly as sent. */
  input?: unknown
  /** The step's output. Any JSON value is allowed and kept exactly as sent. */
  output?: unknown
  /** Additional attributes of the step. Values can be any JSON, kept exactly as sent. */
  attributes?: Record<string, unknown> | undefined
  /** Events within the step. */
  events?: readonly SpanEventInput[] | undefined
  usage?: UsageInput | undefined
  /** The cost in US dollars. */
  costUsd?: number | undefined
}

export interface NumericScoreInput {
  /** The name of the quality being scored. If a name is scored again, the newest score counts. */
  name: string
  dataType: 'numeric'
  value: number
  comment?: string | undefined
  /** The id of the scored span. Defaults to the whole trace. 16 hexadecimal characters, converted to lower case. */
  spanId?: string | undefined
}

export interface CategoricalScoreInput {
  /** The name of the quality being scored. If a name is scored again, the newest score counts. */
  name: string
  dataType: 'categorical'
  value: string
  comment?: string | undefined
  /** The id of the scored span. Defaults to the whole trace. 16 hexadecimal characters, converted to lower case. */
  spanId?: string | undefined
}

export interface BooleanScoreInput {
  /** The name of the quality being scored. If a name is scored again, the newest score counts. */
  name: string
  dataType: 'boolean'
  value: boolean
  comment?: string | undefined
  /** The id of the scored span. Defaults to the whole trace. 16 hexadecimal characters, converted to lower case. */
  spanId?: string | undefined
}

export interface Trace {
  id: string
  name: string
  /** The status is `running` until the trace ends. */
  status: 'ok' | 'error' | 'unset' | 'running'
  /** The environment of the key that recorded the trace. Null means unassigned. */
  environment: string | null
  /** An ISO 8601 time in UTC, with three or six fraction digits. */
  startedAt: string
  /** The end time. Null while the trace is running. */
  endedAt: string | null
  /** The duration. Null while the trace is running. */
  durationMs: number | null
  provider: string | null
  model: string | null
  sessionId: string | null
  userId: string | null
  tags: readonly string[]
  usage: Usage
  costUsd: number | null
  spanCount: number
  /** The number of spans with status `error`. */
  errorCount: number
  /** The serialised size of the trace and its spans. */
  estimatedBytes: number
  /** The time at which the service stored the trace. Null if it is not known, as for some imported traces. */
  ingestedAt: string | null
  /** The newest score for each name. */
  scores: Record<string, ScoreSummary>
  /** Any JSON value. */
  input: unknown
  /** Any JSON value. */
  output: unknown
  /** An object whose values can be any JSON. */
  metadata: Record<string, unknown>
  /** The time of the last metadata change after ingest. Null if there was none. */
  metadataUpdatedAt: string | null
  /** A hash of the body as ingested. Later metadata changes do not affect it. */
  bodyHash: string
}

export interface Span {
  id: string
  traceId: string
  parentSpanId: string | null
  name: string
  kind: 'llm' | 'agent' | 'tool' | 'chain' | 'retriever' | 'embedding' | 'reranker' | 'custom'
  status: 'ok' | 'error' | 'unset'
  /** An ISO 8601 time in UTC, with three or six fraction digits. */
  startedAt: string
  /** An ISO 8601 time in UTC, with three or six fraction digits. */
  endedAt: string
  durationMs: number
  provider: string | null
  model: string | null
  /** Any JSON value. */
  input: unknown
  /** Any JSON value. */
  output: unknown
  /** An object whose values can be any JSON. */
  attributes: Record<string, unknown>
  events: readonly SpanEvent[]
  /** The span's usage. Null if none was recorded. */
  usage: Usage | null
  costUsd: number | null
}

export interface Score {
  id: string
  traceId: string
  /** The scored span. If null, the score applies to the whole trace. */
  spanId: string | null
  name: string
  dataType: 'numeric' | 'categorical' | 'boolean'
  /** The value is a number for `numeric`, a string for `categorical` and a boolean for `boolean`. */
  value: number | string | boolean
  comment: string | null
  /** The source is `api` for this API and MCP, `annotation` for the dashboard and `eval` for an evaluator. */
  source: 'api' | 'annotation' | 'eval'
  evaluatorId: string | null
  runId: string | null
  /** An ISO 8601 time in UTC, with three or six fraction digits. */
  createdAt: string
}

export interface TraceSummary {
  id: string
  name: string
  /** The status is `running` until the trace ends. */
  status: 'ok' | 'error' | 'unset' | 'running'
  /** The environment of the key that recorded the trace. Null means unassigned. */
  environment: string | null
  /** An ISO 8601 time in UTC, with three or six fraction digits. */
  startedAt: string
  /** The end time. Null while the trace is running. */
  endedAt: string | null
  /** The duration. Null while the trace is running. */
  durationMs: number | null
  provider: string | null
  model: string | null
  sessionId: string | null
  userId: string | null
  tags: readonly string[]
  usage: Usage
  costUsd: number | null
  spanCount: number
  /** The number of spans with status `error`. */
  errorCount: number
  /** The serialised size of the trace and its spans. */
  estimatedBytes: number
  /** The time at which the service stored the trace. Null if it is not known, as for some imported traces. */
  ingestedAt: string | null
  /** The newest score for each name. */
  scores: Record<string, ScoreSummary>
}

export interface SpanEventInput {
  /** The event's name. */
  name: string
  /** A date and time. ISO 8601, UTC by default, kept to the microsecond. */
  timestamp: string
  /** The event's attributes. Values can be any JSON, kept exactly as sent. */
  attributes?: Record<string, unknown> | undefined
}

export interface Usage {
  inputTokens: number
  outputTokens: number
  totalTokens: number
}

export interface ScoreSummary {
  scoreId: string
  dataType: 'numeric' | 'categorical' | 'boolean'
  /** The value is a number for `numeric`, a string for `categorical` and a boolean for `boolean`. */
  value: number | string | boolean
  evaluatorId: string | null
}

export interface SpanEvent {
  name: string
  /** An ISO 8601 time in UTC, with three or six fraction digits. */
  timestamp: string
  attributes: Record<string, unknown> | null
}

export interface TraceListQuery {
  /** A trace is `running` until it has ended. */
  status?: 'ok' | 'error' | 'unset' | 'running' | undefined
  /** The exact model. */
  model?: string | undefined
  /** The exact name of the trace. */
  name?: string | undefined
  /** A tag that the trace must have. */
  tag?: string | undefined
  /** The trace's environment, converted to lower case. `unassigned` selects traces without an environment. */
  environment?: string | undefined
  /** The exact session id. Requires `sort=newest`. */
  sessionId?: string | undefined
  /** The exact user id. Requires `sort=newest`. */
  userId?: string | undefined
  /** Lists only traces with a model, a cost, or a span of a kind other than `chain` and `custom`. */
  runsOnly?: boolean | undefined
  /** The inclusive lower bound of startedAt. Requires `sort=newest`. */
  from?: string | undefined
  /** The inclusive upper bound of startedAt. Requires `sort=newest`. */
  to?: string | undefined
  /** `slowest` uses durationMs and omits running traces. `costliest` uses costUsd and omits traces without a cost. */
  sort?: 'newest' | 'slowest' | 'costliest' | undefined
  /** The maximum number of items per page. */
  limit?: number | undefined
  /** The nextCursor of the previous page. Requires the same `sort`. */
  after?: string | undefined
  /** The prevCursor of the following page. Requires the same `sort`. */
  before?: string | undefined
}

export interface ScoreListQuery {
  /** The exact name of the score. */
  name?: string | undefined
  /** The trace's environment, converted to lower case. `unassigned` selects traces without an environment. */
  environment?: string | undefined
  /** The inclusive lower bound of createdAt. */
  from?: string | undefined
  /** The inclusive upper bound of createdAt. */
  to?: string | undefined
  /** The maximum number of items per page. */
  limit?: number | undefined
  /** The nextCursor of the previous page. */
  after?: string | undefined
}
