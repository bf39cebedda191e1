/** Messages received as log records, separately from the spans they belong to (lib/trace/span-messages.ts). */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { MAX_DOCUMENT_BYTES } from '../../schema/input.ts'
import type { PlacedMessages } from '../../trace/span-messages.ts'
import { isSearched } from '../search/state.ts'
import { inTransaction } from '../transactions.ts'
import { freshVersion } from '../write/trace-numbers.ts'

/**
 * Adds messages to a project. Messages already stored stay unchanged, so a resend changes nothing. If the project is
 * searched, the messages' traces are queued for indexing again.
 */
export async function addMessages(sql: Sql, projectId: number, messages: readonly PlacedMessages[]): Promise<void> {
  if (!(await isSearched(sql, projectId))) return insertMessages(sql, projectId, messages)
  await inTransaction(sql, async () => {
    await insertMessages(sql, projectId, messages)
    // A trace that arrives later writes its own news.
    await sql`
      insert into search_news (project_id, seq, version)
      select project_id, seq, ${freshVersion()}::bigint from traces
      where project_id = ${projectId} and id = any (${messages.map(each => each.traceId)}::uuid[])`
  })
}

async function insertMessages(sql: Sql, projectId: number, messages: readonly PlacedMessages[]): Promise<void> {
  const column = <T>(of: (each: PlacedMessages) => T) => messages.map(of)
  await sql`
    insert into span_messages (project_id, trace_id, span_id, micros, place, digest, input, output)
    select ${projectId}, trace_id, span_id, micros, place, digest, input::json, output::json
    from unnest(
      ${column(each => each.traceId)}::uuid[], ${column(each => each.spanId)}::bytea[],
      ${column(each => each.micros)}::bigint[], ${column(each => each.place)}::int[],
      ${column(each => each.digest)}::bytea[], ${column(each => each.input)}::text[],
      ${column(each => each.output)}::text[]
    ) as m (trace_id, span_id, micros, place, digest, input, output)
    on conflict do nothing`
}

/** Returns these traces' messages in order, omitting a span's messages beyond the maximum document size. */
export function readMessages(
  sql: Sql,
  projectId: number,
  traceIds: readonly string[],
  names: TableNames = SCHEMA_NAMES
): Promise<PlacedMessages[]> {
  return sql<PlacedMessages[]>`
    select trace_id as "traceId", span_id as "spanId", micros, place, digest, input, output
    from (
      select *, sum(coalesce(octet_length(input::text), 0) + coalesce(octet_length(output::text), 0))
        over (partition by trace_id, span_id order by micros, place, digest) as bytes
      from ${sql.unsafe(names.span_messages)} where project_id = ${projectId} and trace_id = any (${traceIds as string[]}::uuid[])
    ) counted
    where bytes <= ${MAX_DOCUMENT_BYTES}
    order by trace_id, span_id, micros, place, digest`
}

/** Maximum number of messages that a sweep examines. */
const MOST_SWEPT = 1000

export interface Swept {
  /** Number of messages examined. If it is MOST_SWEPT, more may be waiting. */
  readonly looked: number
  /** Numbers of deleted messages whose spans never arrived, by project. */
  readonly leftOut: readonly { readonly projectId: number; readonly count: number }[]
}

/** Checks whether the spans of messages received more than `afterMs` ago have arrived. */
export async function sweepMessages(sql: Sql, afterMs: number): Promise<Swept> {
  const old = await sql<WaitingMessage[]>`
    select project_id as "projectId", trace_id as "traceId", span_id as "spanId", digest
    from span_messages where waits and received_at < now() - ${afterMs} * interval '1 ms' limit ${MOST_SWEPT}`
  const leftOut: { projectId: number; count: number }[] = []
  for (const projectId of new Set(old.map(each => each.projectId))) {
    const count = await sweepProject(
      sql,
      projectId,
      old.filter(each => each.projectId === projectId)
    )
    if (count > 0) leftOut.push({ projectId, count })
  }
  return { looked: old.length, leftOut }
}

interface WaitingMessage {
  readonly projectId: number
  readonly traceId: string
  readonly spanId: string
  readonly digest: string
}

/** Marks messages whose span has arrived, deletes the rest, and returns the number deleted. */
async function sweepProject(sql: Sql, projectId: number, messages: readonly WaitingMessage[]): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    with old as materialized (
      select trace_id, span_id, digest, exists (
        select from traces t join spans s on s.project_id = ${projectId} and s.trace_seq = t.seq
        where t.project_id = ${projectId} and t.id = w.trace_id and s.id = w.span_id
      ) as placed
      from unnest(
        ${messages.map(each => each.traceId)}::uuid[], ${messages.map(each => each.spanId)}::bytea[],
        ${messages.map(each => each.digest)}::bytea[]
      ) as w (trace_id, span_id, digest)
    ), kept as (
      update span_messages m set waits = false from old
      where m.project_id = ${projectId} and old.placed
        and (m.trace_id, m.span_id, m.digest) = (old.trace_id, old.span_id, old.digest)
    ), gone as (
      delete from span_messages m using old
      where m.project_id = ${projectId} and not old.placed and m.waits
        and (m.trace_id, m.span_id, m.digest) = (old.trace_id, old.span_id, old.digest)
      returning 1
    )
    select count(*)::int as count from gone`
  return row.count
}

/** Whether more messages may be waiting, because a sweep reached its maximum. */
export const isUnfinished = ({ looked }: Swept): boolean => looked === MOST_SWEPT
