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
  /** 32 hexadecimal characters, folded to lower case. */
  id: string
  /** What the run is called. */
  name: string
  /** How the run ended; must be absent when `endedAt` is absent. */
  status?: 'ok' | 'error' | 'unset' | undefined
  /** ISO 8601; without `Z` or an offset it is read as UTC. Kept to the microsecond. */
  startedAt: string
  /** Present: a complete trace; absent: a running one. Not before `startedAt`. ISO 8601; without `Z` or an offset it is read as UTC. Kept to the microsecond. */
  endedAt?: string | undefined
  /** Who runs the model: `anthropic`, `openai` and the like. */
  provider?: string | undefined
  /** The model, as its provider names it. */
  model?: string | undefined
  /** The conversation or session that the run belongs to. */
  sessionId?: string | undefined
  /** On whose behalf the run was made. */
  userId?: string | undefined
  /** Labels to find the trace by. */
  tags?: readonly string[] | undefined
  /** What the run was given. Any JSON value, kept exactly as sent. */
  input?: unknown
  /** What the run gave. Any JSON value, kept exactly as sent. */
  output?: unknown
  /** Whatever else is known of the run; can be merged into later. An object of any JSON values, kept exactly as sent. */
  metadata?: Record<string, unknown> | undefined
  usage?: UsageInput | undefined
  /** US dollars. */
  costUsd?: number | undefined
  /** The steps of the run. */
  spans?: readonly SpanInput[] | undefined
}

export type ScoreInput = NumericScoreInput | CategoricalScoreInput | BooleanScoreInput

export interface TraceDetail {
  trace: Trace
  /** By `startedAt`, then id. */
  spans: readonly Span[]
  /** Newest first. */
  scores: readonly Score[]
}

export interface TraceList {
  traces: readonly TraceSummary[]
  /** Pass as `after` for the next page; null: this is the last. */
  nextCursor: string | null
  /** Pass as `before` for the page before; null: this is the first. */
  prevCursor: string | null
  /** The limit in force. */
  pageSize: number
}

export interface ScoreList {
  scores: readonly Score[]
  /** Pass as `after` for the next page; null: this is the last. */
  nextCursor: string | null
  /** The limit in force. */
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
  /** When the newest trace was ingested. */
  lastTraceAt: string | null
  /** ISO 8601 in UTC, with three or six fraction digits. */
  createdAt: string
  storage: { limitBytes: number; level: 'ok' | 'warning' | 'critical' }
  keyScopes: readonly ('traces:write' | 'traces:read' | 'traces:delete')[]
}

export interface KeyDescription {
  keyId: string
  projectId: string
  scopes: readonly ('traces:write' | 'traces:read' | 'traces:delete')[]
  /** Null: never. */
  expiresAt: string | null
  /** ISO 8601 in UTC, with three or six fraction digits. */
  lastUsedAt: string
  /** The environment stamped on what the key records; null: unassigned. */
  environment: string | null
}

export interface UsageInput {
  inputTokens?: number | undefined
  outputTokens?: number | undefined
  totalTokens?: number | undefined
}

export interface SpanInput {
  /** Unique in its trace. 16 hexadecimal characters, folded to lower case. */
  id: string
  /** The span that this one is part of; it may arrive later. */
  parentSpanId?: string | null | undefined
  /** What the step is called. */
  name: string
  /** What the step does; left out: `custom`. */
  kind?: 'llm' | 'agent' | 'tool' | 'chain' | 'retriever' | 'embedding' | 'reranker' | 'custom' | undefined
  /** How the step ended; left out: `unset`. */
  status?: 'ok' | 'error' | 'unset' | undefined
  /** ISO 8601; without `Z` or an offset it is read as UTC. Kept to the microsecond. */
  startedAt: string
  /** Not before `startedAt`. ISO 8601; without `Z` or an offset it is read as UTC. Kept to the microsecond. */
  endedAt: string
  /** Who runs the model: `anthropic`, `openai` and the like. */
  provider?: string | undefined
  /** The model, as its provider names it. */
  model?: string | undefined
  /** What the step was given. Any JSON value, kept exactly as sent. */
  input?: unknown
  /** What the step gave. Any JSON value, kept exactly as sent. */
  output?: unknown
  /** Whatever else is known of the step. An object of any JSON values, kept exactly as sent. */
  attributes?: Record<string, unknown> | undefined
  /** Moments within the step. */
  events?: readonly SpanEventInput[] | undefined
  usage?: UsageInput | undefined
  /** US dollars. */
  costUsd?: number | undefined
}

export interface NumericScoreInput {
  /** What is judged. A name may be scored again: the newest score counts. */
  name: string
  dataType: 'numeric'
  value: number
  comment?: string | undefined
  /** The span that is judged; left out: the whole trace. 16 hexadecimal characters, folded to lower case. */
  spanId?: string | undefined
}

export interface CategoricalScoreInput {
  /** What is judged. A name may be scored again: the newest score counts. */
  name: string
  dataType: 'categorical'
  value: string
  comment?: string | undefined
  /** The span that is judged; left out: the whole trace. 16 hexadecimal characters, folded to lower case. */
  spanId?: string | undefined
}

export interface BooleanScoreInput {
  /** What is judged. A name may be scored again: the newest score counts. */
  name: string
  dataType: 'boolean'
  value: boolean
  comment?: string | undefined
  /** The span that is judged; left out: the whole trace. 16 hexadecimal characters, folded to lower case. */
  spanId?: string | undefined
}

