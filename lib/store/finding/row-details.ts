/** Reads facts that the dashboard's list shows about a trace but the API's summary lacks. */
import type { Sql } from 'postgres'
import type { TableNames } from '../../database/tables.ts'
import { SpanTree } from '../../trace/span-tree.ts'
import { type SpanUsage, type Spent, sumSpending } from '../../trace/span-usage.ts'
import { leftOutOf } from '../../trace/states/left-out.ts'

/** Numbers of spans per trace and per page beyond which a trace's spans are not summed. */
const SUMMED = { spans: 500, page: 5000 }

export interface RowDetails {
  /** Number of spans that were received but not stored, because the trace has its maximum number of spans. */
  readonly leftOut: number
  /** Sums of the spans of a trace that reports no tokens or no cost; null for other traces. */
  readonly steps: (Spent & { readonly models: readonly string[] }) | null
}

interface TraceRow {
  readonly seq: number
  readonly id: string
  readonly spanCount: number
  readonly isSummed: boolean
  /** Set if the metadata may say how many spans were left out. */
  readonly metadata: string | null
}

interface SpanRow extends Omit<SpanUsage, 'responseId'> {
  readonly seq: number
}

/** Returns the details by trace id, without traces that have none. */
export async function readRowDetails(
  sql: Sql,
  projectId: number,
  seqs: readonly number[],
  names: TableNames
): Promise<Readonly<Record<string, RowDetails>>> {
  if (seqs.length === 0) return {}
  const traces = await sql.unsafe<TraceRow[]>(
    `select seq, replace(id::text, '-', '') as id, span_count as "spanCount",
      span_count > 0 and (coalesce(input_tokens, output_tokens, total_tokens) is null or cost_usd is null)
        as "isSummed",
      case when strpos(metadata::text, '"spansLeftOut"') > 0 then metadata end as metadata
    from ${names.traces} where project_id = $1 and seq = any ($2::bigint[]) order by seq`,
    [projectId, `{${seqs.join(',')}}`],
    { prepare: true }
  )
  const summed = withinBounds(traces.filter(({ isSummed }) => isSummed))
  const spans = await readUsage(sql, projectId, summed, names)
  const details: Record<string, RowDetails> = {}
  for (const { seq, id, metadata } of traces) {
    const leftOut = metadata === null ? 0 : (leftOutOf(JSON.parse(metadata))?.count ?? 0)
    const own = spans.filter(span => span.seq === seq)
    const steps = own.length === 0 ? null : { ...sumSpending(new SpanTree(own)), models: modelsOf(own) }
    const isKnown = steps !== null && (steps.models.length > 0 || steps.totalTokens !== null || steps.costUsd !== null)
    if (leftOut > 0 || isKnown) details[id] = { leftOut, steps }
  }
  return details
}

function withinBounds(traces: readonly TraceRow[]): number[] {
  let spans = 0
  return traces.flatMap(({ seq, spanCount }) => {
    if (spanCount > SUMMED.spans || spans + spanCount > SUMMED.page) return []
    spans += spanCount
    return [seq]
  })
}

async function readUsage(sql: Sql, projectId: number, seqs: readonly number[], names: TableNames) {
  if (seqs.length === 0) return []
  const micros = (time: string) => `(extract(epoch from ${time}) * 1000000)::float8`
  const rows = await sql.unsafe<SpanRow[]>(
    `select trace_seq as seq, encode(id, 'hex') as id, encode(parent_id, 'hex') as "parentId", kind, model,
      input_tokens as "inputTokens", output_tokens as "outputTokens", total_tokens as "totalTokens",
      cost_usd as "costUsd", call_details ->> 'computedCost' is not null as "costIsComputed",
      ${micros('started_at')} as "startMicros", ${micros('ended_at')} as "endMicros"
    from ${names.spans} where project_id = $1 and trace_seq = any ($2::bigint[]) order by trace_seq, started_at, id`,
    [projectId, `{${seqs.join(',')}}`],
    { prepare: true }
  )
  return rows.map(row => ({ ...row, responseId: undefined }))
}

const modelsOf = (spans: readonly SpanUsage[]): string[] => [
  ...new Set(spans.flatMap(({ model }) => (model === null ? [] : [model])))
]
