/**
 * Renders COPY rows for a new trace, added spans, and a changed trace's tags. Some fields are known only when a row is
 * written, such as the project and the trace's number. lib/store/write/copy-batch.ts fills in these fields.
 *
 * If `hurries` is set, only texts that PostgreSQL would otherwise compress are packed (lib/rows/packed-texts.ts).
 */
import { UNASSIGNED } from '../trace/environment.ts'
import type { PreparedSpans, SpanHead, TraceSpan } from '../trace/prepared.ts'
import { cutTexts } from '../trace/states/cut-texts.ts'
import {
  type Delta,
  deltaValues,
  type ListedTrace,
  listValues,
  type NewTrace,
  scoreValues,
  spanHeadValues,
  tagValues,
  traceDuration,
  traceTextValues,
  traceValues
} from './column-values.ts'
import {
  type Column,
  DELTA_COLUMNS,
  LIST_COLUMNS,
  OWNER_COLUMNS,
  offsetIn,
  SCORE_BODY_COLUMNS,
  SCORE_COLUMNS,
  SPAN_COLUMNS,
  SPAN_HEAD_COLUMNS,
  STORED_TEXT_COLUMNS,
  TAG_BODY_COLUMNS,
  TAG_COLUMNS,
  TAG_STAMP_COLUMNS,
  TRACE_BODY_COLUMNS,
  TRACE_TEXT_COLUMNS
} from './columns.ts'
import { CopyWriter, fieldWriter, readField, skipFields } from './copy-format.ts'
import { listsOf, type TraceLists, tagListsOf } from './list-numbers.ts'
import { EncodedTexts, packTexts, type SpanTexts, type StoredTexts, textValues, unpackTexts } from './packed-texts.ts'
import type { Allocate } from './thread-bytes.ts'
import { textsOfTrace } from './trace-texts.ts'

/** Consecutive span rows, with each row's offset in `bytes`. */
export interface SpanRows {
  readonly bytes: Uint8Array
  readonly spans: readonly number[]
}

/**
 * A trace's keys in the two rankings, or the floors of a list's two rankings. A trace without a key is absent from the
 * ranking. A null floor means that the ranking has no floor.
 */
export interface RankingKeys {
  readonly durationMs: number | null
  readonly costUsd: number | null
}

/**
 * `bytes` begins with the trace's list fields. In TraceRows, the rest of the trace's row follows. The trace's tag rows
 * come next, followed by its delta rows (amounts for the rollups).
 */
export interface ListedRows {
  readonly bytes: Uint8Array
  /** Offset of each tag's row. */
  readonly tags: readonly number[]
  /** Offset at which the last tag row ends. */
  readonly tagsEnd: number
  /** Offset of each delta row. `deltasEnd` is the offset at which the last row ends. */
  readonly deltas: readonly number[]
  readonly deltasEnd: number
  /** The number of the trace's family, as a map key. */
  readonly family: string
  readonly keys: RankingKeys
}

/** A new trace: its row from the list fields on, then the rows of its tags, deltas, scores and spans. */
export interface TraceRows extends ListedRows, SpanRows {
  readonly scores: readonly number[]
  readonly scoresEnd: number
}

const rows = new CopyWriter()
const writeLists = fieldWriter(LIST_COLUMNS, listValues)
const writeTrace = fieldWriter(TRACE_BODY_COLUMNS, traceValues)
const writeTraceTexts = fieldWriter(TRACE_TEXT_COLUMNS, traceTextValues)
/** These zeros are replaced when the batch is written. */
const writeTagStamp = fieldWriter(TAG_STAMP_COLUMNS, { project_id: () => 0, ranked: () => 0 })
const writeOwner = fieldWriter(OWNER_COLUMNS, { project_id: () => 0, trace_seq: () => 0 })
const writeTag = fieldWriter(TAG_BODY_COLUMNS, tagValues)
const writeDeltaRow = fieldWriter(DELTA_COLUMNS, deltaValues)
const writeScore = fieldWriter(SCORE_BODY_COLUMNS, scoreValues)
const writeTexts = fieldWriter(STORED_TEXT_COLUMNS, textValues)
const writeHead = fieldWriter(SPAN_HEAD_COLUMNS, spanHeadValues)