export interface Trace {
  id: string
  name: string
  /** `running` until the trace is ended. */
  status: 'ok' | 'error' | 'unset' | 'running'
  /** The environment of the key that recorded the trace; null: unassigned. */
  environment: string | null
  /** ISO 8601 in UTC, with three or six fraction digits. */
  startedAt: string
  /** Null while the trace is running. */
  endedAt: string | null
  /** Null while the trace is running. */
  durationMs: number | null
  provider: string | null
  model: string | null
  sessionId: string | null
  userId: string | null
  tags: readonly string[]
  usage: Usage
  costUsd: number | null
  spanCount: number
  /** Spans whose status is `error`. */
  errorCount: number
  /** Serialised size of the trace and its spans. */
  estimatedBytes: number
  /** When the service stored the trace; null: not known, for an imported one. */
  ingestedAt: string | null
  /** The newest score of each name, by name. */
  scores: Record<string, ScoreSummary>
  /** Any JSON value. */
  input: unknown
  /** Any JSON value. */
  output: unknown
  /** An object of any JSON values. */
  metadata: Record<string, unknown>
  /** When the metadata was last changed after ingest; null: never. */
  metadataUpdatedAt: string | null
  /** Identifies the body as it was ingested; later changes of the metadata leave it as it is. */
  bodyHash: string
}

export interface Span {
  id: string
  traceId: string
  parentSpanId: string | null
  name: string
  kind: 'llm' | 'agent' | 'tool' | 'chain' | 'retriever' | 'embedding' | 'reranker' | 'custom'
  status: 'ok' | 'error' | 'unset'
  /** ISO 8601 in UTC, with three or six fraction digits. */
  startedAt: string
  /** ISO 8601 in UTC, with three or six fraction digits. */
  endedAt: string
  durationMs: number
  provider: string | null
  model: string | null
  /** Any JSON value. */
  input: unknown
  /** Any JSON value. */
  output: unknown
  /** An object of any JSON values. */
  attributes: Record<string, unknown>
  events: readonly SpanEvent[]
  /** Null where none was recorded. */
  usage: Usage | null
  costUsd: number | null
}

export interface Score {
  id: string
  traceId: string
  /** The span that is judged; null: the whole trace. */
  spanId: string | null
  name: string
  dataType: 'numeric' | 'categorical' | 'boolean'
  /** A number for `numeric`, a string for `categorical`, a boolean for `boolean`. */
  value: number | string | boolean
  comment: string | null
  /** `api`: through this API or MCP; `annotation`: on the dashboard; `eval`: by an evaluator. */
  source: 'api' | 'annotation' | 'eval'
  evaluatorId: string | null
  runId: string | null
  /** ISO 8601 in UTC, with three or six fraction digits. */
  createdAt: string
}

export interface TraceSummary {
  id: string
  name: string
  /** `running` until the trace is ended. */
  status: 'ok' | 'error' | 'unset' | 'running'
  /** The environment of the key that recorded the trace; null: unassigned. */
  environment: string | null
  /** ISO 8601 in UTC, with three or six fraction digits. */
  startedAt: string
  /** Null while the trace is running. */
  endedAt: string | null
  /** Null while the trace is running. */
  durationMs: number | null
  provider: string | null
  model: string | null
  sessionId: string | null
  userId: string | null
  tags: readonly string[]
  usage: Usage
  costUsd: number | null
  spanCount: number
  /** Spans whose status is `error`. */
  errorCount: number
  /** Serialised size of the trace and its spans. */
  estimatedBytes: number
  /** When the service stored the trace; null: not known, for an imported one. */
  ingestedAt: string | null
  /** The newest score of each name, by name. */
  scores: Record<string, ScoreSummary>
}

export interface SpanEventInput {
  /** What happened. */
  name: string
  /** ISO 8601; without `Z` or an offset it is read as UTC. Kept to the microsecond. */
  timestamp: string
  /** What is known of it. An object of any JSON values, kept exactly as sent. */
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
  /** A number for `numeric`, a string for `categorical`, a boolean for `boolean`. */
  value: number | string | boolean
  evaluatorId: string | null
}

export interface SpanEvent {
  name: string
  /** ISO 8601 in UTC, with three or six fraction digits. */
  timestamp: string
  attributes: Record<string, unknown> | null
}

export interface TraceListQuery {
  /** `running`: a streamed trace that has not ended. */
  status?: 'ok' | 'error' | 'unset' | 'running' | undefined
  /** Exact match. */
  model?: string | undefined
  /** Exact name of the trace. */
  name?: string | undefined
  /** A tag that the trace must carry. */
  tag?: string | undefined
  /** The environment of the trace, folded to lower case; `unassigned`: recorded by keys that have none. */
  environment?: string | undefined
  /** Exact match; with sort=newest only. */
  sessionId?: string | undefined
  /** Exact match; with sort=newest only. */
  userId?: string | undefined
  /** Inclusive lower bound of startedAt; with sort=newest only. */
  from?: string | undefined
  /** Inclusive upper bound of startedAt; with sort=newest only. */
  to?: string | undefined
  /** `slowest`: by durationMs, without running traces; `costliest`: by costUsd, without those that have none. */
  sort?: 'newest' | 'slowest' | 'costliest' | undefined
  /** How many a page has at most. */
  limit?: number | undefined
  /** The nextCursor of a page under the same sort: what comes after it. */
  after?: string | undefined
  /** The prevCursor of a page under the same sort: what comes before it. */
  before?: string | undefined
}

export interface ScoreListQuery {
  /** Exact name of the score. */
  name?: string | undefined
  /** The environment of the trace, folded to lower case; `unassigned`: recorded by keys that have none. */
  environment?: string | undefined
  /** Inclusive lower bound of createdAt. */
  from?: string | undefined
  /** Inclusive upper bound of createdAt. */
  to?: string | undefined
  /** How many a page has at most. */
  limit?: number | undefined
  /** The nextCursor of a page: older scores. */
  after?: string | undefined
}
