/** Traces to record, and spans to add, as the rows that COPY takes, written where their body is prepared. */
import { UNASSIGNED } from '../environment.ts'
import {
  LIST_COLUMNS,
  OWNER_COLUMNS,
  SPAN_BODY_COLUMNS,
  SPAN_COLUMNS,
  TAG_BODY_COLUMNS,
  TAG_COLUMNS,
  TAG_STAMP_COLUMNS,
  TRACE_BODY_COLUMNS
} from '../store/columns.ts'
import type { CopyRows, SpanRows } from '../store/copy-batch.ts'
import { CopyWriter, fieldWriter } from '../store/copy-format.ts'
import { familyText } from '../store/known-families.ts'
import { listsOf, tagListsOf } from '../store/list-numbers.ts'
import type { PreparedSpan, PreparedTrace } from '../trace/prepared.ts'
import { listValues, spanValues, tagValues, traceDuration, traceValues } from './values.ts'

const rows = new CopyWriter()
const writeLists = fieldWriter(LIST_COLUMNS, listValues)
const writeTrace = fieldWriter(TRACE_BODY_COLUMNS, traceValues)
/** Filled in when the batch is written. */
const writeTagStamp = fieldWriter(TAG_STAMP_COLUMNS, { project_id: () => 0, ranked: () => 0 })
const writeOwner = fieldWriter(OWNER_COLUMNS, { project_id: () => 0, trace_seq: () => 0 })
const writeTag = fieldWriter(TAG_BODY_COLUMNS, tagValues)
const writeSpan = fieldWriter(SPAN_BODY_COLUMNS, spanValues)

/** `environment`: of the key that records the trace. */
export function renderCopyRows(trace: PreparedTrace, environment: string | null): CopyRows {
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
  const spans = writeSpans(trace.spans)
  const keys = { durationMs: traceDuration(trace), costUsd: trace.costUsd }
  return { bytes: rows.take(), tags, spans, family: familyText(lists), keys }
}

export function renderSpanRows(spans: readonly PreparedSpan[]): SpanRows {
  const starts = writeSpans(spans)
  return { bytes: rows.take(), spans: starts }
}

/** Gives where each row begins. */
function writeSpans(spans: readonly PreparedSpan[]): number[] {
  return spans.map(span => {
    const from = rows.length
    rows.int16(SPAN_COLUMNS.length)
    writeOwner(rows, undefined)
    writeSpan(rows, span)
    return from
  })
}

/** The rows of some of the spans only. */
export function pickRows({ bytes, spans }: SpanRows, isPicked: (index: number) => boolean): SpanRows {
  const parts = spans.map((from, i) => bytes.subarray(from, spans[i + 1])).filter((_, i) => isPicked(i))
  let length = 0
  const starts = parts.map(part => {
    const from = length
    length += part.length
    return from
  })
  return { bytes: Buffer.concat(parts), spans: starts }
}
