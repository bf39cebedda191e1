/** A body made ready for the write path: prepared, and rendered where its rows are known already. */
import { type ErrorCode, Refusal } from '../errors.ts'
import { isMemorable } from '../ingest/running-traces.ts'
import type { MappedSpan } from '../otlp/map-span.ts'
import { type Export, readExport, readPortion } from '../otlp/read-export.ts'
import {
  type RecordText,
  type RowsText,
  renderRestored,
  renderSpans,
  renderStoredSpans,
  renderTrace
} from '../rows/change-rows.ts'
import { renderCopyRows, renderSpanRows, slicesOf } from '../rows/copy-rows.ts'
import { packedAs } from '../rows/packed-texts.ts'
import type { CopyRows, SpanRows } from '../store/write/copy-batch.ts'
import { type Append, type End, oversizeMessage } from '../trace/decide.ts'
import { decideExport, type SpanRefusal } from '../trace/decide-export.ts'
import type { GatheredSpan, Growth } from '../trace/gathered.ts'
import { normaliseSpans } from '../trace/normalise.ts'
import { prepare } from '../trace/prepare.ts'
import { type PreparedSpan, type PreparedTrace, type SpanHead, shortHash } from '../trace/prepared.ts'
import { prepareRestore } from '../trace/restore.ts'
import { countBytes } from '../trace/span-sums.ts'
import { type StartedState, startedState } from '../trace/state-after.ts'
import { isParsedName, type Parsed, type ParsedName, parse } from './parsing.ts'

/**
 * `record`, `append` and `end` make the rows that COPY takes, and the same with `text` those for the statement: of all spans,
 * though which of an append's or an end's are written is yet to be decided.
 */
export type TaskName =
  | 'record'
  | 'record text'
  | 'append'
  | 'append text'
  | 'end'
  | 'end text'
  | 'restore'
  | 'export-json'
  | 'export-protobuf'
  | 'export-portion'
  | ParsedName

export interface ReadyTask {
  readonly operation: TaskName
  readonly body: Uint8Array
  /** Of the key that records. */
  readonly environment: string | null
  /** Texts are packed only where that takes no time (lib/rows/packed-texts.ts). */
  readonly hurries: boolean
}

/** A trace to record or restore: what decide() and the answer need, and its rows in one form or the other. */
export interface ReadyRecord {
  readonly operation: 'record'
  readonly traceId: string
  readonly hash: string
  readonly running: boolean
  readonly oversize: string | undefined
  readonly spanCount: number
  readonly estimatedBytes: number
  /** Set where the trace is running, and so small that its state is remembered. */
  readonly started: StartedState | undefined
  readonly copy: CopyRows | undefined
  readonly text: RecordText | undefined
}

/** An append or an end: what decide() needs, and the rows of all its spans in one form or the other. */
export type ReadyAppend = Append & AddedRows
export type ReadyEnd = End & AddedRows
interface AddedRows {
  readonly copy: SpanRows | undefined
  readonly text: RowsText | undefined
}

/** Spans of an export for one trace. */
export interface ReadySpans {
  readonly operation: 'export'
  readonly traceId: string
  readonly spans: readonly GatheredSpan[]
  /** The trace that they make where there is none yet; undefined where none of them can be stored. */
  readonly first: ReadyRecord | undefined
  /** Spans that are not in it. */
  readonly refusals: readonly SpanRefusal[]
}

/** An export, by the traces that it has spans of. */
export interface ReadyExport {
  readonly operation: 'export'
  readonly traces: readonly ReadySpans[]
  /** Bodies of the operation `export-portion`, in their order: what a large export has instead of traces. */
  readonly portions: readonly Uint8Array[]
  /** Spans that belong to none of them. */
  readonly refusals: readonly SpanRefusal[]
}

/** What is not for the queue. */
export interface ReadyValue {
  readonly operation: 'parse'
  readonly value: Parsed[ParsedName]
}

export type Ready = ReadyRecord | ReadyAppend | ReadyEnd | ReadyExport | ReadyValue

/** A refusal is a value here: an error's code does not survive the way between threads. */
export type ReadyResult = { readonly ready: Ready } | { readonly refusal: { code: ErrorCode; message: string } }

export function makeReady(task: ReadyTask): ReadyResult {
  try {
    return { ready: prepareAndRender(task) }
  } catch (error) {
    if (error instanceof Refusal) return { refusal: { code: error.code, message: error.message } }
    throw error
  }
}

