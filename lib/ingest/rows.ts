/**
 * Prepared traces and spans as the text that goes into the statement's parameters. What the body says is rendered where
 * it was prepared (on a worker thread, for large bodies); what the service adds is joined to it when the batch is
 * written.
 */
import { UNASSIGNED } from '../environment.ts'
import {
  arrayLiteral,
  CHANGE_COLUMNS,
  type Column,
  cell,
  GROWTH_COLUMNS,
  joinCells,
  OWNER_COLUMNS,
  parameter,
  RESTORED_COLUMNS,
  SCORE_BODY_COLUMNS,
  SCORE_COLUMNS,
  SPAN_BODY_COLUMNS,
  SPAN_COLUMNS,
  TRACE_BODY_COLUMNS,
  TRACE_COLUMNS,
  TRACE_PAST_COLUMNS,
  TRACE_SERVICE_COLUMNS
} from '../store/columns.ts'
import { countBytes, countErrors, oversizeMessage, type TraceChange } from '../trace/decide.ts'
import { decideExport, type SpanRefusal } from '../trace/decide-export.ts'
import type { GatheredSpan, Growth } from '../trace/gathered.ts'
import type { Past, PastScore, PreparedSpan, PreparedTrace, RestoredTrace } from '../trace/prepared.ts'
import { durationMs } from '../trace/timestamp.ts'

type Value = string | number | boolean | null

const bytea = (hex: string | null): string | null => (hex === null ? null : `\\x${hex}`)

/** Spans, or scores, as text: per body column the cells of all of them, joined. None gives no columns. */
export interface RowsText {
  readonly count: number
  readonly columns: readonly string[]
}

/** What a restored trace brings along, rendered. */
export interface PastText extends Pick<Past, 'environment' | 'keyId' | 'ingestedAt'> {
  /** One cell per past column. */
  readonly cells: readonly string[]
  readonly scores: RowsText
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
  readonly spans: RowsText
  /** Set where the trace is restored. */
  readonly past?: PastText
}

