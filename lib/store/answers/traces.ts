/** Reads whole traces: a single one for an answer, or page after page for an export. */
import type { Sql } from 'postgres'
import { unpackSpans } from '../../rows/packed-texts.ts'
import { type ExportedRow, renderExportLine } from './exported-trace.ts'
import type { ScoreRow } from './score-json.ts'
import { renderTraceDetail, type SpanRow, type TraceRow } from './trace-json.ts'

type StoredSpanRow = SpanRow & { readonly packed: string | null }

/** A row is a trace, a span or a score. Columns that belong to another part are null. */
type DetailRow<T extends TraceRow> =
  | ({ readonly part: 'trace' } & T)
  | ({ readonly part: 'span' } & StoredSpanRow)
  | ({ readonly part: 'score' } & ScoreRow)

/**
 * The columns of whole traces from the three tables traces as t, spans as s and scores as c. A `full join on false`
 * puts the rows of the three tables one below the other. One statement reads them all, because one statement sees one
 * snapshot: no writer can come between a trace and its spans. Three statements would also take more of PostgreSQL's
 * time (test/bench/RESULTS.md, "JSON text").
 */
const DETAIL_COLUMNS = `
  case when t.seq is not null then 'trace' when s.id is not null then 'span' else 'score' end as part,
  coalesce(decode(replace(t.id::text, '-', ''), 'hex'), s.id, c.id) as id,
  coalesce(t.name, s.name, c.name) as name,
  coalesce(t.status, s.status) as status,
  coalesce(t.started_at, s.started_at) as "startedAt",
  coalesce(t.ended_at, s.ended_at) as "endedAt",
  coalesce(t.duration_ms, round(extract(epoch from s.ended_at - s.started_at) * 1000)::bigint) as "durationMs",
  coalesce(t.provider, s.provider) as provider,
  coalesce(t.model, s.model) as model,
  coalesce(t.input_tokens, s.input_tokens) as "inputTokens",
  coalesce(t.output_tokens, s.output_tokens) as "outputTokens",
  coalesce(t.total_tokens, s.total_tokens) as "totalTokens",
  coalesce(t.cost_usd, s.cost_usd) as "costUsd",
  coalesce(t.input, s.input) as input,
  coalesce(t.output, s.output) as output,
  t.environment, t.session_id as "sessionId", t.user_id as "userId", t.tags, t.span_count as "spanCount",
  t.error_count as "errorCount", t.estimated_bytes as "estimatedBytes", t.ingested_at as "ingestedAt",
  t.metadata, t.metadata_updated_at as "metadataUpdatedAt", t.body_hash as "bodyHash",
  s.parent_id as "parentSpanId", s.kind, s.attributes, s.events, s.packed,
  c.span_id as "spanId", c.data_type as "dataType", c.value, c.comment, c.source, c.evaluator_id as "evaluatorId",
  c.run_id as "runId", c.created_at as "createdAt"`

/** The order of answers: spans by their start, scores newest first. */
const DETAIL_ORDER = 's.started_at, s.id, c.created_at desc, c.seq desc'

/** The detail of a trace as JSON text; undefined if the project has no such trace. */
export async function readTraceDetail(sql: Sql, projectId: number, traceId: string): Promise<string | undefined> {
  const [trace, ...rest] = await selectTraceDetail(sql, projectId, traceId)
  if (trace?.part !== 'trace') return undefined
  const spans = await unpackSpans(rest.filter(row => row.part === 'span'))
  const scores = rest.filter(row => row.part === 'score')
  return renderTraceDetail(trace, spans, scores)
}

/** The rows of one trace: first the trace, then its spans, then its scores, in the order of the answer. */
export async function selectTraceDetail(
  sql: Sql,
  projectId: number,
  traceId: string
): Promise<readonly DetailRow<TraceRow>[]> {
  return sql<DetailRow<TraceRow>[]>`
    with trace as materialized (
      select * from traces where project_id = ${projectId} and id = ${traceId}
    )
    select ${sql.unsafe(DETAIL_COLUMNS)}
    from trace t
    full join (select * from spans where project_id = ${projectId} and trace_seq = (select seq from trace)) s on false
    full join (select * from scores where project_id = ${projectId} and trace_seq = (select seq from trace)) c on false
    order by t.seq, ${sql.unsafe(DETAIL_ORDER)}`
}

/** A trace of an export, behind which the next page begins. The order of an export is startedAt, then id. */
export interface ExportPlace {
  readonly startedAt: string
  readonly id: string
}

/** Inclusive bounds of startedAt, canonical timestamps. */
export interface ExportWindow {
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export interface ExportPage {
  /** One line for each trace, without line breaks. */
  readonly lines: readonly string[]
  readonly last: ExportPlace
}

/** Bounds of one page: the number of its traces, and the bytes of their documents. A single larger trace is a page. */
const PAGE_TRACES = 250
const PAGE_BYTES = 4 * 1024 * 1024

const LOWEST_ID = '0'.repeat(32)

type ExportRow = DetailRow<ExportedRow> & { readonly traceSeq: number }

/**
 * Reads the page of an export that begins behind `after`, or the first page. Each trace is shown as it is now, at the
 * moment of reading. Undefined if there are no more traces.
 */
export async function readExportPage(
  sql: Sql,
  projectId: number,
  { from = '-infinity', to = 'infinity' }: ExportWindow,
  after?: ExportPlace
): Promise<ExportPage | undefined> {
  const start =
    after === undefined
      ? sql`(started_at, id) >= (${from}, ${LOWEST_ID})`
      : sql`(started_at, id) > (${after.startedAt}, ${after.id})`
  const rows = await sql<ExportRow[]>`
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
      ${sql.unsafe(DETAIL_COLUMNS)}
    from page t
    full join (
      select * from spans where project_id = ${projectId} and trace_seq = any (array(select seq from page))
    ) s on false
    full join (
      select * from scores where project_id = ${projectId} and trace_seq = any (array(select seq from page))
    ) c on false
    order by t.started_at, t.id, ${sql.unsafe(DETAIL_ORDER)}`
  const traces = new Map<number, { trace: ExportedRow; spans: StoredSpanRow[]; scores: ScoreRow[] }>()
  for (const row of rows) {
    if (row.part === 'trace') traces.set(row.traceSeq, { trace: row, spans: [], scores: [] })
    else if (row.part === 'span') traces.get(row.traceSeq)!.spans.push(row)
    else traces.get(row.traceSeq)!.scores.push(row)
  }
  const found = [...traces.values()]
  const last = found.at(-1)?.trace
  const lines: string[] = []
  for (const { trace, spans, scores } of found) lines.push(renderExportLine(trace, await unpackSpans(spans), scores))
  return last && { lines, last }
}
