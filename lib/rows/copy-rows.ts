/**
 * Renders rows in the format of COPY: those of a trace to record, of spans to add, and of the tags of a changed trace.
 * Some fields are known only when a row is written, such as the project and the number of the trace. They are left
 * blank here, and lib/store/write/copy-batch.ts fills them in.
 *
 * `hurries` says that only those texts are packed that PostgreSQL would compress otherwise (lib/rows/packed-texts.ts).
 */
import { UNASSIGNED } from '../trace/environment.ts'
import type { PreparedSpan, SpanHead } from '../trace/prepared.ts'
import {
  type ListedTrace,
  listValues,
  type News,
  type NewTrace,
  newsValues,
  scoreValues,
  spanHeadValues,
  tagValues,
  traceDuration,
  traceValues
} from './column-values.ts'
import {
  type Column,
  LIST_COLUMNS,
  NEWS_COLUMNS,
  OWNER_COLUMNS,
  offsetIn,
  SCORE_BODY_COLUMNS,
  SCORE_COLUMNS,
  SPAN_COLUMNS,
  SPAN_HEAD_COLUMNS,
  SPAN_ID_COLUMN,
  STORED_TEXT_COLUMNS,
  TAG_BODY_COLUMNS,
  TAG_COLUMNS,
  TAG_STAMP_COLUMNS,
  TRACE_BODY_COLUMNS
} from './columns.ts'
import { CopyWriter, fieldWriter, readField } from './copy-format.ts'
import { listsOf, type TraceLists, tagListsOf } from './list-numbers.ts'
import { packTexts, type SpanTexts, type StoredTexts, textValues, unpackTexts } from './packed-texts.ts'
import type { Allocate } from './thread-bytes.ts'

/** Rows of spans, one after another, and the offset in `bytes` at which each begins. */
export interface SpanRows {
  readonly bytes: Uint8Array
  readonly spans: readonly number[]
}

/** The values that a trace is ranked by. A trace is not in a ranking whose value is null. */
export interface RankingKeys {
  readonly durationMs: number | null
  readonly costUsd: number | null
}

/**
 * `bytes` begins with the fields of the trace's lists (in TraceRows: with all fields from the lists on). The rows of
 * the trace's tags follow, then the rows of news for the sums over time.
 */
export interface ListedRows {
  readonly bytes: Uint8Array
  /** The offset at which the row of each tag begins. */
  readonly tags: readonly number[]
  /** The offset at which the last of them ends. */
  readonly tagsEnd: number
  /** The offset at which each row of news begins, and at which the last one ends. */
  readonly news: readonly number[]
  readonly newsEnd: number
  /** The number of the trace's family, as a text for use as a key. */
  readonly family: string
  readonly keys: RankingKeys
}

/**
 * A new trace: the fields of its row from the lists on, then the rows of its tags, of its news, its scores and its
 * spans.
 */
export interface TraceRows extends ListedRows, SpanRows {
  readonly scores: readonly number[]
  readonly scoresEnd: number
}

const rows = new CopyWriter()
const writeLists = fieldWriter(LIST_COLUMNS, listValues)
const writeTrace = fieldWriter(TRACE_BODY_COLUMNS, traceValues)
/** These zeros are filled in when the batch is written. */
const writeTagStamp = fieldWriter(TAG_STAMP_COLUMNS, { project_id: () => 0, ranked: () => 0 })
const writeOwner = fieldWriter(OWNER_COLUMNS, { project_id: () => 0, trace_seq: () => 0 })
const writeTag = fieldWriter(TAG_BODY_COLUMNS, tagValues)
const writeNewsRow = fieldWriter(NEWS_COLUMNS, newsValues)
const writeScore = fieldWriter(SCORE_BODY_COLUMNS, scoreValues)
const writeTexts = fieldWriter(STORED_TEXT_COLUMNS, textValues)
const writeHead = fieldWriter(SPAN_HEAD_COLUMNS, spanHeadValues)

