/**
 * Reads pages of whole traces for an export and renders their lines.
 *
 * Strings pass from PostgreSQL to the lines as bytes (byte-rows.ts). The code in between examines only ASCII: digits,
 * and the characters that JSON escapes.
 */
import type { Sql } from 'postgres'
import { unpackSpans } from '../../rows/packed-texts.ts'
import { readMessages } from '../trace/messages.ts'
import { bytewise, type RawRow, RowReader } from './byte-rows.ts'
import { type ExportedRow, type ExportedSpan, renderExportLine } from './exported-trace.ts'
import type { ScoreRow } from './score-json.ts'
import { type Apart, DETAIL_COLUMNS, DETAIL_ORDER, hasMessages, type StoredSpanRow } from './traces.ts'

/** The trace after which an export's next page begins. Exports are ordered by startedAt, then id. */
export interface ExportPlace {
  readonly startedAt: string
  readonly id: string
}

/** Inclusive bounds of startedAt, as canonical timestamps. */
export interface ExportWindow {
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export interface ExportPage {
  /** One line per trace, including the line break. */
  readonly lines: Buffer
  readonly traces: number
  readonly spans: number
  readonly scores: number
}

/** Maximum number of traces per page, and document bytes after which no further trace is added. */
const PAGE_TRACES = 250
const PAGE_BYTES = 4 * 1024 * 1024

const LOWEST_ID = '0'.repeat(32)

type Part = 'trace' | 'span' | 'score'

/** A page's rows, which `renderExportPage` turns into lines. */
export interface FetchedPage {
  readonly rows: readonly RawRow[]
  readonly reader: RowReader
  readonly last: ExportPlace
}

/**
 * Reads the export page that begins after `after`, or the first page, with each trace in its current state. Returns
 * undefined if no traces remain.
 */
export async function fetchExportPage(
  sql: Sql,
  projectId: number,
  { from = '-infinity', to = 'infinity' }: ExportWindow,
  after?: ExportPlace
): Promise<FetchedPage | undefined> {
  const start =
    after === undefined
      ? sql`(started_at, id) >= (${from}, ${LOWEST_ID})`
      : sql`(started_at, id) > (${after.startedAt}, ${after.id})`
  const found = await sql`
    with next as materialized (
      select * from traces
      where project_id = ${projectId} and ${start} and started_at <= ${to}
      order by started_at, id
      limit ${PAGE_TRACES}
    ), page as materialized (
      select * from (
        select *, sum(estimated_bytes) over (order by started_at, id) - estimated_bytes as bytes_before from next
      ) counted where bytes_before < ${PAGE_BYTES}
    )
    select coalesce(t.seq, s.trace_seq, c.trace_seq) as "traceSeq", t.key_id as "keyId", t.end_hash as "endHash", t.ranks,
      ${hasMessages(sql, projectId)}, s.call_details as "callDetails", ${sql.unsafe(DETAIL_COLUMNS)}
    from page t
    full join (
      select * from spans where project_id = ${projectId} and trace_seq = any (array(select seq from page))
    ) s on false
    full join (
      select * from scores where project_id = ${projectId} and trace_seq = any (array(select seq from page))
    ) c on false
    order by t.started_at, t.id, ${sql.unsafe(DETAIL_ORDER)}`.raw()
  const rows: readonly RawRow[] = found
  const reader = new RowReader(found.columns)
  const last = rows.findLast(row => reader.field(row, 'part') === ('trace' satisfies Part))
  return last && { rows, reader, last: reader.row<ExportPlace>(last) }
}

/** Renders a page's lines one trace at a time, to keep few strings in memory besides the rows. */
export async function renderExportPage(
  sql: Sql,
  projectId: number,
  { rows, reader }: FetchedPage
): Promise<ExportPage> {
  const found = new Map<unknown, { trace: ExportedRow & Apart; spans: RawRow[]; scores: RawRow[] }>()
  for (const row of rows) {
    const part = reader.field(row, 'part') as Part
    const seq = reader.field(row, 'traceSeq')
    if (part === 'trace') found.set(seq, { trace: reader.row(row), spans: [], scores: [] })
    else found.get(seq)![part === 'span' ? 'spans' : 'scores'].push(row)
  }
  const traces = [...found.values()]
  const apart = traces.flatMap(({ trace }) => (trace.hasMessages ? [trace.id] : []))
  const messages = apart.length === 0 ? [] : (await readMessages(sql, projectId, apart)).map(bytewise)
  let lines = ''
  for (const { trace, spans, scores } of traces) {
    const own = messages.filter(({ traceId }) => traceId === trace.id)
    const unpacked = await unpackSpans(
      spans.map(span => reader.row<StoredSpanRow & ExportedSpan>(span)),
      'latin1'
    )
    lines += `${renderExportLine(
      trace,
      unpacked,
      scores.map(score => reader.row<ScoreRow>(score)),
      own
    )}\n`
  }
  const count = (of: 'spans' | 'scores') => traces.reduce((sum, each) => sum + each[of].length, 0)
  return { lines: Buffer.from(lines, 'latin1'), traces: traces.length, spans: count('spans'), scores: count('scores') }
}
