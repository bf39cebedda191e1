/** What prepared traces, spans, scores and changes have for each column of their rows, however these travel. */

import type { Ending, TraceChange } from '../trace/decide.ts'
import type { Growth } from '../trace/gathered.ts'
import { type Past, type PastScore, type PreparedSpan, type PreparedTrace, shortHash } from '../trace/prepared.ts'
import { countBytes, countErrors } from '../trace/span-sums.ts'
import { durationMs } from '../trace/timestamp.ts'
import type {
  APPEND_COLUMNS,
  END_COLUMNS,
  GROWTH_COLUMNS,
  LIST_COLUMNS,
  SCORE_BODY_COLUMNS,
  SPAN_HEAD_COLUMNS,
  TAG_BODY_COLUMNS,
  TRACE_BODY_COLUMNS,
  TRACE_PAST_COLUMNS,
  Value
} from './columns.ts'
import type { TagLists, TraceLists } from './list-numbers.ts'

/** For each column, how an item's value is had. */
type ValuesFor<Columns extends readonly { readonly name: string }[], Item> = Readonly<
  Record<Columns[number]['name'], (item: Item) => Value>
>

export const spanHeadValues: ValuesFor<typeof SPAN_HEAD_COLUMNS, PreparedSpan> = {
  id: span => span.id,
  parent_id: span => span.parentId,
  hash: shortHash,
  kind: span => span.kind,
  status: span => span.status,
  started_at: span => span.startedAt,
  ended_at: span => span.endedAt,
  input_tokens: span => span.inputTokens,
  output_tokens: span => span.outputTokens,
  total_tokens: span => span.totalTokens,
  cost_usd: span => span.costUsd,
  name: span => span.name,
  provider: span => span.provider,
  model: span => span.model
}

/** In ms; null while it is running. */
export const traceDuration = ({ startedAt, endedAt }: PreparedTrace) =>
  endedAt === null ? null : durationMs(startedAt, endedAt)

export const traceValues: ValuesFor<typeof TRACE_BODY_COLUMNS, PreparedTrace> = {
  id: trace => trace.traceId,
  span_count: trace => trace.spans.length,
  error_count: trace => countErrors(trace.spans),
  started_at: trace => trace.startedAt,
  ended_at: trace => trace.endedAt,
  duration_ms: traceDuration,
  input_tokens: trace => trace.inputTokens,
  output_tokens: trace => trace.outputTokens,
  total_tokens: trace => trace.totalTokens,
  cost_usd: trace => trace.costUsd,
  document_bytes: trace => trace.bytes,
  estimated_bytes: trace => trace.bytes + countBytes(trace.spans),
  status: trace => trace.status,
  body_hash: trace => trace.hash,
  ranks: trace => trace.ranks ?? null,
  input: trace => trace.input,
  output: trace => trace.output,
  metadata: trace => trace.metadata,
  name: trace => trace.name,
  provider: trace => trace.provider,
  model: trace => trace.model,
  session_id: trace => trace.sessionId,
  user_id: trace => trace.userId,
  tags: trace => (trace.tags.length === 0 ? null : trace.tags)
}

export const listValues: ValuesFor<typeof LIST_COLUMNS, TraceLists> = {
  family: lists => lists.family,
  named_family: lists => lists.namedFamily,
  user_family: lists => lists.userFamily,
  user_named_family: lists => lists.userNamedFamily
}

/** A tag, and the trace that has it, with their lists. */
export interface Tagged {
  readonly trace: PreparedTrace
  readonly lists: TraceLists
  readonly tag: string
  readonly tagLists: TagLists
}

