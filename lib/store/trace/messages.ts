/** Messages that came as log records, apart from the spans that they belong to (lib/trace/span-messages.ts). */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { MAX_DOCUMENT_BYTES } from '../../schema/input.ts'
import type { PlacedMessages } from '../../trace/span-messages.ts'
import { isSearched } from '../search/state.ts'
import { inTransaction } from '../transactions.ts'
import { freshVersion } from '../write/trace-numbers.ts'

/**
 * Adds messages of a project. Those that are stored already are left as they are, so a resend changes nothing. Where the
 * project is searched, the words of their traces are to be indexed anew.
 */
export async function addMessages(sql: Sql, projectId: number, messages: readonly PlacedMessages[]): Promise<void> {
  if (!(await isSearched(sql, projectId))) return insertMessages(sql, projectId, messages)
  await inTransaction(sql, async () => {
    await insertMessages(sql, projectId, messages)
    // A trace that comes later brings news itself.
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

/**
 * The messages of these traces, in their order. Of a span with more than a document may have, the first that make one are
 * read.
 */
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

/** How many of those that were received before a time are looked at together. */
const MOST_SWEPT = 1000

export interface Swept {
  /** How many were looked at. If it is MOST_SWEPT, there may be more. */
  readonly looked: number
  /** Those whose span never came, by project. They are deleted. */
  readonly leftOut: readonly { readonly projectId: number; readonly count: number }[]
}

/** Looks at messages that have waited for so long whether their span has come by now. */
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

/** Marks those whose span has come, deletes the others, and returns how many these were. */
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

/** Whether a sweep that looked at so many left others for the next one. */
export const isUnfinished = ({ looked }: Swept): boolean => looked === MOST_SWEPT
