/**
 * Reads pages of whole traces for an export and renders their lines.
 *
 * Strings pass from PostgreSQL to the lines as bytes (byte-rows.ts). The code that passes them on examines only ASCII
 * characters: digits, and the characters that JSON escapes.
 */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES } from '../../database/tables.ts'
import { unpackSpans } from '../../rows/packed-texts.ts'
import { type SharedTexts, withSharedTexts } from '../../rows/trace-texts.ts'
import { joinMessages, type PlacedMessages } from '../../trace/span-messages.ts'
import type { ProjectCounts } from '../instance/backup-head.ts'
import { readMessagePages, readMessages } from '../trace/messages.ts'
import { fitting, started, type TraceConditions } from '../trace/trace-conditions.ts'
import { bytewise, type RawRow, RowReader } from './byte-rows.ts'
import {
  type ExportedRow,
  type ExportedSpan,
  factsOf,
  footAround,
  renderExportLine,
  renderLineHead,
  renderMessage,
  type SpanFacts
} from './exported-trace.ts'
import type { ScoreRow } from './score-json.ts'
import { readSpanPages } from './span-pages.ts'
import { renderSpan } from './trace-json.ts'
import {
  type Apart,
  DETAIL_COLUMNS,
  DETAIL_ORDER,
  type DetailRow,
  hasMessages,
  type ShownTrace,
  type StoredSpanRow,
  selectTraceAlone,
  textBytes,
  withOwnTexts
} from './traces.ts'

/** The trace after which an export's next page begins. Exported traces are ordered by startedAt, then id. */
export interface ExportPlace {
  readonly startedAt: string
  readonly id: string
}

/** Inclusive bounds of startedAt, as canonical timestamps. */
export type ExportWindow = Pick<TraceConditions, 'from' | 'to'>

export interface ExportChoice extends TraceConditions {
  /** Only traces with these ids, of which there must be few. */
  readonly ids?: readonly string[] | undefined
  /** Only traces that come after the stored trace with this id in the order of an export. */
  readonly after?: string
  /** Only the stored trace with this id, and traces that come before it. */
  readonly until?: string
}

/** A piece of an export, with the numbers of traces, spans and scores that the piece completes. */
export interface ExportPage extends ProjectCounts {
  /** One line per trace, including the line break, or part of a long trace's line. */
  readonly lines: Buffer
}

/**
 * Maximum number of traces per page, and number of document bytes after which no further trace is added to the page.
 */
const PAGE_TRACES = 250
const PAGE_BYTES = 4 * 1024 * 1024
/** Number of bytes above which a trace is long. A long trace's line is rendered in pieces of at least PIECE_BYTES. */
const LONG_BYTES = 2 * PAGE_BYTES
const PIECE_BYTES = 1024 * 1024

const LOWEST_ID = '0'.repeat(32)

type Part = 'trace' | 'span' | 'score'
type PagedTrace = ExportedRow & Apart & SharedTexts

/** A page's rows, which `renderExportPage` turns into lines. */
export interface FetchedPage {
  readonly rows: readonly RawRow[]
  readonly reader: RowReader
  readonly last: ExportPlace
  /** Whether the page is a single long trace, whose spans are not read yet. */
  readonly isLong: boolean
}

/**
 * Reads the export page that begins after `after`, or the first page, with each trace in its current state. Returns
 * undefined if no traces remain. `is true` makes PostgreSQL scan the index on startedAt, as in
 * lib/store/trace/pruning.ts, so that all pages together read a trace once.
 */
export async function fetchExportPage(
  sql: Sql,
  projectId: number,
  { ids, after: first, until, ...conditions }: ExportChoice,
  after?: ExportPlace
): Promise<FetchedPage | undefined> {
  const placeOf = (id: string) =>
    sql`(select p.started_at, p.id from traces p where p.project_id = ${projectId} and p.id = ${id})`
  let start = sql`(started_at, id) >= (${conditions.from ?? '-infinity'}, ${LOWEST_ID})`
  if (after !== undefined) start = sql`(started_at, id) > (${after.startedAt}, ${after.id})`
  else if (first !== undefined) start = sql`(started_at, id) > ${placeOf(first)}`
  const end = until === undefined ? sql`` : sql`and (started_at, id) <= ${placeOf(until)}`
  const bounds = sql`${start} ${end} and ${started(sql, conditions)}`
  // `is true` makes PostgreSQL look up the ids instead of reading all traces in order.
  const which = ids === undefined ? bounds : sql`id = any (${ids as string[]}::uuid[]) and (${bounds}) is true`
  const found = await sql`
    with next as materialized (
      select *, ${textBytes(sql, projectId)} as text_bytes from traces t
      where project_id = ${projectId} and ${which} and (${fitting(sql, conditions)}) is true
      order by started_at, id
      limit ${PAGE_TRACES}
    ), page as materialized (
      select *, text_bytes > ${LONG_BYTES} as is_long from (
        select *, sum(text_bytes) over (order by started_at, id) - text_bytes as bytes_before from next
      ) t where bytes_before = 0 or bytes_before < ${PAGE_BYTES} and text_bytes <= ${LONG_BYTES}
    )
    select coalesce(t.seq, s.trace_seq, c.trace_seq) as "traceSeq", t.key_id as "keyId", t.end_hash as "endHash", t.ranks,
      t.is_long as "isLong", ${hasMessages(sql, projectId)}, s.call_details as "callDetails", s.hash,
      ${sql.unsafe(DETAIL_COLUMNS)}
    from page t
    full join (
      select * from spans where project_id = ${projectId}
        and trace_seq = any (array(select seq from page where not is_long))
    ) s on false
    full join (
      select * from scores where project_id = ${projectId} and trace_seq = any (array(select seq from page))
    ) c on false
    order by t.started_at, t.id, ${sql.unsafe(DETAIL_ORDER)}`.raw()
  const rows: readonly RawRow[] = found
  const reader = new RowReader(found.columns)
  const last = rows.findLast(row => reader.field(row, 'part') === ('trace' satisfies Part))
  return last && { rows, reader, last: reader.row<ExportPlace>(last), isLong: reader.field(last, 'isLong') === true }
}