/**
 * Renders a new trace's rows. `environment` is the recording key's environment, or null if the key has none. A restored
 * trace keeps its own environment.
 */
export function renderTraceRows(
  trace: NewTrace,
  environment: string | null,
  hurries: boolean,
  allocate?: Allocate
): TraceRows {
  rows.reset(trace.areByteTexts)
  const lists = listsOf(trace, trace.past === undefined ? (environment ?? UNASSIGNED) : (trace.past.environment ?? ''))
  writeLists(rows, lists)
  writeTrace(rows, trace)
  writeTraceTexts(rows, textsOfTrace(trace))
  const tags = writeTags(trace, lists)
  const tagsEnd = rows.length
  const deltas = writeDeltas(trace.endedAt === null ? [] : [{ sign: 1, trace, lists }])
  const deltasEnd = rows.length
  const scores = (trace.past?.scores ?? []).map(score => {
    const from = beginRow(SCORE_COLUMNS)
    writeOwner(rows, undefined)
    writeScore(rows, score)
    return from
  })
  const scoresEnd = rows.length
  const spans = writeSpans(trace, hurries)
  const { family, keys } = listed(trace, lists)
  return { family, keys, tags, tagsEnd, deltas, deltasEnd, scores, scoresEnd, spans, bytes: rows.take(allocate) }
}

/** The stored rows of a copied trace: its row's fields from the id on, and the rows of its scores and spans. */
export interface CopiedParts {
  readonly body: Uint8Array
  readonly scores: { readonly bytes: Uint8Array; readonly starts: readonly number[] }
  readonly spans: { readonly bytes: Uint8Array; readonly starts: readonly number[] }
}

/**
 * Joins the rows of a trace that is copied from a backup. The trace's list fields, tag rows and delta rows are rendered
 * again, so that they agree with the trace.
 */
export function renderCopiedRows(
  trace: ListedTrace,
  environment: string,
  { body, scores, spans }: CopiedParts,
  allocate: Allocate
): TraceRows {
  rows.reset()
  const lists = listsOf(trace, environment)
  writeLists(rows, lists)
  rows.append(body)
  const tags = writeTags(trace, lists)
  const tagsEnd = rows.length
  const deltas = writeDeltas(trace.endedAt === null ? [] : [{ sign: 1, trace, lists }])
  const deltasEnd = rows.length
  rows.append(scores.bytes)
  const scoresEnd = rows.length
  rows.append(spans.bytes)
  const { family, keys } = listed(trace, lists)
  return {
    ...{ family, keys, tags, tagsEnd, deltas, deltasEnd, scoresEnd },
    scores: scores.starts.map(start => deltasEnd + start),
    spans: spans.starts.map(start => scoresEnd + start),
    bytes: rows.take(allocate)
  }
}

export function renderSpanRows(prepared: PreparedSpans<TraceSpan>, hurries: boolean): SpanRows {
  rows.reset(prepared.areByteTexts)
  const starts = writeSpans(prepared, hurries)
  return { bytes: rows.take(), spans: starts }
}

/** Renders list fields, tag rows and delta rows for a stored trace that a change moves to `lists`. */
export function renderListedRows(trace: ListedTrace, lists: TraceLists, all: readonly Delta[] = []): ListedRows {
  rows.reset()
  writeLists(rows, lists)
  const tags = writeTags(trace, lists)
  const tagsEnd = rows.length
  const deltas = writeDeltas(all)
  const deltasEnd = rows.length
  const { family, keys } = listed(trace, lists)
  return { family, keys, tags, tagsEnd, deltas, deltasEnd, bytes: rows.take() }
}

