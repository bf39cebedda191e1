/** Reads the spans of a page of the span list for its response (lib/store/spans/span-list.ts). */
import type { Sql } from 'postgres'
import type { TableNames } from '../../database/tables.ts'
import { Slices } from '../../limits/slices.ts'
import { failureOfStep, type StepFailure, startOf } from '../../trace/failures/step-failure.ts'
import { fillSpans } from '../../trace/span-messages.ts'
import { list, raw, text } from '../answers/json-text.ts'
import { environmentMember, renderSpanHead, renderSpanUsage, type SpanRow } from '../answers/trace-json.ts'
import type { Sizes } from '../answers/traces.ts'
import { TraceMessages } from '../trace/messages.ts'
import { byTrace, HEAD_COLUMNS, type PackedRow, textColumns, unpackWanted, withPackedRows } from './packed-rows.ts'

/** Maximum number of characters of an error's message. */
const MOST_MESSAGE = 1000

/** A span of a page. */
export interface FoundSpan {
  readonly seq: number
  readonly traceId: string
  readonly id: string
}

interface Row extends PackedRow, SpanRow {
  readonly inputBytes: number | null
  readonly outputBytes: number | null
  readonly attributesBytes: number | null
  readonly eventCount: number | null
  readonly traceId: string
  readonly traceName: string
  readonly environment: string | null
}

/** Returns the spans as a JSON array string, in this order. Spans that were deleted meanwhile are left out. */
export async function readListedSpans(
  sql: Sql,
  projectId: number,
  found: readonly FoundSpan[],
  names: TableNames,
  texts: boolean
): Promise<string> {
  if (found.length === 0) return '[]'
  const messages = await listMessages(sql, projectId, found, names)
  // Only the span's own texts show whether messages fill in a text.
  const isWhole = found.map(({ traceId, id }) => texts || messages.get(traceId)?.has(id) === true)
  const rows = await selectRows(sql, projectId, found, isWhole, names)
  const slices = new Slices()
  const rendered = new Map<string, string>()
  for (const own of byTrace(rows).values()) {
    const spans = await unpackWanted(own, () => slices.next())
    const heard = await messages.get(own[0]!.traceId)?.read(spans.map(({ id }) => id))
    for (const span of heard === undefined ? spans : fillSpans(spans, heard)) {
      await slices.next()
      rendered.set(`${span.seq} ${span.id}`, renderListed(span, texts))
    }
  }
  return list(found.flatMap(({ seq, id }) => rendered.get(`${seq} ${id}`) ?? []))
}

/** Lists the messages of traces that have messages, by trace id. */
async function listMessages(
  sql: Sql,
  projectId: number,
  found: readonly FoundSpan[],
  names: TableNames
): Promise<ReadonlyMap<string, TraceMessages>> {
  const seqs = new Map(found.map(({ traceId, seq }) => [traceId, seq]))
  const rows = await sql<{ traceId: string }[]>`
    select i.id as "traceId" from unnest(${[...seqs.keys()]}::uuid[]) as i (id)
    where exists (
      select from ${sql.unsafe(names.span_messages)} m where m.project_id = ${projectId} and m.trace_id = i.id
    )`
  const messages = new Map<string, TraceMessages>()
  for (const { traceId } of rows) {
    messages.set(traceId, await TraceMessages.list(sql, { projectId, traceId, names }))
  }
  return messages
}

function selectRows(
  sql: Sql,
  projectId: number,
  found: readonly FoundSpan[],
  isWhole: readonly boolean[],
  names: TableNames
): Promise<Row[]> {
  const columns = `${HEAD_COLUMNS}, case when w.is_whole then s.input end as input,
    ${textColumns(`w.is_whole or s.status = 'error'`, 'w.is_whole')},
    octet_length(s.input::text) as "inputBytes", octet_length(s.output::text) as "outputBytes",
    octet_length(s.attributes::text) as "attributesBytes", json_array_length(s.events) as "eventCount"`
  return sql.unsafe<Row[]>(
    `with wanted as materialized (
      select seq, id, whole = 1 as is_whole from unnest($2::bigint[], $3::bytea[], $4::int[]) as w (seq, id, whole)
    ) ${withPackedRows(names, columns)}
    select r.*, t.id as "traceId", t.name as "traceName", t.environment
    from rows r join ${names.traces} t on t.project_id = $1 and t.seq = r.seq`,
    [projectId, found.map(({ seq }) => seq), found.map(({ id }) => id), isWhole.map(Number)] as never[],
    { prepare: true }
  )
}

function renderListed(span: Row, texts: boolean): string {
  const { inputBytes, outputBytes, attributesBytes, eventCount } = sizesOf(span)
  const error = span.status === 'error' ? renderFailure(failureOfStep(span)) : 'null'
  const free = texts
    ? `,"input":${raw(span.input, 'null')},"output":${raw(span.output, 'null')}` +
      `,"attributes":${raw(span.attributes, '{}')},"events":${raw(span.events, '[]')}`
    : ''
  return (
    `{${renderSpanHead(span, span.traceId)},"traceName":${text(span.traceName)}${environmentMember(span)}` +
    `,"usage":${renderSpanUsage(span)},"costUsd":${span.costUsd},"error":${error}` +
    `,"inputBytes":${inputBytes},"outputBytes":${outputBytes},"attributesBytes":${attributesBytes}` +
    `,"eventCount":${eventCount}${free}}`
  )
}

/** Renders the error of a failed step. */
export const renderFailure = ({ type, message }: StepFailure, most = MOST_MESSAGE): string =>
  `{"type":${text(type)},"message":${text(message === null ? null : startOf(message, most))}}`

/**
 * Returns the sizes of a span's texts. PostgreSQL knows only the sizes of texts that are neither packed nor filled in.
 */
function sizesOf(span: Row): Sizes {
  const size = (json: string | null, known: number | null) => known ?? (json === null ? 0 : Buffer.byteLength(json))
  return {
    inputBytes: size(span.input, span.inputBytes),
    outputBytes: size(span.output, span.outputBytes),
    attributesBytes: size(span.attributes, span.attributesBytes),
    // Messages may have added events to those that PostgreSQL has counted.
    eventCount: span.events === null ? (span.eventCount ?? 0) : (JSON.parse(span.events) as unknown[]).length
  }
}
