/** Finds the spans of the calls to which log records refer (lib/trace/span-messages.ts). */
import type { Sql } from 'postgres'
import type { TableNames } from '../../database/tables.ts'
import { callsOf } from '../../trace/call-details.ts'
import { type CallMessage, findTargets } from '../../trace/span-messages.ts'

interface CallRow {
  readonly traceId: string
  readonly id: string
  /** The span's call details as JSON text. */
  readonly details: string
  readonly startMicros: number
  readonly endMicros: number
}

/** Returns the messages with the spans of their calls. The spans are read only if a message names a call. */
export async function withTargets<T extends CallMessage>(
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