/** `environment` is that of the key that records the trace; null if the key has none. A restored trace has its own. */
export function renderTraceRows(
  trace: NewTrace,
  environment: string | null,
  hurries: boolean,
  allocate?: Allocate
): TraceRows {
  rows.reset()
  const lists = listsOf(trace, trace.past === undefined ? (environment ?? UNASSIGNED) : (trace.past.environment ?? ''))
  writeLists(rows, lists)
  writeTrace(rows, trace)
  const tags = writeTags(trace, lists)
  const tagsEnd = rows.length
  const news = writeNews(trace.endedAt === null ? [] : [{ sign: 1, trace, lists }])
  const newsEnd = rows.length
  const scores = (trace.past?.scores ?? []).map(score => {
    const from = beginRow(SCORE_COLUMNS)
    writeOwner(rows, undefined)
    writeScore(rows, score)
    return from
  })
  const scoresEnd = rows.length
  const spans = writeSpans(trace.spans, hurries)
  const { family, keys } = listed(trace, lists)
  return { family, keys, tags, tagsEnd, news, newsEnd, scores, scoresEnd, spans, bytes: rows.take(allocate) }
}

/** The rows of spans that are added to a stored trace. */
export function renderSpanRows(spans: readonly PreparedSpan[], hurries: boolean): SpanRows {
  rows.reset()
  const starts = writeSpans(spans, hurries)
  return { bytes: rows.take(), spans: starts }
}

/** The list fields and the tags of a stored trace that a change has moved to these lists, and the news of that. */
export function renderListedRows(trace: ListedTrace, lists: TraceLists, all: readonly News[] = []): ListedRows {
  rows.reset()
  writeLists(rows, lists)
  const tags = writeTags(trace, lists)
  const tagsEnd = rows.length
  const news = writeNews(all)
  const newsEnd = rows.length
  const { family, keys } = listed(trace, lists)
  return { family, keys, tags, tagsEnd, news, newsEnd, bytes: rows.take() }
}

const listed = (trace: ListedTrace, { family: { high, low } }: TraceLists) => ({
  family: `${high},${low}`,
  keys: { durationMs: traceDuration(trace), costUsd: trace.costUsd }
})

/** Returns the offset at which the row begins. */
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

function writeNews(all: readonly News[]): number[] {
  return all.map(each => {
    const from = beginRow(NEWS_COLUMNS)
    writeNewsRow(rows, each)
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

/**
 * Picks the rows of the `added` spans from the rows of all `heads`. Spans that were packed together can be read only
 * together, so the picked rows have their texts unpacked.
 */
export function pickRows(all: SpanRows, heads: readonly SpanHead[], added: readonly SpanHead[]): SpanRows {
  if (added.length === heads.length) return all
  const parts = partsOf(all)
  const unpacked = unpackTexts(parts.flatMap(part => packedIn(part) ?? []))
  const isAdded = new Set(added)
  const starts: number[] = []
  rows.reset()
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

/** The texts of the spans of these rows, by the ids of the spans. */
export function textsOfRows(rows: SpanRows): ReadonlyMap<string, SpanTexts> {
  const parts = partsOf(rows)
  const texts = new Map(unpackTexts(parts.flatMap(part => packedIn(part) ?? [])))
  for (const part of parts) {
    const fields = fieldsOfTexts(part)
    const id = (fields[STORED_TEXT_COLUMNS.length] as Buffer).toString('hex')
    if (texts.has(id)) continue
    const [input = null, output = null, attributes = null, events = null] = fields.map(bytes => bytes?.toString())
    texts.set(id, { input, output, attributes, events })
  }
  return texts
}

/** The bytes of the text columns, and of the column after them, which is the id. */
function fieldsOfTexts(row: Buffer): readonly (Buffer | undefined)[] {
  let at = TEXTS_AT
  return [...STORED_TEXT_COLUMNS, SPAN_ID_COLUMN].map(() => {
    const { bytes, end } = readField(row, at)
    at = end
    return bytes
  })
}

function partsOf({ bytes, spans }: SpanRows): Buffer[] {
  const from = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return spans.map((start, i) => from.subarray(start, spans[i + 1]))
}

/** The offset at which the field of the first text begins; a field begins with its length. */
const TEXTS_AT = offsetIn(SPAN_COLUMNS, STORED_TEXT_COLUMNS[0].name) - 4

/** The value of a row's column `packed`, which is the last of the text columns. */
const packedIn = (row: Buffer) => readField(row, endOfFields(row, STORED_TEXT_COLUMNS.length - 1)).bytes

/** The offset at which the first `count` fields end, counted from the first text. */
function endOfFields(row: Buffer, count: number): number {
  let at = TEXTS_AT
  for (let i = 0; i < count; i++) at = readField(row, at).end
  return at
}