/**
 * Renders a long trace's line in pieces. The caller's transaction ensures that all statements see the same state of the
 * trace.
 */
export async function* renderLongTrace(sql: Sql, projectId: number, traceId: string): AsyncGenerator<ExportPage, void> {
  const columns = sql`, t.seq as "traceSeq", t.key_id as "keyId", t.end_hash as "endHash", t.ranks`
  const found = await selectTraceAlone(sql, projectId, traceId, SCHEMA_NAMES, columns).raw()
  const reader = new RowReader(found.columns)
  const [first, ...others] = (found as readonly RawRow[]).map(row =>
    reader.row<DetailRow<PagedTrace & { readonly traceSeq: number }>>(row)
  )
  // The trace may have been deleted since its page was read.
  if (first?.part !== 'trace') return
  const trace = await withOwnTexts(first, others, 'latin1')
  const scores = others.filter(row => row.part === 'score')
  const facts: SpanFacts[] = []
  let text = renderLineHead(trace, scores)
  let spans = 0
  const take = (more = { traces: 0, scores: 0 }): ExportPage => {
    const page = { lines: Buffer.from(text, 'latin1'), spans, ...more }
    text = ''
    spans = 0
    return page
  }
  const place = { projectId, traceId, traceSeq: trace.traceSeq, names: SCHEMA_NAMES }
  const more = ', s.call_details as "callDetails", s.hash'
  for await (const { spans: page } of readSpanPages<ExportedSpan>(sql, place, { more })) {
    for (const span of page) {
      text += `${facts.length === 0 ? '' : ','}${renderSpan(span, traceId)}`
      facts.push(factsOf(span))
      spans++
      if (text.length >= PIECE_BYTES) yield take()
    }
  }
  const [before, after] = footAround(trace, facts, scores, true)
  let isFirst = true
  if (trace.hasMessages) {
    for await (const page of readMessagePages(sql, place)) {
      for (const message of page) {
        text += `${isFirst ? before : ','}${renderMessage(bytewise(message))}`
        isFirst = false
        if (text.length >= PIECE_BYTES) yield take()
      }
    }
  }
  text += `${isFirst ? footAround(trace, facts, scores, false).join('') : after}\n`
  yield take({ traces: 1, scores: scores.length })
}

/** Renders a page's lines one trace at a time, so that few strings are in memory besides the rows. */
export async function renderExportPage(
  sql: Sql,
  projectId: number,
  { rows, reader }: FetchedPage
): Promise<ExportPage> {
  const traces = tracesOf({ rows, reader })
  const messages = await messagesOf(sql, projectId, traces)
  let lines = ''
  for (const { trace, spans, scores } of traces) {
    const own = messages.filter(({ traceId }) => traceId === trace.id)
    const unpacked = await unpackSpans(
      spans.map(span => reader.row<StoredSpanRow & ExportedSpan>(span)),
      'latin1'
    )
    lines += `${renderExportLine(
      withSharedTexts(trace, unpacked),
      unpacked,
      scores.map(score => reader.row<ScoreRow>(score)),
      own
    )}\n`
  }
  const count = (of: 'spans' | 'scores') => traces.reduce((sum, each) => sum + each[of].length, 0)
  return { lines: Buffer.from(lines, 'latin1'), traces: traces.length, spans: count('spans'), scores: count('scores') }
}

interface PagedRows {
  readonly trace: PagedTrace
  readonly spans: RawRow[]
  readonly scores: RawRow[]
}

/** Groups a page's rows by trace. */
function tracesOf({ rows, reader }: Pick<FetchedPage, 'rows' | 'reader'>): PagedRows[] {
  const found = new Map<unknown, PagedRows>()
  for (const row of rows) {
    const part = reader.field(row, 'part') as Part
    const seq = reader.field(row, 'traceSeq')
    if (part === 'trace') found.set(seq, { trace: reader.row(row), spans: [], scores: [] })
    else found.get(seq)![part === 'span' ? 'spans' : 'scores'].push(row)
  }
  return [...found.values()]
}

async function messagesOf(sql: Sql, projectId: number, traces: readonly PagedRows[]): Promise<PlacedMessages[]> {
  const apart = traces.flatMap(({ trace }) => (trace.hasMessages ? [trace.id] : []))
  return apart.length === 0 ? [] : (await readMessages(sql, projectId, apart)).map(bytewise)
}

/** Yields a page's traces as responses show them. Each character of a string is one byte. */
export async function* showExportPage(
  sql: Sql,
  projectId: number,
  { rows, reader }: FetchedPage
): AsyncGenerator<ShownTrace, void> {
  const traces = tracesOf({ rows, reader })
  const messages = await messagesOf(sql, projectId, traces)
  for (const { trace, spans, scores } of traces) {
    const own = messages.filter(({ traceId }) => traceId === trace.id)
    const unpacked = await unpackSpans(
      spans.map(span => reader.row<StoredSpanRow>(span)),
      'latin1'
    )
    const joined = joinMessages(withSharedTexts(trace, unpacked), unpacked, own)
    yield { ...joined, scores: scores.map(score => ({ ...reader.row<ScoreRow>(score), authorId: null })) }
  }
}
