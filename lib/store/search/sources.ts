/** Reads the searchable texts of stored traces. */
import type { Sql } from 'postgres'
import { SCHEMA_NAMES } from '../../database/tables.ts'
import { Slices } from '../../limits/slices.ts'
import { type EncodedTexts, unpackEncoded } from '../../rows/packed-texts.ts'
import { type SharedTexts, withSharedTexts } from '../../rows/trace-texts.ts'
import { SEARCHED, type SearchedText, searchedTexts } from '../../search/texts.ts'
import { failureOfStep } from '../../trace/failures/step-failure.ts'
import { withPackedRows } from '../spans/packed-rows.ts'
import { type CallTexts, type SpokenTrace, withMessages } from './spoken-traces.ts'

export interface TextSource {
  readonly seq: number
  readonly startedMs: number
  readonly texts: readonly SearchedText[]
}

interface TraceRow extends SpokenTrace {
  readonly startedMs: number
  readonly name: string
  readonly metadata: string | null
  readonly hasMessages: boolean
}

interface SpanRow extends CallTexts {
  readonly seq: number
  readonly kind: string
  readonly isCall: boolean
  readonly isTool: boolean
  /** Position among the trace's failed spans, by their ends; null if the span is not searched for its error. */
  readonly failure: number | null
  readonly attributes: string | null
  readonly events: string | null
  readonly packed: string | null
}

/** Returns SQL for a time in whole milliseconds since 1970. */
export const inMs = (time: string): string => `floor(extract(epoch from ${time}) * 1000)::bigint`

/** Parameters: the project, the traces, and, for spans with a trace's own texts, the traces and the ids. */
const SPANS = `
  with steps as materialized (
    select seq, id, kind = 'llm' and place <= ${SEARCHED.calls} as is_call,
      kind = 'tool' and place <= ${SEARCHED.calls} as is_tool,
      case when failure <= ${SEARCHED.failures} then failure end as failure
    from (
      select trace_seq as seq, id, kind,
        row_number() over (partition by trace_seq, kind order by started_at, id) as place,
        case when status = 'error' then
          row_number() over (partition by trace_seq, status order by ended_at, started_at desc, id)
        end as failure
      from spans
      where project_id = $1::int and trace_seq = any ($2::bigint[]) and (kind in ('llm', 'tool') or status = 'error')
    ) s
    where (kind in ('llm', 'tool') and place <= ${SEARCHED.calls}) or failure <= ${SEARCHED.failures}
  ), wanted as materialized (
    select seq, id from steps
    union
    select shared_seq, shared_id from unnest($3::bigint[], $4::bytea[]) as k (shared_seq, shared_id)
  ) ${withPackedRows(
    SCHEMA_NAMES,
    `s.kind, s.started_at, left(s.input::text, ${SEARCHED.json}) as input,
    left(s.output::text, ${SEARCHED.json}) as output, s.attributes, s.events`
  )}
  select r.seq, r.id, r.kind, r.packed, r.input, r.output, coalesce(c.is_call, false) as "isCall",
    coalesce(c.is_tool, false) as "isTool", c.failure::int,
    case when c.failure is not null then r.attributes end as attributes,
    case when c.failure is not null then r.events end as events
  from rows r left join steps c on c.seq = r.seq and c.id = r.id
  order by r.seq, r.started_at, r.id`

/**
 * Reads the existing traces with these internal numbers, in no particular order. Only the beginning of a long input or
 * output is read. Texts packed together can only be read together. If the texts of a model call, of a tool call or of a
 * failed span are packed, or those of a span that has the trace's own texts, all rows of the span's group are read. A
 * row without texts may belong to any group that is stored as a single slice.
 */
export async function readSources(sql: Sql, projectId: number, seqs: readonly number[]): Promise<TextSource[]> {
  if (seqs.length === 0) return []
  const traces = await sql<TraceRow[]>`
    select seq, id, name, ${sql.unsafe(inMs('started_at'))} as "startedMs",
      left(input::text, ${SEARCHED.json}) as input, left(output::text, ${SEARCHED.json}) as output,
      left(metadata::text, ${SEARCHED.json}) as metadata,
      input_span_id as "inputSpanId", output_span_id as "outputSpanId",
      exists (select from span_messages m where m.project_id = ${projectId} and m.trace_id = t.id) as "hasMessages"
    from traces t where project_id = ${projectId} and seq = any (${seqs as number[]}::bigint[])`
  const shared = traces.flatMap(({ seq, ...trace }) => sharedIds(trace).map(id => ({ seq, id })))
  const rows = await sql.unsafe<SpanRow[]>(
    SPANS,
    [
      projectId,
      `{${seqs.join(',')}}`,
      `{${shared.map(({ seq }) => seq).join(',')}}`,
      `{${shared.map(({ id }) => `"\\\\x${id}"`).join(',')}}`
    ],
    { prepare: true }
  )
  const spans = new Map<number, SpanRow[]>(seqs.map(seq => [seq, []]))
  for (const row of rows) spans.get(row.seq)!.push(row)
  const sources: TextSource[] = []
  const slices = new Slices()
  for (const trace of traces) {
    const own = spans.get(trace.seq)!
    const isRead = new Set([...own.filter(isSearched).map(({ id }) => id), ...sharedIds(trace)])
    const packed = await unpackEncoded(own, () => slices.next())
    const unpacked = own.filter(({ id }) => isRead.has(id)).map(row => withTexts(row, packed.get(row.id)))
    const whole = { trace: withSharedTexts(trace, unpacked), calls: unpacked.filter(isSearched) }
    const { trace: spoken, calls } = trace.hasMessages ? await withMessages(sql, projectId, whole) : whole
    const { seq, startedMs } = trace
    sources.push({ seq, startedMs, texts: searchedTexts({ ...spoken, ...stepsOf(calls) }) })
  }
  return sources
}

const sharedIds = ({ inputSpanId, outputSpanId }: SharedTexts): string[] =>
  [inputSpanId, outputSpanId].filter(id => id !== null)

const isSearched = ({ isCall, isTool, failure }: SpanRow): boolean => isCall || isTool || failure !== null

function withTexts(row: SpanRow, texts: EncodedTexts | undefined): SpanRow {
  if (texts === undefined) return row
  const isFailed = row.failure !== null
  return {
    ...row,
    input: texts.beginning('input', SEARCHED.json),
    output: texts.beginning('output', SEARCHED.json),
    attributes: isFailed ? texts.attributes : null,
    events: isFailed ? texts.events : null
  }
}

function stepsOf(spans: readonly SpanRow[]) {
  const failed = spans.filter(({ failure }) => failure !== null).sort((a, b) => a.failure! - b.failure!)
  return {
    calls: spans.filter(({ isCall }) => isCall),
    tools: spans.filter(({ isTool }) => isTool),
    errors: failed.map(({ id, kind, output, attributes, events }) => {
      // An output that was cut at the limit is not valid JSON.
      const whole = output !== null && output.length < SEARCHED.json ? output : null
      const { type, message } = failureOfStep({ kind, output: whole, attributes, events })
      return { id, text: [type, message].filter(text => text !== null).join('\n') }
    })
  }
}
