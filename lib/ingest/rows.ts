/**
 * Prepared traces and spans as the text that goes into the statement's parameters. What the body says is rendered where
 * it was prepared (on a worker thread, for large bodies); what the service adds is joined to it when the batch is
 * written.
 */
import {
  arrayLiteral,
  CHANGE_COLUMNS,
  type Column,
  cell,
  joinCells,
  parameter,
  SPAN_BODY_COLUMNS,
  SPAN_COLUMNS,
  TRACE_BODY_COLUMNS,
  TRACE_COLUMNS
} from '../store/columns.ts'
import { countBytes, countErrors, oversizeMessage, type TraceChange } from '../trace/decide.ts'
import type { PreparedSpan, PreparedTrace } from '../trace/prepared.ts'
import { durationMs } from '../trace/timestamp.ts'

type Value = string | number | boolean | null

const bytea = (hex: string | null): string | null => (hex === null ? null : `\\x${hex}`)

/** Spans as text: per body column the cells of all of them, joined. */
export interface SpanText {
  readonly count: number
  readonly columns: readonly string[]
}

/** A trace to record, rendered; what decide() and the answer need stands beside the text. */
export interface RecordText {
  readonly operation: 'record'
  readonly traceId: string
  readonly hash: string
  readonly running: boolean
  readonly oversize: string | undefined
  /** One cell per body column. */
  readonly cells: readonly string[]
  readonly spans: SpanText
}

const spanValues: Record<(typeof SPAN_BODY_COLUMNS)[number]['name'], (span: PreparedSpan) => Value> = {
  id: span => bytea(span.id),
  parent_id: span => bytea(span.parentId),
  hash: span => bytea(span.hash),
  kind: span => span.kind,
  status: span => span.status,
  started_at: span => span.startedAt,
  ended_at: span => span.endedAt,
  input_tokens: span => span.inputTokens,
  output_tokens: span => span.outputTokens,
  total_tokens: span => span.totalTokens,
  cost_usd: span => span.costUsd,
  input: span => span.input,
  output: span => span.output,
  attributes: span => span.attributes,
  events: span => span.events,
  name: span => span.name,
  provider: span => span.provider,
  model: span => span.model
}

/** Renders spans; none gives no columns. */
export function renderSpans(spans: readonly PreparedSpan[]): SpanText {
  if (spans.length === 0) return { count: 0, columns: [] }
  const columns = SPAN_BODY_COLUMNS.map(column => {
    const value = spanValues[column.name]
    return joinCells(
      column,
      spans.map(span => cell(column, value(span)))
    )
  })
  return { count: spans.length, columns }
}

const traceValues: Record<(typeof TRACE_BODY_COLUMNS)[number]['name'], (trace: PreparedTrace) => Value> = {
  id: trace => trace.traceId,
  span_count: trace => trace.spans.length,
  error_count: trace => countErrors(trace.spans),
  started_at: trace => trace.startedAt,
  ended_at: trace => trace.endedAt,
  duration_ms: trace => (trace.endedAt === null ? null : durationMs(trace.startedAt, trace.endedAt)),
  input_tokens: trace => trace.inputTokens,
  output_tokens: trace => trace.outputTokens,
  total_tokens: trace => trace.totalTokens,
  cost_usd: trace => trace.costUsd,
  document_bytes: trace => trace.bytes,
  estimated_bytes: trace => trace.bytes + countBytes(trace.spans),
  status: trace => trace.status,
  body_hash: trace => bytea(trace.hash),
  input: trace => trace.input,
  output: trace => trace.output,
  metadata: trace => trace.metadata,
  name: trace => trace.name,
  provider: trace => trace.provider,
  model: trace => trace.model,
  session_id: trace => trace.sessionId,
  user_id: trace => trace.userId,
  tags: trace => arrayLiteral(trace.tags)
}

export function renderTrace(trace: PreparedTrace): RecordText {
  return {
    operation: 'record',
    traceId: trace.traceId,
    hash: trace.hash,
    running: trace.endedAt === null,
    oversize: oversizeMessage(trace),
    cells: TRACE_BODY_COLUMNS.map(column => cell(column, traceValues[column.name](trace))),
    spans: renderSpans(trace.spans)
  }
}

/** Which trace a change is for, and the numbers that guard and mark it. */
export interface ChangeTarget {
  readonly projectId: number
  readonly seq: number
  readonly oldVersion: number
  readonly version: number
}

function renderChange(target: ChangeTarget, change: TraceChange): string[] {
  const values: Record<string, Value> = {
    project_id: target.projectId,
    seq: target.seq,
    old_version: target.oldVersion,
    version: target.version,
    added_spans: change.spans.length,
    added_bytes: change.addedBytes,
    span_count: change.spanCount,
    error_count: change.errorCount,
    ended_at: change.endedAt,
    duration_ms: change.durationMs,
    input_tokens: change.inputTokens,
    output_tokens: change.outputTokens,
    total_tokens: change.totalTokens,
    cost_usd: change.costUsd,
    document_bytes: change.documentBytes,
    estimated_bytes: change.estimatedBytes,
    status: change.status,
    end_hash: bytea(change.endHash),
    sets_output: change.output !== undefined,
    output: change.output ?? null,
    sets_metadata: change.metadata !== undefined,
    metadata: change.metadata ?? null,
    provider: change.provider,
    model: change.model,
    tags: arrayLiteral(change.tags)
  }
  return CHANGE_COLUMNS.map(column => cell(column, values[column.name] as Value))
}

/** The parameters of a list of columns from rows of cells (or of cells joined before); undefined for no rows. */
function parameters(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] | undefined {
  if (rows.length === 0) return undefined
  return columns.map((column, i) =>
    parameter(
      column,
      joinCells(
        column,
        rows.map(row => row[i] as string)
      )
    )
  )
}

/** What the service adds to a trace that it records. */
export interface Stamp {
  readonly projectId: number
  readonly seq: number
  readonly environment: string | null
  readonly keyId: string | null
  readonly ingestedAt: string
}

/** Gathers the rows of one batch. */
export class BatchRows {
  #traces: (readonly string[])[] = []
  #changes: (readonly string[])[] = []
  #spans: (readonly string[])[] = []

  insert(stamp: Stamp, record: RecordText): void {
    const seq = String(stamp.seq)
    const environment = stamp.environment ?? 'unassigned'
    const service = [String(stamp.projectId), seq, seq, environment, stamp.keyId ?? '\u0002', stamp.ingestedAt]
    this.#traces.push([...service, ...record.cells])
    this.#addSpans(stamp.projectId, stamp.seq, record.spans)
  }

  change(target: ChangeTarget, change: TraceChange): void {
    this.#changes.push(renderChange(target, change))
    this.#addSpans(target.projectId, target.seq, renderSpans(change.spans))
  }

  #addSpans(projectId: number, seq: number, spans: SpanText): void {
    if (spans.count === 0) return
    const repeat = (column: Column, value: number) =>
      joinCells(column, new Array<string>(spans.count).fill(String(value)))
    const [project, trace] = SPAN_COLUMNS as [Column, Column]
    this.#spans.push([repeat(project, projectId), repeat(trace, seq), ...spans.columns])
  }

  get parameters() {
    return {
      traces: parameters(TRACE_COLUMNS, this.#traces),
      changes: parameters(CHANGE_COLUMNS, this.#changes),
      spans: parameters(SPAN_COLUMNS, this.#spans)
    }
  }
}
