/**
 * Traces to record, and spans to add, as the rows that COPY takes, written where their body is prepared. `hurries`: texts are
 * packed only where that takes no time.
 */

import type { CopyRows, SpanRows } from '../store/write/copy-batch.ts'
import { familyText } from '../store/write/known-families.ts'
import { UNASSIGNED } from '../trace/environment.ts'
import type { PreparedSpan, PreparedTrace, SpanHead } from '../trace/prepared.ts'
import { listValues, spanHeadValues, tagValues, traceDuration, traceValues } from './column-values.ts'
import {
  LIST_COLUMNS,
  OWNER_COLUMNS,
  SPAN_COLUMNS,
  SPAN_HEAD_COLUMNS,
  STORED_TEXT_COLUMNS,
  TAG_BODY_COLUMNS,
  TAG_COLUMNS,
  TAG_STAMP_COLUMNS,
  TRACE_BODY_COLUMNS
} from './columns.ts'
import { CopyWriter, fieldWriter, readField } from './copy-format.ts'
import { listsOf, tagListsOf } from './list-numbers.ts'
import { packTexts, type StoredTexts, textValues, unpackTexts } from './packed-texts.ts'

const rows = new CopyWriter()
const writeLists = fieldWriter(LIST_COLUMNS, listValues)
const writeTrace = fieldWriter(TRACE_BODY_COLUMNS, traceValues)
/** Filled in when the batch is written. */
const writeTagStamp = fieldWriter(TAG_STAMP_COLUMNS, { project_id: () => 0, ranked: () => 0 })
const writeOwner = fieldWriter(OWNER_COLUMNS, { project_id: () => 0, trace_seq: () => 0 })
const writeTag = fieldWriter(TAG_BODY_COLUMNS, tagValues)
const writeTexts = fieldWriter(STORED_TEXT_COLUMNS, textValues)
const writeHead = fieldWriter(SPAN_HEAD_COLUMNS, spanHeadValues)

/** `environment`: of the key that records the trace. */
export function renderCopyRows(trace: PreparedTrace, environment: string | null, hurries: boolean): CopyRows {
  const lists = listsOf(trace, environment ?? UNASSIGNED)
  writeLists(rows, lists)
  writeTrace(rows, trace)
  const tags = trace.tags.map(tag => {
    const from = rows.length
    rows.int16(TAG_COLUMNS.length)
    writeTagStamp(rows, undefined)
    writeTag(rows, { trace, lists, tag, tagLists: tagListsOf(tag, lists) })
    return from
  })
  const spans = writeSpans(trace.spans, hurries)
  const keys = { durationMs: traceDuration(trace), costUsd: trace.costUsd }
  return { bytes: rows.take(), tags, spans, family: familyText(lists), keys }
}

export function renderSpanRows(spans: readonly PreparedSpan[], hurries: boolean): SpanRows {
  const starts = writeSpans(spans, hurries)
  return { bytes: rows.take(), spans: starts }
}

/** Gives where each row begins. */
function writeSpans(spans: readonly PreparedSpan[], hurries: boolean): number[] {
  const texts = packTexts(spans, hurries)
  return spans.map((span, i) => {
    const from = rows.length
    rows.int16(SPAN_COLUMNS.length)
    writeOwner(rows, undefined)
    writeTexts(rows, texts[i] as StoredTexts)
    writeHead(rows, span)
    return from
  })
}

/** The rows of those spans that are `added`; where any were packed, they are not. */
export function pickRows(copy: SpanRows, heads: readonly SpanHead[], added: ReadonlySet<SpanHead>): SpanRows {
  const parts = partsOf(copy)
  const unpacked = unpackTexts(parts.flatMap(part => packedIn(part) ?? []))
  const starts: number[] = []
  for (const [i, part] of parts.entries()) {
    const head = heads[i] as SpanHead
    if (!added.has(head)) continue
    starts.push(rows.length)
    const texts = unpacked.get(head.id)
    if (texts === undefined) {
      rows.append(part)
    } else {
      rows.append(part.subarray(0, TEXTS_AT))
      writeTexts(rows, texts)
      rows.append(part.subarray(behindFields(part, STORED_TEXT_COLUMNS.length)))
    }
  }
  return { bytes: rows.take(), spans: starts }
}

/** The slices that these rows have of packed texts, null where one has none; undefined where nothing is packed. */
export function slicesOf(copy: SpanRows): readonly (Buffer | null)[] | undefined {
  const slices = partsOf(copy).map(part => packedIn(part) ?? null)
  return slices.some(slice => slice !== null) ? slices : undefined
}

function partsOf({ bytes, spans }: SpanRows): Buffer[] {
  const from = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return spans.map((start, i) => from.subarray(start, spans[i + 1]))
}

/** A row begins with how many fields it has, and its owner's, each behind its length. */
const TEXTS_AT = 2 + (4 + 4) + (4 + 8)

/** What a row holds in its column `packed`, behind the other texts. */
const packedIn = (row: Buffer) => readField(row, behindFields(row, STORED_TEXT_COLUMNS.length - 1)).bytes

/** Where so many fields end, from the texts on. */
function behindFields(row: Buffer, count: number): number {
  let at = TEXTS_AT
  for (let i = 0; i < count; i++) at = readField(row, at).end
  return at
}
