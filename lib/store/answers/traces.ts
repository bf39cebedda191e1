/**
 * Reads one whole trace for a response; export-page.ts reads pages of traces. Texts are the free-form JSON of a trace
 * or span: input, output, attributes and events.
 */
import type { PendingQuery, Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import type { ListWriter } from '../../limits/list-writer.ts'
import { Slices } from '../../limits/slices.ts'
import { MAX_SLICED_BYTES, type SpanTexts, unpackSpans } from '../../rows/packed-texts.ts'
import { type SharedTexts, withSharedTexts } from '../../rows/trace-texts.ts'
import { sha256 } from '../../trace/document.ts'
import {
  findSpeakers,
  joinMessages,
  type PlacedMessages,
  type Speakers,
  withSpoken
} from '../../trace/span-messages.ts'
import { MESSAGE_BYTES, readMessages, TraceMessages } from '../trace/messages.ts'
import { inSnapshot } from '../transactions.ts'
import { bytewise, Pieces, type RawRow, RowReader } from './byte-rows.ts'
import type { ScoreRow } from './score-json.ts'
import { mapPacked, readSpanPages, type SpanPlace } from './span-pages.ts'
import { DETAIL_PARTS, type PartTexts, type SpanRow, type StoredTraceRow } from './trace-json.ts'

/** Whether messages were received separately from the trace's spans. */
export interface Apart {
  readonly hasMessages: boolean
}

export type StoredSpanRow = SpanRow & { readonly packed: string | null }

/** A trace, span or score. Columns that belong to another kind of row are null. */
export type DetailRow<T extends StoredTraceRow, S extends ScoreRow = ScoreRow> =
  | ({ readonly part: 'trace' } & T)
  | ({ readonly part: 'span' } & StoredSpanRow)
  | ({ readonly part: 'score' } & S)

type SingleRow = DetailRow<StoredTraceRow & Apart & SharedTexts, AuthoredScore>

/**
 * Columns of whole traces, from the tables traces as t, spans as s and scores as c. A `full join on false` concatenates
 * the rows of the three tables. A single statement sees one snapshot, so a trace and its spans are always consistent.
 * Three statements would also take PostgreSQL more time (test/bench/RESULTS.md, "JSON text").
 */
const HEAD_COLUMNS = `
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
  t.environment, t.session_id as "sessionId", t.user_id as "userId", t.tags, t.span_count as "spanCount",
  t.error_count as "errorCount", t.estimated_bytes as "estimatedBytes", t.ingested_at as "ingestedAt",
  t.metadata, t.metadata_updated_at as "metadataUpdatedAt", t.body_hash as "bodyHash",
  t.input_span_id as "inputSpanId", t.output_span_id as "outputSpanId",
  s.parent_id as "parentSpanId", s.kind, s.packed,
  c.span_id as "spanId", c.data_type as "dataType", c.value, c.comment, c.source, c.evaluator_id as "evaluatorId",
  c.run_id as "runId", c.created_at as "createdAt"`

// biome-ignore lint/suspicious/noExplicitAny: as the driver has it.
type Fragment = PendingQuery<any>

const TEXT_COLUMNS =
  'coalesce(t.input, s.input) as input, coalesce(t.output, s.output) as output, s.attributes, s.events'
export const DETAIL_COLUMNS = `${HEAD_COLUMNS}, ${TEXT_COLUMNS}`

/** Maximum size of an input with a digest. Reading and hashing longer inputs would slow the outline down. */
const MAX_DIGESTED_BYTES = 4096
/** Number of hexadecimal characters of a digest. Steps whose digests collide must also have equally long inputs. */
const DIGEST_LENGTH = 8

/**
 * Sizes instead of texts. PostgreSQL determines the sizes without reading the texts, but reads short inputs for their
 * digests. Both are null for packed texts.
 */
const SIZE_COLUMNS = `null as input, null as output, null as attributes, null as events,
  coalesce(octet_length(coalesce(t.input, s.input)::text), t.input_bytes) as "inputBytes",
  coalesce(octet_length(coalesce(t.output, s.output)::text), t.output_bytes) as "outputBytes",
  octet_length(s.attributes::text) as "attributesBytes", json_array_length(s.events) as "eventCount",
  case when octet_length(s.input::text) <= ${MAX_DIGESTED_BYTES}
    then substr(encode(sha256(convert_to(s.input::text, 'UTF8')), 'hex'), 1, ${DIGEST_LENGTH}) end as "inputDigest",
  s.call_details ->> 'computedCost' as "computedCost",
  case when s.call_details::text ~ '(cacheRead|cacheWrite|reasoning)Tokens' then json_build_object(
    'cacheRead', s.call_details -> 'cacheReadTokens', 'cacheWrite', s.call_details -> 'cacheWriteTokens',
    'reasoning', s.call_details -> 'reasoningTokens'
  )::text end as "tokenDetails"`

/** Order of rows in responses: spans by start, scores newest first. */
export const DETAIL_ORDER = 's.started_at, s.id, c.created_at desc, c.seq desc'

/** SQL for the column `hasMessages`, over traces of the project as t. */
export const hasMessages = (sql: Sql, projectId: number, names: TableNames = SCHEMA_NAMES) => sql`exists (
  select from ${sql.unsafe(names.span_messages)} m where m.project_id = ${projectId} and m.trace_id = t.id
) as "hasMessages"`

/** A trace as shown in responses, with its texts unpacked and separately received messages added to its spans. */
export interface ShownTrace {
  readonly trace: StoredTraceRow
  readonly spans: readonly SpanRow[]
  readonly scores: readonly AuthoredScore[]
}

/** A score, with the user who gave the score in the dashboard. Only the dashboard shows the user. */
export interface AuthoredScore extends ScoreRow {
  readonly authorId: number | null
}

/** Returns the trace detail as a JSON string; undefined if the project has no such trace. */
export async function readTraceDetail(
  sql: Sql,
  projectId: number,
  traceId: string,
  names: TableNames = SCHEMA_NAMES
): Promise<string | undefined> {
  const fetched = await fetchTrace(sql, projectId, traceId, names)
  return fetched && Buffer.concat(await renderDetail(fetched)).toString()
}

/** Rows of a whole trace, from which `renderPieces` renders a response. */
export interface FetchedTrace {
  readonly id: string
  readonly rows: readonly RawRow[]
  readonly reader: RowReader
  readonly messages: readonly PlacedMessages[]
}

/**
 * Reads a trace's rows with all texts. Returns undefined if the project has no such trace or the texts exceed `most`
 * bytes.
 */
export async function fetchTrace(
  sql: Sql,
  projectId: number,
  traceId: string,
  names: TableNames = SCHEMA_NAMES,
  most: number = Number.MAX_SAFE_INTEGER
): Promise<FetchedTrace | undefined> {
  const which = sql`and ${textBytes(sql, projectId, names)} <= ${most}`
  const found = await selectTraceDetail(sql, projectId, traceId, names, { which }).raw()
  const rows: readonly RawRow[] = found
  const reader = new RowReader(found.columns)
  const [first] = rows
  if (first === undefined) return undefined
  const hasMessages = reader.field(first, 'hasMessages') === true
  const messages = hasMessages ? (await readMessages(sql, projectId, [traceId], names)).map(bytewise) : []
  return { id: traceId, rows, reader, messages }
}

/** Returns the approximate size of a trace's texts in bytes; undefined if the project has no such trace. */
export async function measureTrace(
  sql: Sql,
  projectId: number,
  traceId: string,
  names: TableNames = SCHEMA_NAMES
): Promise<number | undefined> {
  const [row] = await sql<{ bytes: number }[]>`
    select ${textBytes(sql, projectId, names)} as bytes from ${sql.unsafe(names.traces)} t
    where project_id = ${projectId} and id = ${traceId}`
  return row?.bytes
}

/** SQL for the bytes of documents and separately received messages, over traces of the project as t. */
export const textBytes = (sql: Sql, projectId: number, names: TableNames = SCHEMA_NAMES) =>
  sql`(estimated_bytes + coalesce((
    select sum(${sql.unsafe(MESSAGE_BYTES)})
    from ${sql.unsafe(names.span_messages)} m where m.project_id = ${projectId} and m.trace_id = t.id
  ), 0))::bigint`

/** Renders the trace detail as pieces of JSON in UTF-8. */
export const renderDetail = (fetched: FetchedTrace): Promise<readonly Buffer[]> => renderPieces(fetched, DETAIL_PARTS)

/**
 * Renders a whole trace as pieces of JSON in UTF-8, pausing between slices of work so that other requests can proceed.
 */
export async function renderPieces(fetched: FetchedTrace, parts: PartTexts): Promise<readonly Buffer[]> {
  const { id } = fetched
  const slices = new Slices()
  const pause = () => slices.next()
  const shown = await showFetched(fetched, pause)
  const pieces = new Pieces()
  pieces.add(parts.head(shown))
  let isFirst = true
  for (const span of shown.spans) {
    await pause()
    pieces.add(`${isFirst ? '' : ','}${parts.span(span, id)}`)
    isFirst = false
  }
  pieces.add(parts.foot(shown, id))
  return pieces.end()
}

/** Returns a trace as responses show it. Each character of a string is one byte. */
export async function showFetched({ rows, reader, messages }: FetchedTrace, pause: () => Promise<void>) {
  const read: SingleRow[] = []
  for (const row of rows) {
    await pause()
    read.push(reader.row<SingleRow>(row))
  }
  return showWith(read, messages, 'latin1', pause)
}

/**
 * Writes a whole trace part by part, so that only a few of its spans are in memory at a time. Each character of a part
 * is one byte. All parts come from one transaction and therefore show the same state of the trace. `needs` returns
 * whether the caller needs a span's texts; other spans may be written without them. If the project has no such trace,
 * writes nothing and returns false.
 */
export function streamTrace(
  sql: Sql,
  projectId: number,
  traceId: string,
  parts: PartTexts,
  writer: ListWriter,
  needs?: (id: string, count: number) => boolean
): Promise<boolean> {
  return inSnapshot(sql, async () => {
    const found = await selectTraceAlone(sql, projectId, traceId, SCHEMA_NAMES, sql`, t.seq as "traceSeq"`).raw()
    const reader = new RowReader(found.columns)
    const [stored, ...others] = (found as readonly RawRow[]).map(row => reader.row<SingleRow & Seq>(row))
    if (stored?.part !== 'trace') return false
    const trace = await withOwnTexts(stored, others, 'latin1')
    const place = { projectId, traceId, traceSeq: trace.traceSeq, names: SCHEMA_NAMES }
    const messages = trace.hasMessages ? await TraceMessages.list(sql, place) : undefined
    const shown = {
      trace: messages === undefined ? trace : await withMessageTexts(sql, place, trace, messages),
      scores: others.filter(row => row.part === 'score')
    }
    await writer.head(parts.head(shown))
    for await (const { spans } of readSpanPages(sql, place, { messages, needs })) {
      for (const span of spans) {
        const text = parts.span(span, traceId)
        await writer.item(text, text.length + span.textBytes)
      }
    }
    await writer.foot(parts.foot(shown, traceId))
    return true
  })
}

/** Returns a trace with the input and output that it takes from its spans' messages if it has none of its own. */
async function withMessageTexts<T extends StoredTraceRow>(
  sql: Sql,
  place: SpanPlace,
  trace: T,
  messages: TraceMessages
): Promise<T> {
  if (trace.input !== null && trace.output !== null) return trace
  let speakers: Speakers<SpanRow> = {}
  for await (const { own, spans } of readSpanPages(sql, place, { messages, isRead: id => messages.has(id) })) {
    speakers = findSpeakers(own, spans, speakers)
  }
  return withSpoken(trace, speakers)
}

interface Seq {
  readonly traceSeq: number
}

/** Returns a trace with its spans and scores, in response order; undefined if the project has no such trace. */
export async function readShownTrace(
  sql: Sql,
  projectId: number,
  traceId: string,
  names: TableNames
): Promise<ShownTrace | undefined> {
  return show(sql, projectId, traceId, names, await selectTraceDetail(sql, projectId, traceId, names))
}

/** Returns one span as shown in its trace. Other spans are read only if they may be packed with this span. */
export async function readShownSpan(
  sql: Sql,
  projectId: number,
  traceId: string,
  spanId: string,
  names: TableNames
): Promise<SpanRow | undefined> {
  const spans = await readShownSpans(sql, projectId, traceId, [spanId], names)
  return spans?.[0]
}

/** Returns the requested spans that the trace has, in response order; undefined if the project has no such trace. */
export async function readShownSpans(
  sql: Sql,
  projectId: number,
  traceId: string,
  spanIds: readonly string[],
  names: TableNames
): Promise<readonly SpanRow[] | undefined> {
  const spans = packedWith(sql, projectId, names, sql`${spanIds}::bytea[]`)
  const rows = await selectTraceDetail(sql, projectId, traceId, names, { spans })
  const shown = await show(sql, projectId, traceId, names, rows)
  return shown?.spans.filter(({ id }) => spanIds.includes(id))
}

/** SQL for the spans with these ids, of the trace `trace`, and for all spans that may be packed with them. */
function packedWith(sql: Sql, projectId: number, names: TableNames, ids: Fragment): Fragment {
  const own = (columns: Fragment) => sql`select ${columns} from ${sql.unsafe(names.spans)}
    where project_id = ${projectId} and trace_seq = (select seq from trace) and id = any (${ids})`
  // A row without a slice may belong to any group that is stored as a single slice.
  return sql`and (id = any (${ids}) or substr(packed, 3, 8) = any (array(${own(sql`substr(packed, 3, 8)`)}))
    or octet_length(packed) > ${MAX_SLICED_BYTES} and exists (${own(sql``)} and packed is null))`
}

/** Selects the trace, its scores, and the spans that are needed for the texts that it shares with them. */
export function selectTraceAlone(
  sql: Sql,
  projectId: number,
  traceId: string,
  names: TableNames,
  more: Fragment = sql``
): PendingQuery<SingleRow[]> {
  const ids = sql`(select array[input_span_id, output_span_id] from trace)::bytea[]`
  return selectTraceDetail(sql, projectId, traceId, names, {
    texts: sql`coalesce(t.input, s.input) as input, coalesce(t.output, s.output) as output,
      null as attributes, null as events`,
    spans: sql`and (select num_nulls(input_span_id, output_span_id) < 2 from trace)
      ${packedWith(sql, projectId, names, ids)}`,
    more
  })
}

/** Returns the trace with its texts, which are taken from its row and from the spans among `rows`. */
export async function withOwnTexts<T extends StoredTraceRow & SharedTexts>(
  trace: T,
  rows: readonly DetailRow<StoredTraceRow>[],
  encoding: 'utf8' | 'latin1'
): Promise<T> {
  const { inputSpanId, outputSpanId } = trace
  const spans = rows.filter(row => row.part === 'span')
  return withSharedTexts(trace, await unpackSpans(spans, encoding, id => id === inputSpanId || id === outputSpanId))
}

/**
 * Returns the trace without its spans. All spans' texts are read only if the trace's own texts may come from messages.
 */
export async function readOwnTexts(
  sql: Sql,
  projectId: number,
  traceId: string,
  names: TableNames
): Promise<StoredTraceRow | undefined> {
  const [first, ...others] = await selectTraceAlone(sql, projectId, traceId, names)
  if (first?.part !== 'trace') return undefined
  if (first.hasMessages) return (await readShownTrace(sql, projectId, traceId, names))?.trace
  return withOwnTexts(first, others, 'utf8')
}

/** Sizes in bytes of the texts of a trace or span, and the number of a span's events. */
export interface Sizes {
  readonly inputBytes: number
  readonly outputBytes: number
  readonly attributesBytes: number
  readonly eventCount: number
}

/** Facts about a model call as JSON: how its cost was computed, and which tokens are part of its counts; or null. */
interface CallFacts {
  readonly computedCost: string | null
  readonly tokenDetails: string | null
}

/** Identifies an input, so that the dashboard recognises equal inputs. Null if the input is absent or long. */
interface Digested {
  readonly inputDigest: string | null
}

/** A span with the sizes of its texts. */
export interface SizedSpan extends SpanRow, Sizes, Digested, CallFacts {}

export interface SizedTrace extends ShownTrace {
  readonly trace: StoredTraceRow & Sizes
  /** The spans of one page, in response order. */
  readonly spans: readonly SizedSpan[]
  /** Whether spans follow the page. */
  readonly hasMore: boolean
}

/** Selects a page of spans: those after the span with the id `after`, or the first ones. */
export interface SpanPage {
  readonly after?: string | undefined
  readonly limit?: number | undefined
}

/** Maximum number of spans per page of an outline, about 2 MB of JSON. */
export const OUTLINE_SPANS = 5000

/** Number of bytes above which a trace's packed texts are unpacked one group at a time. */
const LONG_BYTES = 8 * 1024 * 1024

/** Returns a trace and a page of its spans, with the sizes of their texts. Most texts are not read. */
export async function readSizedTrace(
  sql: Sql,
  projectId: number,
  traceId: string,
  names: TableNames = SCHEMA_NAMES,
  { after, limit = OUTLINE_SPANS }: SpanPage = {}
): Promise<SizedTrace | undefined> {
  const texts = sql.unsafe(SIZE_COLUMNS)
  // Slices are only read here if the page is the whole trace, because another page may lack some of a group's slices.
  const isWhole = after === undefined
  const isShort = `(select ${isWhole} and estimated_bytes <= ${LONG_BYTES} and span_count <= ${limit} from trace)`
  const columns = HEAD_COLUMNS.replace('s.packed', `case when ${isShort} then s.packed end as packed`)
  const more = sql`, t.seq as "traceSeq"`
  const start = sql`and (started_at, id) > (select started_at, id from ${sql.unsafe(names.spans)}
    where project_id = ${projectId} and trace_seq = (select seq from trace) and id = ${after ?? null})`
  const spans = sql`${after === undefined ? sql`` : start} order by started_at, id limit ${limit + 1}`
  const rows = await selectTraceDetail(sql, projectId, traceId, names, { texts, columns, more, spans })
  const [first]: readonly (SingleRow & Partial<Seq>)[] = rows
  // Messages are shown for spans without texts of their own. Packed texts must be unpacked to determine which spans
  // have no texts.
  const needsTexts = first?.part === 'trace' && first.hasMessages
  const shown = needsTexts
    ? pageOf(await readShownTrace(sql, projectId, traceId, names), after, limit + 1)
    : await show(sql, projectId, traceId, names, rows)
  if (shown === undefined) return undefined
  const page = shown.spans.slice(0, limit)
  const calls = new Map((rows as readonly (SingleRow & Partial<CallFacts>)[]).map(row => [row.id, row]))
  const isLong = !needsTexts && (!isWhole || shown.trace.estimatedBytes > LONG_BYTES || shown.trace.spanCount > limit)
  const place = { projectId, traceSeq: first?.traceSeq ?? 0, names }
  const ids = new Set(page.map(({ id }) => id))
  const packed = isLong
    ? await inSnapshot(sql, () => mapPacked(sql, place, ids, sizesOf))
    : new Map<string, Partial<SizedSpan>>()
  const sized = (span: SpanRow & Partial<Digested>) => ({
    ...withSizes({ ...span, ...packed.get(span.id) }),
    inputDigest: packed.get(span.id)?.inputDigest ?? span.inputDigest ?? digestOf(span.input),
    computedCost: calls.get(span.id)?.computedCost ?? null,
    tokenDetails: calls.get(span.id)?.tokenDetails ?? null
  })
  return { ...shown, trace: withSizes(shown.trace), spans: page.map(sized), hasMore: shown.spans.length > limit }
}

/** Limits the spans to `limit`, beginning after the span with the id `after`. */
function pageOf(shown: ShownTrace | undefined, after: string | undefined, limit: number): ShownTrace | undefined {
  if (shown === undefined) return undefined
  const last = after === undefined ? -1 : shown.spans.findIndex(({ id }) => id === after)
  const isGone = after !== undefined && last === -1
  return { ...shown, spans: isGone ? [] : shown.spans.slice(last + 1, last + 1 + limit) }
}

/** Returns the sizes of texts that were read as bytes. */
const sizesOf = ({ input, output, attributes, events }: SpanTexts): Sizes & Digested => ({
  inputBytes: input?.length ?? 0,
  outputBytes: output?.length ?? 0,
  attributesBytes: attributes?.length ?? 0,
  eventCount: countEvents(events),
  inputDigest: digestOf(input && Buffer.from(input, 'latin1'))
})

/** Returns the digest of an input, which equals the digest that PostgreSQL computes. */
const digestOf = (input: string | Uint8Array | null): string | null =>
  input === null || Buffer.byteLength(input) > MAX_DIGESTED_BYTES ? null : sha256(input).slice(0, DIGEST_LENGTH)

type Sized = Pick<SpanRow, 'input' | 'output'> & Partial<Pick<SpanRow, 'attributes' | 'events'> & Sizes>

/** Computes sizes that are missing from a row because its texts were packed or were read in full. */
function withSizes<T extends Sized>(row: T): T & Sizes {
  return {
    ...row,
    inputBytes: row.inputBytes ?? sizeOf(row.input),
    outputBytes: row.outputBytes ?? sizeOf(row.output),
    attributesBytes: row.attributesBytes ?? sizeOf(row.attributes),
    eventCount: row.eventCount ?? countEvents(row.events)
  }
}

const sizeOf = (json: string | null | undefined): number => (json == null ? 0 : Buffer.byteLength(json))

/** Counts the events in a JSON array string, which has at most 50 elements. */
const countEvents = (events: string | null | undefined): number =>
  events == null ? 0 : (JSON.parse(events) as unknown[]).length

async function show(
  sql: Sql,
  projectId: number,
  traceId: string,
  names: TableNames,
  rows: readonly SingleRow[]
): Promise<ShownTrace | undefined> {
  const [first] = rows
  if (first?.part !== 'trace') return undefined
  const messages = first.hasMessages ? await readMessages(sql, projectId, [traceId], names) : []
  const slices = new Slices()
  return showWith(rows, messages, 'utf8', () => slices.next())
}

/** Returns the trace in its shown form. Throws unless the first row is the trace. */
async function showWith(
  [trace, ...rest]: readonly SingleRow[],
  messages: readonly PlacedMessages[],
  encoding: 'utf8' | 'latin1',
  pause: () => Promise<void>
): Promise<ShownTrace> {
  if (trace?.part !== 'trace') throw new Error('the first row of a trace must be its own')
  const packed = rest.filter(row => row.part === 'span')
  const spans = await unpackSpans(packed, encoding, undefined, pause)
  const scores = rest.filter(row => row.part === 'score')
  return { ...joinMessages(withSharedTexts(trace, spans), spans, messages), scores }
}

/** Selects the parts of a trace to read. An omitted member selects everything. */
interface Choice {
  readonly texts?: Fragment
  /** Further conditions on the trace as t, and on its spans, each with a leading `and`. */
  readonly which?: Fragment
  readonly spans?: Fragment
  readonly columns?: string
  /** Further columns, each with a leading comma. */
  readonly more?: Fragment
}

/** Selects the rows of one trace: first the trace, then its spans, then its scores, in response order. */
export function selectTraceDetail(
  sql: Sql,
  projectId: number,
  traceId: string,
  names: TableNames = SCHEMA_NAMES,
  { texts = sql.unsafe(TEXT_COLUMNS), which = sql``, spans = sql``, columns = HEAD_COLUMNS, more = sql`` }: Choice = {}
): PendingQuery<SingleRow[]> {
  return sql<SingleRow[]>`
    with trace as materialized (
      select * from ${sql.unsafe(names.traces)} t where project_id = ${projectId} and id = ${traceId} ${which}
    )
    select ${hasMessages(sql, projectId, names)}, ${sql.unsafe(columns)}, ${texts}, c.author_id as "authorId" ${more}
    from trace t
    full join (
      select * from ${sql.unsafe(names.spans)} where project_id = ${projectId} and trace_seq = (select seq from trace) ${spans}
    ) s on false
    full join (
      select * from ${sql.unsafe(names.scores)} where project_id = ${projectId} and trace_seq = (select seq from trace)
    ) c on false
    order by t.seq, ${sql.unsafe(DETAIL_ORDER)}`
}