const listed = (trace: ListedTrace, { family: { high, low } }: TraceLists) => ({
  family: `${high},${low}`,
  keys: { durationMs: traceDuration(trace), costUsd: trace.costUsd }
})

/** Starts a row and returns its offset. */
function beginRow(columns: readonly Column[]): number {
  const from = rows.length
  rows.int16(columns.length)
  return from
}

function writeTags(trace: ListedTrace, lists: TraceLists): number[] {
  return trace.tags.map(tag => {
    const from = beginRow(TAG_COLUMNS)
    writeTagStamp(rows, undefined)
    writeTag(rows, { trace, lists, tag, tagLists: tagListsOf(tag, lists) })
    return from
  })
}

function writeDeltas(all: readonly Delta[]): number[] {
  return all.map(each => {
    const from = beginRow(DELTA_COLUMNS)
    writeDeltaRow(rows, each)
    return from
  })
}

function writeSpans({ spans, areByteTexts }: PreparedSpans<TraceSpan>, hurries: boolean): number[] {
  const texts = packTexts(spans, hurries, areByteTexts)
  return spans.map((span, i) => {
    const from = beginRow(SPAN_COLUMNS)
    writeOwner(rows, undefined)
    writeTexts(rows, texts[i] as StoredTexts)
    writeHead(rows, span)
    return from
  })
}

/**
 * Copies the rows of the spans in `added` from the rows of all `heads`. Packed spans can be read only as a group, so
 * the copied rows contain unpacked texts. Cuts the texts of the spans in `cut`.
 */
export function pickRows(
  all: SpanRows,
  heads: readonly SpanHead[],
  added: readonly SpanHead[],
  cut: ReadonlySet<SpanHead> = NOTHING_CUT
): SpanRows {
  if (added.length === heads.length && cut.size === 0) return all
  const parts = partsOf(all)
  const unpacked = unpackTexts(parts.flatMap(part => packedIn(part) ?? []))
  const isAdded = new Set(added)
  const starts: number[] = []
  rows.reset()
  for (const [i, part] of parts.entries()) {
    const head = heads[i] as SpanHead
    if (!isAdded.has(head)) continue
    starts.push(rows.length)
    const whole = unpacked.get(head.id)
    const texts = cut.has(head) ? cutTexts(whole ?? new EncodedTexts(part, TEXTS_AT)) : whole
    if (texts === undefined) {
      rows.append(part)
    } else {
      rows.append(part.subarray(0, TEXTS_AT))
      writeTexts(rows, texts)
      rows.append(part.subarray(endOfFields(part, STORED_TEXT_COLUMNS.length)))
    }
  }
  return { bytes: rows.take(), spans: starts }
}

const NOTHING_CUT: ReadonlySet<SpanHead> = new Set()

/** Returns the texts in these rows, by span id. Each text is decoded when it is read. */
export function textsOfRows(rows: SpanRows): ReadonlyMap<string, SpanTexts> {
  const parts = partsOf(rows)
  const texts = new Map(unpackTexts(parts.flatMap(part => packedIn(part) ?? [])))
  for (const part of parts) {
    const id = (readField(part, endOfFields(part, STORED_TEXT_COLUMNS.length)).bytes as Buffer).toString('hex')
    if (!texts.has(id)) texts.set(id, new EncodedTexts(part, TEXTS_AT))
  }
  return texts
}

function partsOf({ bytes, spans }: SpanRows): Buffer[] {
  const from = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return spans.map((start, i) => from.subarray(start, spans[i + 1]))
}

/** Offset of the first text field, including its length prefix. */
const TEXTS_AT = offsetIn(SPAN_COLUMNS, STORED_TEXT_COLUMNS[0].name) - 4

/** Returns the `packed` value, which is the last of a row's text columns. */
const packedIn = (row: Buffer) => readField(row, endOfFields(row, STORED_TEXT_COLUMNS.length - 1)).bytes

/** Returns the offset at which `count` fields end, starting with the first text. */
const endOfFields = (row: Buffer, count: number): number => skipFields(row, TEXTS_AT, count)
