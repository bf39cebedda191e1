/**
 * Defines each column's value (lib/rows/columns.ts) as a function of the trace, span, tag, score or change to write.
 */

import { type CountedTrace, nanoDollars } from '../rollups/amounts.ts'
import { bucketOf, exponentOf } from '../rollups/latency.ts'
import { type Past, type PastScore, type PreparedTrace, shortHash, type TraceSpan } from '../trace/prepared.ts'
import { isRun } from '../trace/runs.ts'
import { countBytes, countErrors } from '../trace/span-sums.ts'
import type { Ending, TraceChange, TraceState } from '../trace/states/decide.ts'
import type { Advance } from '../trace/states/decide-restore.ts'
import type { Growth } from '../trace/states/gathered.ts'
import { ranksText } from '../trace/states/ranks.ts'
import { durationMs } from '../trace/timestamp.ts'
import type {
  ADVANCE_COLUMNS,
  APPEND_COLUMNS,
  DELTA_COLUMNS,
  END_COLUMNS,
  GROWTH_COLUMNS,
  LIST_COLUMNS,
  SCORE_BODY_COLUMNS,
  SPAN_HEAD_COLUMNS,
  TAG_BODY_COLUMNS,
  TRACE_BODY_COLUMNS,
  TRACE_TEXT_COLUMNS,
  Value
} from './columns.ts'
import type { TagLists, TraceLists } from './list-numbers.ts'
import { storedText, type TraceTexts } from './trace-texts.ts'

/** For each column, the function that returns an item's value. */
type ValuesFor<Columns extends readonly { readonly name: string }[], Item> = Readonly<
  Record<Columns[number]['name'], (item: Item) => Value>
>

export const spanHeadValues: ValuesFor<typeof SPAN_HEAD_COLUMNS, TraceSpan> = {
  id: span => span.id,
  parent_id: span => span.parentId,
  hash: ({ hash }) => (hash === null ? null : shortHash({ hash })),
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
  model: span => span.model,
  call_details: span => span.callDetails ?? null
}

/** Returns the duration in ms, or null while the trace is running. */
export const traceDuration = ({ startedAt, endedAt }: Pick<PreparedTrace, 'startedAt' | 'endedAt'>) =>
  endedAt === null ? null : durationMs(startedAt, endedAt)

/** A trace to record, or to restore with its past. */
export type NewTrace = PreparedTrace & { readonly past?: Past }

/** Returns the total bytes of the trace's document and its spans' documents. */
export const estimatedBytes = ({ past, bytes, spans }: NewTrace): number =>
  past?.estimatedBytes ?? bytes + countBytes(spans)

export const traceValues: ValuesFor<typeof TRACE_BODY_COLUMNS, NewTrace> = {
  id: trace => trace.traceId,
  span_count: trace => trace.spans.length,
  error_count: trace => trace.errorCount ?? countErrors(trace.spans),
  score_count: trace => trace.past?.scores.length ?? 0,
  started_at: trace => trace.startedAt,
  ended_at: trace => trace.endedAt,
  metadata_updated_at: trace => trace.past?.metadataUpdatedAt ?? null,
  duration_ms: traceDuration,
  input_tokens: trace => trace.inputTokens,
  output_tokens: trace => trace.outputTokens,
  total_tokens: trace => trace.totalTokens,
  cost_usd: trace => trace.costUsd,
  is_run: trace => isRun(trace, trace.spans),
  document_bytes: trace => trace.bytes,
  estimated_bytes: estimatedBytes,
  status: trace => trace.status,
  body_hash: trace => trace.hash,
  end_hash: trace => trace.past?.endHash ?? null,
  ranks: trace => trace.ranks ?? null,
  metadata: trace => trace.metadata,
  name: trace => trace.name,
  provider: trace => trace.provider,
  model: trace => trace.model,
  session_id: trace => trace.sessionId,
  user_id: trace => trace.userId,
  tags: trace => orNull(trace.tags)
}

export const traceTextValues: ValuesFor<typeof TRACE_TEXT_COLUMNS, TraceTexts> = {
  input: texts => texts.input,
  output: texts => texts.output,
  input_span_id: texts => texts.inputSpanId,
  output_span_id: texts => texts.outputSpanId,
  input_bytes: texts => texts.inputBytes,
  output_bytes: texts => texts.outputBytes
}

const orNull = (tags: readonly string[]) => (tags.length === 0 ? null : tags)

export const listValues: ValuesFor<typeof LIST_COLUMNS, TraceLists> = {
  family: lists => lists.family,
  named_family: lists => lists.namedFamily,
  user_family: lists => lists.userFamily,
  user_named_family: lists => lists.userNamedFamily
}

/** The fields that determine the lists and counts that include a trace. */
export interface ListedTrace extends CountedTrace {
  readonly traceId: string
  readonly model: string | null
  readonly userId: string | null
  readonly tags: readonly string[]
}

/** A tag on a trace, with the tag's and the trace's lists. */
export interface TaggedTrace {
  readonly trace: ListedTrace
  readonly lists: TraceLists
  readonly tag: string
  readonly tagLists: TagLists
}

