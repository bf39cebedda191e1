/** Reads running OpenTelemetry traces, and the spans from which the ends of these traces are computed. */
import type { Sql } from 'postgres'
import type { EndedSpan } from '../../trace/states/idle.ts'
import { allAnswered } from '../transactions.ts'

export interface RunningTrace {
  readonly projectId: number
  readonly seq: number
  readonly traceId: string
  readonly version: number
}

/**
 * Returns running traces recorded by OpenTelemetry: the oldest `most` of each family, and at most `most` in total.
 * Reads only families of running traces, so the cost does not depend on the number of completed traces.
 */
export function readRunningTraces(sql: Sql, most: number): Promise<RunningTrace[]> {
  return sql<RunningTrace[]>`
    select f.project_id as "projectId", t.seq, replace(t.id::text, '-', '') as "traceId", t.version
    from trace_families f cross join lateral (
      select seq, id, version from traces
      where project_id = f.project_id and family = f.family and ended_at is null and ranks is not null
      order by started_at, id limit ${most}
    ) t
    where f.status = 'running' limit ${most}`
}

interface Row extends EndedSpan {
  readonly seq: number
}

/** Reads the stored spans of these traces, keyed by the trace's number. */
export async function readEndedSpans(sql: Sql, traces: readonly RunningTrace[]): Promise<Map<number, EndedSpan[]>> {
  const projects = [...new Set(traces.map(({ projectId }) => projectId))]
  const rows = await allAnswered(
    projects.map(async project => {
      const own = traces.filter(({ projectId }) => projectId === project).map(({ seq }) => seq)
      return sql<Row[]>`
        select trace_seq as seq, encode(id, 'hex') as id, encode(parent_id, 'hex') as "parentId", status,
          ended_at as "endedAt"
        from spans where project_id = ${project} and trace_seq = any (${own}::bigint[])`
    })
  )
  const spans = new Map<number, EndedSpan[]>()
  for (const { seq, ...span } of rows.flat()) {
    const known = spans.get(seq)
    if (known === undefined) spans.set(seq, [span])
    else known.push(span)
  }
  return spans
}