/** The rows for the statement of what was made ready for COPY: of a body, or of spans that make a trace. */
export const renderAsText = (body: Uint8Array): RecordText => renderTrace(prepare('record', body))
/** The same of those spans of an append's or an end's body that are written. */
export function renderAddedAsText(
  { operation, spans, text }: ReadyAppend | ReadyEnd,
  body: Uint8Array,
  added: readonly SpanHead[]
): RowsText {
  if (text !== undefined && added.length === spans.length) return text
  if (added.length === 0) return renderSpans([])
  const ids = new Set(added.map(({ id }) => id))
  return renderSpans(prepare(operation, body).spans.filter(({ id }) => ids.has(id)))
}
/** The rows of spans that a trace grows by; where that is all of them, with their texts as they were packed for `first`. */
export function renderGrowth({ first }: ReadySpans, added: readonly GatheredSpan[]): RowsText {
  const slices = first?.copy !== undefined && first.spanCount === added.length ? slicesOf(first.copy) : undefined
  return renderStoredSpans(added, slices?.map(packedAs) ?? added)
}
export function renderSpansAsText({ traceId, spans }: Pick<ReadySpans, 'traceId' | 'spans'>): RecordText {
  const { trace } = gatherTrace(traceId, spans)
  if (trace === undefined) throw new Error('none of the spans can be stored')
  return renderTrace(trace)
}

function prepareAndRender(task: ReadyTask): Ready {
  const { operation, body, environment, hurries } = task
  if (isParsedName(operation)) return { operation: 'parse', value: parse(operation, body) }
  switch (operation) {
    case 'record': {
      const trace = prepare('record', body)
      return readyRecord(trace, renderCopyRows(trace, environment, hurries), undefined, startedOf(trace, body))
    }
    case 'record text': {
      const trace = prepare('record', body)
      return readyRecord(trace, undefined, renderTrace(trace, hurries), startedOf(trace, body))
    }
    case 'restore': {
      const trace = prepareRestore(body)
      return readyRecord(trace, undefined, renderRestored(trace, hurries))
    }
    case 'append':
      return withCopyRows(prepare('append', body), hurries)
    case 'append text':
      return withText(prepare('append', body), hurries)
    case 'end':
      return withCopyRows(prepare('end', body), hurries)
    case 'end text':
      return withText(prepare('end', body), hurries)
    case 'export-json':
      return readyExport(readExport(body, 'json'), task)
    case 'export-protobuf':
      return readyExport(readExport(body, 'protobuf'), task)
    case 'export-portion':
      return readyExport(readPortion(body), task)
  }
}

const headOf = (span: PreparedSpan): SpanHead => ({
  id: span.id,
  status: span.status,
  hash: shortHash(span),
  bytes: span.bytes
})

interface WithSpans {
  readonly spans: readonly PreparedSpan[]
}
const withCopyRows = <T extends WithSpans>(prepared: T, hurries: boolean) => ({
  ...prepared,
  spans: prepared.spans.map(headOf),
  copy: renderSpanRows(prepared.spans, hurries),
  text: undefined
})
const withText = <T extends WithSpans>(prepared: T, hurries: boolean) => ({
  ...prepared,
  spans: prepared.spans.map(headOf),
  copy: undefined,
  text: renderSpans(prepared.spans, hurries)
})

function readyExport({ traces, portions, refusals }: Export, task: ReadyTask): ReadyExport {
  return {
    operation: 'export',
    traces: Array.from(traces, ([traceId, mapped]) => readySpans(traceId, normaliseMapped(mapped), task)),
    portions,
    refusals
  }
}

function normaliseMapped(mapped: readonly MappedSpan[]): GatheredSpan[] {
  const value = { schemaVersion: 1 as const, spans: mapped.map(({ span }) => span) }
  const { spans } = normaliseSpans({ value, escapes: false })
  return spans.map((span, i) => ({ ...span, hints: (mapped[i] as MappedSpan).hints }))
}

function readySpans(traceId: string, spans: readonly GatheredSpan[], { environment, hurries }: ReadyTask): ReadySpans {
  const { trace, refusals } = gatherTrace(traceId, spans)
  const first = trace && readyRecord(trace, renderCopyRows(trace, environment, hurries), undefined)
  return { operation: 'export', traceId, spans, first, refusals }
}

/** The trace that spans make where there is none yet. */
function gatherTrace(traceId: string, spans: readonly GatheredSpan[]) {
  const { growth, added, refusals } = decideExport(undefined, {
    operation: 'export',
    traceId,
    spans,
    environment: null
  })
  return { trace: growth && asRecorded(traceId, growth, added), refusals }
}

function asRecorded(traceId: string, growth: Growth, spans: readonly GatheredSpan[]): PreparedTrace {
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

function readyRecord(
  trace: PreparedTrace,
  copy: CopyRows | undefined,
  text: RecordText | undefined,
  started?: StartedState
): ReadyRecord {
  return {
    operation: 'record',
    traceId: trace.traceId,
    hash: trace.hash,
    running: trace.endedAt === null,
    oversize: oversizeMessage(trace),
    spanCount: trace.spans.length,
    estimatedBytes: trace.bytes + countBytes(trace.spans),
    started,
    copy,
    text
  }
}

function startedOf(trace: PreparedTrace, body: Uint8Array): StartedState | undefined {
  return trace.endedAt === null && isMemorable(trace, body.byteLength) ? startedState(trace) : undefined
}