export const tagValues: ValuesFor<typeof TAG_BODY_COLUMNS, Tagged> = {
  named_family: ({ lists }) => lists.namedFamily,
  family: ({ lists }) => lists.family,
  tag_family: ({ tagLists }) => tagLists.tagFamily,
  tag_named_family: ({ tagLists }) => tagLists.tagNamedFamily,
  tag_user: ({ tagLists }) => tagLists.tagUser,
  started_at: ({ trace }) => trace.startedAt,
  duration_ms: ({ trace }) => traceDuration(trace),
  cost_usd: ({ trace }) => trace.costUsd,
  id: ({ trace }) => trace.traceId,
  user_id: ({ trace }) => trace.userId,
  tag: ({ tag }) => tag
}

export const scoreValues: ValuesFor<typeof SCORE_BODY_COLUMNS, PastScore> = {
  id: score => score.id,
  span_id: score => score.spanId,
  data_type: score => score.dataType,
  value: score => JSON.stringify(score.value),
  source: score => score.source,
  created_at: score => score.createdAt,
  name: score => score.name,
  comment: score => score.comment,
  evaluator_id: score => score.evaluatorId,
  run_id: score => score.runId
}

export const pastValues: ValuesFor<typeof TRACE_PAST_COLUMNS, Past> = {
  score_count: past => past.scores.length,
  metadata_updated_at: past => past.metadataUpdatedAt,
  end_hash: past => past.endHash
}

/** Which trace a change is for, and the numbers that guard and mark it. */
export interface ChangeTarget {
  readonly projectId: number
  readonly seq: number
  readonly oldVersion: number
  readonly version: number
}

/** What an append, an end and a growth by an export change. */
interface Changed {
  readonly target: ChangeTarget
  readonly sums: TraceChange | Growth
  /** How many spans come to it. */
  readonly added: number
}
/** An end or a growth, with what it sets besides. */
interface ChangedBy<T extends Ending | Growth> extends Changed {
  readonly done: T
}

export const appendValues: ValuesFor<typeof APPEND_COLUMNS, Changed> = {
  project_id: ({ target }) => target.projectId,
  seq: ({ target }) => target.seq,
  old_version: ({ target }) => target.oldVersion,
  version: ({ target }) => target.version,
  added_spans: ({ added }) => added,
  added_bytes: ({ sums }) => sums.addedBytes,
  span_count: ({ sums }) => sums.spanCount,
  error_count: ({ sums }) => sums.errorCount,
  estimated_bytes: ({ sums }) => sums.estimatedBytes
}

/** What an end and a growth have in common. */
const doneValues: Omit<ValuesFor<typeof END_COLUMNS, ChangedBy<Ending | Growth>>, 'end_hash' | 'sets_metadata'> = {
  ...appendValues,
  ended_at: ({ done }) => done.endedAt,
  duration_ms: ({ done }) => done.durationMs,
  input_tokens: ({ done }) => done.inputTokens,
  output_tokens: ({ done }) => done.outputTokens,
  total_tokens: ({ done }) => done.totalTokens,
  cost_usd: ({ done }) => done.costUsd,
  document_bytes: ({ done }) => done.documentBytes,
  status: ({ done }) => done.status,
  sets_output: ({ done }) => done.output !== undefined,
  output: ({ done }) => done.output ?? null,
  metadata: ({ done }) => done.metadata ?? null,
  provider: ({ done }) => done.provider,
  model: ({ done }) => done.model,
  tags: ({ done }) => (done.tags.length === 0 ? null : done.tags)
}

export const endValues: ValuesFor<typeof END_COLUMNS, ChangedBy<Ending>> = {
  ...doneValues,
  end_hash: ({ done }) => done.endHash,
  sets_metadata: ({ done }) => done.metadata !== undefined
}

export const growthValues: ValuesFor<typeof GROWTH_COLUMNS, ChangedBy<Growth>> = {
  ...doneValues,
  started_at: ({ done }) => done.startedAt,
  body_hash: ({ done }) => done.bodyHash,
  ranks: ({ done }) => JSON.stringify(done.ranks),
  sets_input: ({ done }) => done.input !== undefined,
  input: ({ done }) => done.input ?? null,
  name: ({ done }) => done.name,
  session_id: ({ done }) => done.sessionId,
  user_id: ({ done }) => done.userId
}
