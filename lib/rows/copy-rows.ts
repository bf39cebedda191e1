/**
 * Rows as COPY takes them: of a trace to record, of spans to add, and of the tags of a trace that changed. What is known
 * only when they are written (whose they are, their numbers) is left open, and filled in by lib/store/write/copy-batch.ts.
 * `hurries`: texts are compressed only where that takes no time (lib/rows/packed-texts.ts).
 */
import { UNASSIGNED } from '../trace/environment.ts'
import type { PreparedSpan, SpanHead } from '../trace/prepared.ts'
import {
  type ListedTrace,
  listValues,
  type NewTrace,
  scoreValues,
  spanHeadValues,
  tagValues,
  traceDuration,
  traceValues
} from './column-values.ts'
import {
  type Column,
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
  TRACE_BODY_COLUMNS
} from './columns.ts'
import { CopyWriter, fieldWriter, readField } from './copy-format.ts'
import { listsOf, type TraceLists, tagListsOf } from './list-numbers.ts'
import { packTexts, type StoredTexts, textValues, unpackTexts } from './packed-texts.ts'

/** Rows of spans, one behind the other, and where each begins. */
export interface SpanRows {
  readonly bytes: Uint8Array
  readonly spans: readonly number[]
}

/** What a trace is ranked by; null: it is not in that ranking. */
export interface RankingKeys {
  readonly durationMs: number | null
  readonly costUsd: number | null
}

/** The fields of a trace's lists, and behind them (or behind all fields of its row) the rows of its tags. */
export interface ListedRows {
  readonly bytes: Uint8Array
  /** Where the row of each tag begins, and where the last one ends. */
  readonly tags: readonly number[]
  readonly tagsEnd: number
  /** The trace's family, as a text that tells it from others. */
  readonly family: string
  readonly keys: RankingKeys
}

/** A new trace: the fields of its row from its lists on, and the rows of its tags, of its scores and of its spans. */
export interface TraceRows extends ListedRows, SpanRows {
  readonly scores: readonly number[]
  readonly scoresEnd: number
}

const rows = new CopyWriter()
const writeLists = fieldWriter(LIST_COLUMNS, listValues)
const writeTrace = fieldWriter(TRACE_BODY_COLUMNS, traceValues)
/** Filled in when the batch is written. */
const writeTagStamp = fieldWriter(TAG_STAMP_COLUMNS, { project_id: () => 0, ranked: () => 0 })
const writeOwner = fieldWriter(OWNER_COLUMNS, { project_id: () => 0, trace_seq: () => 0 })
const writeTag = fieldWriter(TAG_BODY_COLUMNS, tagValues)
const writeScore = fieldWriter(SCORE_BODY_COLUMNS, scoreValues)
const writeTexts = fieldWriter(STORED_TEXT_COLUMNS, textValues)
const writeHead = fieldWriter(SPAN_HEAD_COLUMNS, spanHeadValues)

/** `environment`: of the key that records the trace; null: unassigned. */
export function renderTraceRows(trace: NewTrace, environment: string | null, hurries: boolean): TraceRows {
  rows.begin()
  const lists = listsOf(trace, trace.past === undefined ? (environment ?? UNASSIGNED) : (trace.past.environment ?? ''))
  writeLists(rows, lists)
  writeTrace(rows, trace)
  const tags = writeTags(trace, lists)
  const tagsEnd = rows.length
  const scores = (trace.past?.scores ?? []).map(score => {
    const from = beginRow(SCORE_COLUMNS)
    writeOwner(rows, undefined)
    writeScore(rows, score)
    return from
  })
  const scoresEnd = rows.length
  const spans = writeSpans(trace.spans, hurries)
  return { ...listed(trace, lists), tags, tagsEnd, scores, scoresEnd, spans, bytes: rows.take() }
}

export function renderSpanRows(spans: readonly PreparedSpan[], hurries: boolean): SpanRows {
  rows.begin()
  const starts = writeSpans(spans, hurries)
  return { bytes: rows.take(), spans: starts }
}

/** Of a stored trace that has come to be in these lists. */
export function renderListedRows(trace: ListedTrace, lists: TraceLists): ListedRows {
  rows.begin()
  writeLists(rows, lists)
  const tags = writeTags(trace, lists)
  const tagsEnd = rows.length
  return { ...listed(trace, lists), tags, tagsEnd, bytes: rows.take() }
}

const listed = (trace: ListedTrace, { family: { high, low } }: TraceLists) => ({
  family: `${high},${low}`,
  keys: { durationMs: traceDuration(trace), costUsd: trace.costUsd }
})

/** Gives where the row begins. */
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

function writeSpans(spans: readonly PreparedSpan[], hurries: boolean): number[] {
  const texts = packTexts(spans, hurries)
  return spans.map((span, i) => {
    const from = beginRow(SPAN_COLUMNS)
    writeOwner(rows, undefined)
    writeTexts(rows, texts[i] as StoredTexts)
    writeHead(rows, span)
    return from
  })
}

/** The rows of the `added` spans, of rows of all `heads`; where any of them were compressed, they no longer are. */
export function pickRows(all: SpanRows, heads: readonly SpanHead[], added: readonly SpanHead[]): SpanRows {
  if (added.length === heads.length) return all
  const parts = partsOf(all)
  const unpacked = unpackTexts(parts.flatMap(part => packedIn(part) ?? []))
  const isAdded = new Set(added)
  const starts: number[] = []
  rows.begin()
  for (const [i, part] of parts.entries()) {
    const head = heads[i] as SpanHead
    if (!isAdded.has(head)) continue
    starts.push(rows.length)
    const texts = unpacked.get(head.id)
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

function partsOf({ bytes, spans }: SpanRows): Buffer[] {
  const from = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return spans.map((start, i) => from.subarray(start, spans[i + 1]))
}

/** Where the field of the first text begins, with its length. */
const TEXTS_AT = offsetIn(SPAN_COLUMNS, STORED_TEXT_COLUMNS[0].name) - 4

/** What a row holds in its column `packed`, behind the other texts. */
const packedIn = (row: Buffer) => readField(row, endOfFields(row, STORED_TEXT_COLUMNS.length - 1)).bytes

/** Where so many fields end, from the texts on. */
function endOfFields(row: Buffer, count: number): number {
  let at = TEXTS_AT
  for (let i = 0; i < count; i++) at = readField(row, at).end
  return at
}
