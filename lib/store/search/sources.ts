/** Reads what of stored traces is searched. */
import type { Sql } from 'postgres'
import { unpackSpans } from '../../rows/packed-texts.ts'
import { SEARCHED, type SearchedText, searchedTexts } from '../../search/texts.ts'
import { joinMessages } from '../../trace/span-messages.ts'
import { readMessages } from '../trace/messages.ts'

/** A stored trace with the texts in it that are searched. */
export interface Source {
  readonly seq: number
  readonly startedMs: number
  readonly texts: readonly SearchedText[]
}

interface TraceRow {
  readonly seq: number
  readonly id: string
  readonly startedMs: number
  readonly name: string
  readonly input: string | null
  readonly output: string | null
  readonly hasMessages: boolean
}

interface SpanRow {
  readonly seq: number
  readonly id: string
  readonly parentSpanId: string | null
  readonly kind: string
  readonly startedAt: string
  readonly endedAt: string
  readonly input: string | null
  readonly output: string | null
  readonly packed: string | null
}

/** SQL of a time as whole milliseconds since 1970. */
export const inMs = (time: string): string => `floor(extract(epoch from ${time}) * 1000)::bigint`

/**
 * The traces with these inner numbers that are there, in no order. Of long texts only the beginning travels. Texts that are
 * packed together can only be read together, so the spans of other kinds come with them.
 */
export async function readSources(sql: Sql, projectId: number, seqs: readonly number[]): Promise<Source[]> {
  if (seqs.length === 0) return []
  const traces = await sql<TraceRow[]>`
    select seq, id, name, ${sql.unsafe(inMs('started_at'))} as "startedMs",
      left(input::text, ${SEARCHED.json}) as input, left(output::text, ${SEARCHED.json}) as output,
      exists (select from span_messages m where m.project_id = ${projectId} and m.trace_id = t.id) as "hasMessages"
    from traces t where project_id = ${projectId} and seq = any (${seqs as number[]}::bigint[])`
  const spans = await sql<SpanRow[]>`
    select seq, id, parent_id as "parentSpanId", kind, started_at as "startedAt", ended_at as "endedAt", input, output, packed
    from (
      select trace_seq as seq, id, parent_id, kind, started_at, ended_at, packed,
        left(input::text, ${SEARCHED.json}) as input, left(output::text, ${SEARCHED.json}) as output,
        row_number() over (partition by trace_seq, packed is null order by started_at, id) as place
      from spans
      where project_id = ${projectId} and trace_seq = any (${seqs as number[]}::bigint[]) and (kind = 'llm' or packed is not null)
    ) s
    where packed is not null or place <= ${SEARCHED.calls}
    order by seq, "startedAt", id`
  const apart = traces.filter(({ hasMessages }) => hasMessages).map(({ id }) => id)
  const messages = apart.length === 0 ? [] : await readMessages(sql, projectId, apart)
  const sources: Source[] = []
  for (const trace of traces) {
    const own = await unpackSpans(spans.filter(({ seq }) => seq === trace.seq))
    const joined = joinMessages(
      trace,
      own.filter(({ kind }) => kind === 'llm'),
      messages.filter(({ traceId }) => traceId === trace.id)
    )
    sources.push({
      seq: trace.seq,
      startedMs: trace.startedMs,
      texts: searchedTexts({ ...joined.trace, calls: joined.spans })
    })
  }
  return sources
}