/** Spans of an export for one trace, with the trace that they make where there is none yet. */
export interface ExportText {
  readonly operation: 'export'
  readonly traceId: string
  readonly spans: readonly GatheredSpan[]
  /** The trace, rendered; undefined where none of the spans can be stored. */
  readonly first: RecordText | undefined
  /** Spans that are not in it. */
  readonly refusals: readonly SpanRefusal[]
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

function renderRows<T, N extends string>(
  columns: readonly (Column & { readonly name: N })[],
  values: Readonly<Record<N, (item: T) => Value>>,
  items: readonly T[]
): RowsText {
  if (items.length === 0) return { count: 0, columns: [] }
  const texts = columns.map(column => {
    const value = values[column.name]
    return joinCells(
      column,
      items.map(item => cell(column, value(item)))
    )
  })
  return { count: items.length, columns: texts }
}

export function renderSpans(spans: readonly PreparedSpan[]): RowsText {
  return renderRows(SPAN_BODY_COLUMNS, spanValues, spans)
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
  ranks: trace => trace.ranks ?? null,
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

export function renderExport(traceId: string, spans: readonly GatheredSpan[]): ExportText {
  const operation = { operation: 'export', traceId, spans } as const
  const { growth, added, refusals } = decideExport(undefined, { ...operation, environment: null })
  return { ...operation, first: growth && renderTrace(gatheredTrace(traceId, growth, added)), refusals }
}

function gatheredTrace(traceId: string, growth: Growth, spans: readonly GatheredSpan[]): PreparedTrace {
  return {
    ...growth,
    operation: 'record',
    traceId,
    input: growth.input ?? null,
    output: growth.output ?? null,
    spans,
    hash: growth.bodyHash,
    bytes: growth.documentBytes,
    ranks: JSON.stringify(growth.ranks)
  }
}

const scoreValues: Record<(typeof SCORE_BODY_COLUMNS)[number]['name'], (score: PastScore) => Value> = {
  id: score => bytea(score.id),
  span_id: score => bytea(score.spanId),
  data_type: score => score.dataType,
  value: score => JSON.stringify(score.value),
  source: score => score.source,
  created_at: score => score.createdAt,
  name: score => score.name,
  comment: score => score.comment,
  evaluator_id: score => score.evaluatorId,
  run_id: score => score.runId
}

const pastValues: Record<(typeof TRACE_PAST_COLUMNS)[number]['name'], (past: Past) => Value> = {
  score_count: past => past.scores.length,
  metadata_updated_at: past => past.metadataUpdatedAt,
  end_hash: past => bytea(past.endHash)
}

export function renderRestored(trace: RestoredTrace): RecordText {
  const { past } = trace
  const record = renderTrace(trace)
  const estimate = TRACE_BODY_COLUMNS.findIndex(column => column.name === 'estimated_bytes')
  return {
    ...record,
    cells: past.estimatedBytes === undefined ? record.cells : record.cells.with(estimate, String(past.estimatedBytes)),
    past: {
      environment: past.environment,
      keyId: past.keyId,
      ingestedAt: past.ingestedAt,
      cells: TRACE_PAST_COLUMNS.map(column => cell(column, pastValues[column.name](past))),
      scores: renderRows(SCORE_BODY_COLUMNS, scoreValues, past.scores)
    }
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

function renderGrowth(target: ChangeTarget, growth: Growth, added: readonly GatheredSpan[], before: number): string[] {
  const values: Record<string, Value> = {
    project_id: target.projectId,
    seq: target.seq,
    old_version: target.oldVersion,
    version: target.version,
    added_spans: added.length,
    added_bytes: growth.estimatedBytes - before,
    span_count: growth.spanCount,
    error_count: growth.errorCount,
    started_at: growth.startedAt,
    ended_at: growth.endedAt,
    duration_ms: growth.endedAt === null ? null : durationMs(growth.startedAt, growth.endedAt),
    input_tokens: growth.inputTokens,
    output_tokens: growth.outputTokens,
    total_tokens: growth.totalTokens,
    cost_usd: growth.costUsd,
    document_bytes: growth.documentBytes,
    estimated_bytes: growth.estimatedBytes,
    status: growth.status,
    body_hash: bytea(growth.bodyHash),
    ranks: JSON.stringify(growth.ranks),
    sets_input: growth.input !== undefined,
    input: growth.input ?? null,
    sets_output: growth.output !== undefined,
    output: growth.output ?? null,
    metadata: growth.metadata,
    name: growth.name,
    provider: growth.provider,
    model: growth.model,
    session_id: growth.sessionId,
    user_id: growth.userId,
    tags: arrayLiteral(growth.tags)
  }
  return GROWTH_COLUMNS.map(column => cell(column, values[column.name] as Value))
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
  #restored: (readonly string[])[] = []
  #changes: (readonly string[])[] = []
  #growths: (readonly string[])[] = []
  #spans: (readonly string[])[] = []
  #scores: (readonly string[])[] = []

  insert(stamp: Stamp, record: RecordText): void {
    const { projectId, seq } = stamp
    const { past } = record
    const { environment, keyId, ingestedAt } = past ?? { ...stamp, environment: stamp.environment ?? UNASSIGNED }
    const values = [projectId, seq, seq, environment, keyId, ingestedAt]
    const cells = [...TRACE_SERVICE_COLUMNS.map((column, i) => cell(column, values[i]!)), ...record.cells]
    if (past === undefined) {
      this.#traces.push(cells)
    } else {
      this.#restored.push([...cells, ...past.cells])
      addOwned(this.#scores, projectId, seq, past.scores)
    }
    addOwned(this.#spans, projectId, seq, record.spans)
  }

  change(target: ChangeTarget, change: TraceChange): void {
    this.#changes.push(renderChange(target, change))
    addOwned(this.#spans, target.projectId, target.seq, renderSpans(change.spans))
  }

  /** `before`: the estimated bytes of the trace as it is. */
  grow(target: ChangeTarget, growth: Growth, added: readonly GatheredSpan[], before: number): void {
    this.#growths.push(renderGrowth(target, growth, added, before))
    addOwned(this.#spans, target.projectId, target.seq, renderSpans(added))
  }

  get parameters() {
    return {
      traces: parameters(TRACE_COLUMNS, this.#traces),
      restored: parameters(RESTORED_COLUMNS, this.#restored),
      changes: parameters(CHANGE_COLUMNS, this.#changes),
      growths: parameters(GROWTH_COLUMNS, this.#growths),
      spans: parameters(SPAN_COLUMNS, this.#spans),
      scores: parameters(SCORE_COLUMNS, this.#scores)
    }
  }
}

/** Adds spans or scores with the columns that say whose they are. */
function addOwned(rows: (readonly string[])[], projectId: number, seq: number, text: RowsText): void {
  if (text.count === 0) return
  const repeat = (column: Column, value: number) => joinCells(column, new Array(text.count).fill(String(value)))
  const [project, trace] = OWNER_COLUMNS
  rows.push([repeat(project, projectId), repeat(trace, seq), ...text.columns])
}
