/** Joins the separately stored messages of log records with the texts of traces and their calls. */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import type { SharedTexts } from '../../rows/trace-texts.ts'
import { joinMessages } from '../../trace/span-messages.ts'
import { readMessages } from '../trace/messages.ts'

/** The fields of a trace that its messages may complete. */
export interface SpokenTrace extends SharedTexts {
  readonly seq: number
  readonly id: string
  readonly input: string | null
  readonly output: string | null
}

export interface CallTexts {
  readonly id: string
  readonly input: string | null
  readonly output: string | null
}

/** Fields by which a span is matched with messages that were received separately (lib/trace/span-messages.ts). */
interface SpanPlace {
  readonly id: string
  readonly kind: string
  readonly parentSpanId: string | null
  readonly startedAt: string
  readonly endedAt: string
}

/**
 * Returns a trace and its calls with the separately stored messages of the calls. Messages of the trace's remaining
 * spans, such as a coding agent's prompt, can become the trace's input or output.
 */
export async function withMessages<T extends SpokenTrace, S extends CallTexts>(
  sql: Sql,
  projectId: number,
  { trace, calls: bare }: { readonly trace: T; readonly calls: readonly S[] },
  names: TableNames = SCHEMA_NAMES
): Promise<{ readonly trace: T; readonly calls: readonly S[] }> {
  const places = await sql<SpanPlace[]>`
    select id, kind, parent_id as "parentSpanId", started_at as "startedAt", ended_at as "endedAt"
    from ${sql.unsafe(names.spans)}
    where project_id = ${projectId} and trace_seq = ${trace.seq}`
  const placeOf = new Map(places.map(place => [place.id, place]))
  const calls = bare.flatMap(call => {
    const place = placeOf.get(call.id)
    return place === undefined ? [] : { ...call, ...place }
  })
  const messages = await readMessages(sql, projectId, [trace.id], names)
  const isCall = new Set(calls.map(({ id }) => id))
  const others = places.filter(({ id }) => !isCall.has(id)).map(place => ({ ...place, input: null, output: null }))
  const joined = joinMessages(trace, calls, messages)
  return { trace: joinMessages(trace, [...calls, ...others], messages).trace, calls: joined.spans }
}
