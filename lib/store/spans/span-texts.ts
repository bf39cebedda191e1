/** Reads the texts of a few spans of many traces. */
import type { Sql } from 'postgres'
import type { TableNames } from '../../database/tables.ts'
import { Slices } from '../../limits/slices.ts'
import { fillSpans, type PlacedMessages } from '../../trace/span-messages.ts'
import type { Bind } from '../lists/trace-query.ts'
import { readFailureMessages } from '../trace/messages.ts'
import { byTrace, HEAD_COLUMNS, type PackedRow, textColumns, unpackWanted, withPackedRows } from './packed-rows.ts'

export interface SpanTextRow {
  readonly seq: number
  readonly id: string
  readonly parentSpanId: string | null
  readonly name: string
  readonly kind: string
  readonly status: string
  readonly startedAt: string
  readonly endedAt: string
  readonly input: string | null
  readonly output: string | null
  readonly attributes: string | null
  readonly events: string | null
}

type Row = PackedRow &
  SpanTextRow & {
    readonly traceId: string
    readonly hasMessages: boolean
  }

/** The first failed spans of each trace, by their ends: a step fails before the steps that contain it. */
export interface WantedFailures {
  /** Conditions on spans as s, each with a leading `and`. */
  readonly conditions: (bind: Bind) => readonly string[]
  /** Conditions like `conditions`; spans that meet them come before the other spans of their trace. */
  readonly preferred?: (bind: Bind) => readonly string[]
  /** Maximum number per trace. */
  readonly most: number
}

export interface WantedSpans {
  readonly names: TableNames
  readonly seqs: readonly number[]
  readonly spans?: readonly { readonly seq: number; readonly id: string }[]
  readonly failures?: WantedFailures
}

/**
 * Reads spans of traces, each trace's in the order in which they ended. Failed spans also include the events and
 * outputs of messages, which may state their failures. Texts of `failures` that are too long to state a failure are
 * null.
 */
export async function readSpanTexts(
  sql: Sql,
  projectId: number,
  { names, seqs, spans = [], failures }: WantedSpans
): Promise<readonly SpanTextRow[]> {
  if (seqs.length === 0) return []
  const values: (string | number | null)[] = [projectId]
  const bind: Bind = value => `$${values.push(value)}`
  const all = `${bind(`{${seqs.join(',')}}`)}::bigint[]`
  const preference = failures?.preferred?.(bind) ?? []
  const preferred = preference.length === 0 ? '' : `(true ${preference.join(' ')}) desc,`
  const wanted = [
    ...(failures === undefined
      ? []
      : [
          `select seq, id, false as is_whole from (
            select s.trace_seq as seq, s.id,
              row_number() over (
                partition by s.trace_seq order by ${preferred} s.ended_at, s.started_at desc, s.id
              ) as place
            from ${names.spans} s where s.project_id = $1 and s.trace_seq = any (${all}) and s.status = 'error'
              ${failures.conditions(bind).join(' ')}
          ) failed where place <= ${bind(failures.most)}`
        ]),
    ...(spans.length === 0 && failures !== undefined
      ? []
      : [
          `select own_seq as seq, own_id as id, true as is_whole
          from unnest(${bind(`{${spans.map(({ seq }) => seq).join(',')}}`)}::bigint[],
            ${bind(`{${spans.map(({ id }) => `"\\\\x${id}"`).join(',')}}`)}::bytea[]) as k (own_seq, own_id)`
        ])
  ]
  const columns = `${HEAD_COLUMNS}, case when w.is_whole then s.input end as input,
    ${textColumns('is_wanted', 'w.is_whole')}`
  const rows = await sql.unsafe<Row[]>(
    `with wanted as materialized (
      select seq, id, bool_or(is_whole) as is_whole from (${wanted.join(' union all ')}) each_wanted group by seq, id
    ) ${withPackedRows(names, columns)}
    select r.*, t.id as "traceId", r."isWanted" and r.status = 'error' and exists (
        select from ${names.span_messages} m where m.project_id = $1 and m.trace_id = t.id
      ) as "hasMessages"
    from rows r join ${names.traces} t on t.project_id = $1 and t.seq = r.seq
    order by r.seq, r."endedAt", r."startedAt" desc, r.id`,
    values,
    { prepare: false }
  )
  const messages = await readSpoken(sql, projectId, rows, names)
  const slices = new Slices()
  const found: SpanTextRow[] = []
  for (const own of byTrace(rows).values()) {
    const unpacked = await unpackWanted(own, () => slices.next())
    const spoken = messages.get(own[0]!.traceId)
    if (spoken === undefined) found.push(...unpacked)
    else found.push(...unpacked.map(span => (span.status === 'error' ? fillSpans([span], spoken)[0]! : span)))
  }
  return found
}

/** A row of a failed span. */
interface Failing {
  readonly traceId: string
  /** Whether the trace has messages. */
  readonly hasMessages: boolean
}

/** Reads messages that may report failures, by trace id. */
export async function readSpoken(
  sql: Sql,
  projectId: number,
  rows: readonly Failing[],
  names: TableNames
): Promise<ReadonlyMap<string, readonly PlacedMessages[]>> {
  const ids = [...new Set(rows.filter(({ hasMessages }) => hasMessages).map(({ traceId }) => traceId))]
  const spoken = new Map<string, PlacedMessages[]>(ids.map(id => [id, []]))
  if (ids.length === 0) return spoken
  for (const message of await readFailureMessages(sql, projectId, ids, names))
    spoken.get(message.traceId)?.push(message)
  return spoken
}