export const tagValues: ValuesFor<typeof TAG_BODY_COLUMNS, TaggedTrace> = {
  tag_family: ({ tagLists }) => tagLists.tagFamily,
  tag_named_family: ({ tagLists }) => tagLists.tagNamedFamily,
  named_family: ({ lists }) => lists.namedFamily,
  family: ({ lists }) => lists.family,
  tag_user: ({ tagLists }) => tagLists.tagUser,
  started_at: ({ trace }) => trace.startedAt,
  duration_ms: ({ trace }) => traceDuration(trace),
  cost_usd: ({ trace }) => trace.costUsd,
  id: ({ trace }) => trace.traceId,
  user_id: ({ trace }) => trace.userId,
  tag: ({ tag }) => tag
}

/** A trace to add to, or subtract from, the rollups. */
export interface Delta {
  readonly sign: 1 | -1
  readonly trace: CountedTrace
  readonly lists: TraceLists
}

/** The project is filled in when the row is written. */
export const deltaValues: ValuesFor<typeof DELTA_COLUMNS, Delta> = {
  project_id: () => 0,
  traces: ({ sign }) => sign,
  errors: ({ sign, trace }) => (trace.status === 'error' ? sign : 0),
  priced: ({ sign, trace }) => (trace.costUsd === null ? 0 : sign),
  started_at: ({ trace }) => trace.startedAt,
  family: ({ lists }) => lists.family,
  input_tokens: ({ sign, trace }) => sign * (trace.inputTokens ?? 0),
  output_tokens: ({ sign, trace }) => sign * (trace.outputTokens ?? 0),
  cost: ({ sign, trace }) => sign * nanoDollars(trace.costUsd),
  latency: ({ sign, trace }) => ({ isNegative: sign < 0, exponent: exponentOf(bucketOf(traceDuration(trace) ?? 0)) }),
  name: ({ trace }) => trace.name,
  user_id: ({ trace }) => trace.userId
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

/** An append, end, growth or advance of a stored trace. */
export interface Changed<Sums = TraceChange | Growth | Advance> {
  readonly state: Pick<TraceState, 'seq' | 'version'>
  /** The trace's version after the change. */
  readonly version: number
  readonly sums: Sums
}
/** A change that also sets fields (an end, growth or advance), with the trace's lists after the change. */
export interface Done<T extends Ending | Growth | Advance> extends Changed {
  readonly done: T
  readonly lists: TraceLists
  readonly ranked: number
}

export const appendValues: ValuesFor<typeof APPEND_COLUMNS, Changed> = {
  seq: ({ state }) => state.seq,
  old_version: ({ state }) => state.version,
  version: ({ version }) => version,
  span_count: ({ sums }) => sums.spanCount,
  error_count: ({ sums }) => sums.errorCount,
  estimated_bytes: ({ sums }) => sums.estimatedBytes,
  is_run: ({ sums }) => sums.isRun
}

/** Values common to an end, a growth and an advance. */
const doneValues: Omit<ValuesFor<typeof END_COLUMNS, Done<Ending | Growth | Advance>>, 'end_hash' | 'sets_metadata'> = {
  ...appendValues,
  family: ({ lists }) => lists.family,
  named_family: ({ lists }) => lists.namedFamily,
  user_family: ({ lists }) => lists.userFamily,
  user_named_family: ({ lists }) => lists.userNamedFamily,
  ranked: ({ ranked }) => ranked,
  ended_at: ({ done }) => done.endedAt,
  duration_ms: ({ done }) => done.durationMs,
  input_tokens: ({ done }) => done.inputTokens,
  output_tokens: ({ done }) => done.outputTokens,
  total_tokens: ({ done }) => done.totalTokens,
  cost_usd: ({ done }) => done.costUsd,
  document_bytes: ({ done }) => done.documentBytes,
  status: ({ done }) => done.status,
  sets_output: ({ done }) => done.output !== undefined,
  output: ({ done }) => storedText(done.output).text,
  metadata: ({ done }) => done.metadata ?? null,
  provider: ({ done }) => done.provider,
  model: ({ done }) => done.model,
  tags: ({ done }) => orNull(done.tags)
}

export const endValues: ValuesFor<typeof END_COLUMNS, Done<Ending>> = {
  ...doneValues,
  end_hash: ({ done }) => done.endHash,
  sets_metadata: ({ done }) => done.metadata !== undefined
}

/** Values common to a growth and an advance. */
const allValues: Omit<ValuesFor<typeof GROWTH_COLUMNS, Done<Growth | Advance>>, 'ranks'> = {
  ...doneValues,
  started_at: ({ done }) => done.startedAt,
  body_hash: ({ done }) => done.bodyHash,
  sets_input: ({ done }) => done.input !== undefined,
  input: ({ done }) => storedText(done.input).text,
  input_span_id: ({ done }) => storedText(done.input).spanId,
  output_span_id: ({ done }) => storedText(done.output).spanId,
  input_bytes: ({ done }) => storedText(done.input).bytes,
  output_bytes: ({ done }) => storedText(done.output).bytes,
  name: ({ done }) => done.name,
  session_id: ({ done }) => done.sessionId,
  user_id: ({ done }) => done.userId
}

export const growthValues: ValuesFor<typeof GROWTH_COLUMNS, Done<Growth>> = {
  ...allValues,
  ranks: ({ done }) => ranksText(done.ranks)
}

export const advanceValues: ValuesFor<typeof ADVANCE_COLUMNS, Done<Advance>> = {
  ...allValues,
  ranks: ({ done }) => done.ranks ?? null,
  end_hash: ({ done }) => done.endHash,
  metadata_updated_at: ({ done }) => done.metadataUpdatedAt,
  score_count: ({ done }) => done.scoreCount
}
