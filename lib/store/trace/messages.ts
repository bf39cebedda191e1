/** Messages received as log records, separately from the spans they belong to (lib/trace/span-messages.ts). */
import type { PendingQuery, Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { MAX_DOCUMENT_BYTES, MAX_EVENTS } from '../../schema/input.ts'
import { callsOf } from '../../trace/call-details.ts'
import { type CallMessage, type CallSpan, findTargets, type PlacedMessages } from '../../trace/span-messages.ts'
import { noteTraces } from '../changes/news.ts'
import { isSearched } from '../search/state.ts'
import { inTransaction } from '../transactions.ts'
import { freshVersion } from '../write/trace-numbers.ts'

/**
 * Adds messages to a project, with at most MAX_EVENTS events per span. Messages already stored stay unchanged, so a
 * resend changes nothing. If search is on for the project, the messages' traces are queued for indexing again.
 */
export async function addMessages(sql: Sql, projectId: number, messages: readonly PlacedMessages[]): Promise<void> {
  const isIndexed = await isSearched(sql, projectId)
  const traceIds = [...new Set(messages.map(each => each.traceId))]
  const early = await inTransaction(sql, async () => {
    await insertMessages(sql, projectId, messages)
    const missing = await noteTraces(sql, projectId, traceIds)
    if (!isIndexed) return missing
    // If the trace arrives later, the write of the trace adds its own row to search_news.
    await sql`
      insert into search_news (project_id, seq, version)
      select project_id, seq, ${freshVersion()}::bigint from traces
      where project_id = ${projectId} and id = any (${traceIds}::uuid[])`
    return missing
  })
  // A trace whose write was committed during this transaction was not visible in it.
  if (early.length > 0) await noteTraces(sql, projectId, early)
}

async function insertMessages(sql: Sql, projectId: number, all: readonly PlacedMessages[]): Promise<void> {
  const messages = await withoutExcess(sql, projectId, all)
  const column = <T>(of: (each: PlacedMessages) => T) => messages.map(of)
  await sql`
    insert into span_messages (project_id, trace_id, span_id, micros, place, digest, input, output, event, facts, call)
    select ${projectId}, trace_id, span_id, micros, place, digest, input::json, output::json, event::json,
      facts::json, call
    from unnest(
      ${column(each => each.traceId)}::uuid[], ${column(each => each.spanId)}::bytea[],
      ${column(each => each.micros)}::bigint[], ${column(each => each.place)}::int[],
      ${column(each => each.digest)}::bytea[], ${column(each => each.input)}::text[],
      ${column(each => each.output)}::text[], ${column(each => each.event ?? null)}::text[],
      ${column(each => each.facts ?? null)}::text[], ${column(each => each.call ?? null)}::text[]
    ) as m (trace_id, span_id, micros, place, digest, input, output, event, facts, call)
    on conflict do nothing`
}

/** Omits events that would exceed a span's MAX_EVENTS limit. */
async function withoutExcess(
  sql: Sql,
  projectId: number,
  messages: readonly PlacedMessages[]
): Promise<readonly PlacedMessages[]> {
  const events = messages.filter(({ event }) => event != null)
  if (events.length === 0) return messages
  const stored = await sql<{ traceId: string; spanId: string; count: number }[]>`
    select trace_id as "traceId", span_id as "spanId", count(*)::int as count from span_messages
    where project_id = ${projectId} and trace_id = any (${events.map(each => each.traceId)}::uuid[])
      and span_id = any (${events.map(each => each.spanId)}::bytea[]) and event is not null
    group by trace_id, span_id`
  const counts = new Map(stored.map(({ traceId, spanId, count }) => [traceId + spanId, count]))
  return messages.filter(({ traceId, spanId, event }) => {
    if (event == null) return true
    const count = (counts.get(traceId + spanId) ?? 0) + 1
    counts.set(traceId + spanId, count)
    return count <= MAX_EVENTS
  })
}

/**
 * Returns the given traces' messages in order. Omits messages with which a span would exceed the maximum document size.
 */
export async function readMessages(
  sql: Sql,
  projectId: number,
  traceIds: readonly string[],
  names: TableNames = SCHEMA_NAMES
): Promise<PlacedMessages[]> {
  const messages = await selectMessages(sql, projectId, traceIds, names)
  return withTargets(sql, projectId, messages, names)
}

/** Maximum number of bytes of an output that may state a failure. */
const MOST_FAILURE_BYTES = 65_536

/**
 * Returns the parts of the given traces' messages that may state a failure: events and short outputs. Both are shown
 * with the span like those of `readMessages`.
 */
export async function readFailureMessages(
  sql: Sql,
  projectId: number,
  traceIds: readonly string[],
  names: TableNames
): Promise<PlacedMessages[]> {
  const columns = `null::json as input, event, null::json as facts,
    case when octet_length(output::text) <= ${MOST_FAILURE_BYTES} then output end as output`
  const messages = await selectMessages(sql, projectId, traceIds, names, undefined, columns)
  return withTargets(sql, projectId, messages, names)
}

/**
 * SQL for the bytes of a message's texts, over span_messages as m. PostgreSQL determines the sizes without reading the
 * texts.
 */
export const MESSAGE_BYTES = `(coalesce(octet_length(m.input::text), 0) + coalesce(octet_length(m.output::text), 0)
  + coalesce(octet_length(m.event::text), 0))`

/** Selects the messages of traces, or of some of their spans, in order and without the spans of their calls. */
function selectMessages(
  sql: Sql,
  projectId: number,
  traceIds: readonly string[],
  names: TableNames,
  spanIds?: readonly string[],
  columns = 'input, output, event, facts'
): PendingQuery<PlacedMessages[]> {
  return sql<PlacedMessages[]>`
    select trace_id as "traceId", span_id as "spanId", micros, place, digest, call, ${sql.unsafe(columns)}
    from (
      select *, sum(${sql.unsafe(MESSAGE_BYTES)})
        over (partition by trace_id, span_id order by micros, place, digest) as bytes
      from ${sql.unsafe(names.span_messages)} m
      where project_id = ${projectId} and trace_id = any (${traceIds as string[]}::uuid[])
        ${spanIds === undefined ? sql`` : sql`and span_id = any (${spanIds as string[]}::bytea[])`}
    ) counted
    where bytes <= ${MAX_DOCUMENT_BYTES}
    order by trace_id, span_id, micros, place, digest`
}

/** A message without its texts. */
interface ListedMessage extends CallMessage {
  readonly spanId: string
  readonly digest: string
  readonly bytes: number
}

/** Maximum number of text bytes per page. A single span with more bytes gets a page of its own. */
const PAGE_BYTES = 512 * 1024

/** Yields all messages of a trace in order, page by page, without the spans of their calls. */
export async function* readMessagePages(
  sql: Sql,
  { projectId, traceId, names }: TracePlace
): AsyncGenerator<readonly PlacedMessages[], void> {
  const listed = await sql<{ spanId: string; bytes: number }[]>`
    select span_id as "spanId", sum(${sql.unsafe(MESSAGE_BYTES)})::bigint as bytes
    from ${sql.unsafe(names.span_messages)} m where project_id = ${projectId} and trace_id = ${traceId}
    group by span_id order by span_id`
  let spanIds: string[] = []
  let bytes = 0
  const read = () => selectMessages(sql, projectId, [traceId], names, spanIds)
  for (const span of listed) {
    if (spanIds.length > 0 && bytes + span.bytes > PAGE_BYTES) {
      yield await read()
      spanIds = []
      bytes = 0
    }
    spanIds.push(span.spanId)
    bytes += span.bytes
  }
  if (spanIds.length > 0) yield await read()
}

/** Messages of a long trace. They are listed without their texts; the texts are read for a few spans at a time. */
export class TraceMessages {
  readonly #sql: Sql
  readonly #place: TracePlace
  /** Messages by the id of the span that shows them. */
  readonly #bySpan = new Map<string, ListedMessage[]>()

  private constructor(sql: Sql, place: TracePlace, listed: readonly ListedMessage[]) {
    this.#sql = sql
    this.#place = place
    for (const each of listed) {
      const id = each.target ?? each.spanId
      this.#bySpan.set(id, [...(this.#bySpan.get(id) ?? []), each])
    }
  }

  static async list(sql: Sql, place: TracePlace): Promise<TraceMessages> {
    const { projectId, traceId, names } = place
    const listed = await sql<ListedMessage[]>`
      select trace_id as "traceId", span_id as "spanId", micros, digest, call,
        ${sql.unsafe(MESSAGE_BYTES)}::int as bytes
      from ${sql.unsafe(names.span_messages)} m where project_id = ${projectId} and trace_id = ${traceId}`
    return new TraceMessages(sql, place, await withTargets(sql, projectId, listed, names))
  }

  has(spanId: string): boolean {
    return this.#bySpan.has(spanId)
  }

  bytesOf(spanId: string): number {
    return (this.#bySpan.get(spanId) ?? []).reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** Returns the messages of these spans in order. */
  async read(spanIds: readonly string[]): Promise<PlacedMessages[]> {
    const listed = spanIds.flatMap(id => this.#bySpan.get(id) ?? [])
    if (listed.length === 0) return []
    const { projectId, traceId, names } = this.#place
    const sources = [...new Set(listed.map(({ spanId }) => spanId))]
    const targets = new Map(listed.map(({ spanId, digest, target }) => [spanId + digest, target]))
    const messages = await selectMessages(this.#sql, projectId, [traceId], names, sources)
    return messages.flatMap(each => {
      const key = each.spanId + each.digest
      return targets.has(key) ? { ...each, target: targets.get(key) } : []
    })
  }
}

interface TracePlace {
  readonly projectId: number
  readonly traceId: string
  readonly names: TableNames
}

/** Maximum number of messages that a sweep examines. */
const MOST_SWEPT = 1000

export interface Swept {
  /** Number of messages examined. If this number is MOST_SWEPT, more messages may be waiting. */
  readonly looked: number
  /** Counts of deleted records whose spans never arrived, by project and name. */
  readonly leftOut: readonly { readonly projectId: number; readonly counts: ReadonlyMap<string, number> }[]
}

/** Checks whether the spans of messages received more than `afterMs` ago have arrived. */
export async function sweepMessages(sql: Sql, afterMs: number): Promise<Swept> {
  const old = await sql<WaitingMessage[]>`
    select project_id as "projectId", trace_id as "traceId", span_id as "spanId", digest, call
    from span_messages where waits and received_at < now() - ${afterMs} * interval '1 ms' limit ${MOST_SWEPT}`
  const leftOut: { projectId: number; counts: ReadonlyMap<string, number> }[] = []
  for (const projectId of new Set(old.map(each => each.projectId))) {
    const own = old.filter(each => each.projectId === projectId)
    const counts = await sweepProject(sql, projectId, own)
    if (counts.size > 0) leftOut.push({ projectId, counts })
  }
  return { looked: old.length, leftOut }
}

interface WaitingMessage extends Pick<PlacedMessages, 'traceId' | 'spanId' | 'digest'> {
  readonly projectId: number
  readonly call: string | null
}

/** Name under which messages of model calls are counted. */
const MESSAGES = 'messages of model calls'

/**
 * Marks messages whose span, or whose call's trace, has arrived, and deletes the rest. Returns the number of deleted
 * messages by name.
 */
async function sweepProject(
  sql: Sql,
  projectId: number,
  messages: readonly WaitingMessage[]
): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<{ name: string; count: number }[]>`
    with old as materialized (
      select trace_id, span_id, digest, exists (
        select from traces t join spans s on s.project_id = ${projectId} and s.trace_seq = t.seq
        where t.project_id = ${projectId} and t.id = w.trace_id and (s.id = w.span_id or w.call is not null)
      ) as placed
      from unnest(
        ${messages.map(each => each.traceId)}::uuid[], ${messages.map(each => each.spanId)}::bytea[],
        ${messages.map(each => each.digest)}::bytea[], ${messages.map(each => each.call)}::text[]
      ) as w (trace_id, span_id, digest, call)
    ), kept as (
      update span_messages m set waits = false from old
      where m.project_id = ${projectId} and old.placed
        and (m.trace_id, m.span_id, m.digest) = (old.trace_id, old.span_id, old.digest)
    ), gone as (
      delete from span_messages m using old
      where m.project_id = ${projectId} and not old.placed and m.waits
        and (m.trace_id, m.span_id, m.digest) = (old.trace_id, old.span_id, old.digest)
      returning coalesce(m.event ->> 'name', ${MESSAGES}) as name
    )
    select name, count(*)::int as count from gone group by name order by name`
  return new Map(rows.map(({ name, count }) => [name, count]))
}

/** Whether more messages may be waiting, because a sweep reached its maximum. */
export const isUnfinished = ({ looked }: Swept): boolean => looked === MOST_SWEPT

interface CallRow extends Omit<CallSpan, 'calls'> {
  /** The span's call details as JSON text. */
  readonly details: string
}

/** Returns the messages with the spans of their calls. The spans are read only if a message names a call. */
async function withTargets<T extends CallMessage>(
  sql: Sql,
  projectId: number,
  messages: readonly T[],
  names: TableNames
): Promise<T[]> {
  const traceIds = [...new Set(messages.filter(({ call }) => call != null).map(({ traceId }) => traceId))]
  if (traceIds.length === 0) return [...messages]
  const spans = await sql<CallRow[]>`
    select t.id as "traceId", s.id, s.call_details as details,
      (extract(epoch from s.started_at) * 1000000)::bigint as "startMicros",
      (extract(epoch from s.ended_at) * 1000000)::bigint as "endMicros"
    from ${sql.unsafe(names.traces)} t
    join ${sql.unsafe(names.spans)} s on s.project_id = ${projectId} and s.trace_seq = t.seq
    where t.project_id = ${projectId} and t.id = any (${traceIds}::uuid[]) and s.call_details is not null`
  return findTargets(
    messages,
    spans.map(({ details, ...span }) => ({ ...span, calls: callsOf(JSON.parse(details)) }))
  )
}
