/** A project's counters, corrected in the very statement that changes what they count. */
import type { Sql } from 'postgres'

/** Corrections are rare, so all go to one slot, which may well be negative: only the sum means something. */
const SLOT = 0

/** The step of a statement that adds up `rows` (traces, spans, bytes), the name of an earlier step. */
export function addTotals(sql: Sql, projectId: number, rows: ReturnType<Sql>) {
  return sql`
    insert into project_totals as p (project_id, slot, traces, spans, bytes)
    select ${projectId}, ${SLOT}, traces, spans, bytes from ${rows}
    on conflict (project_id, slot) do update
    set traces = p.traces + excluded.traces, spans = p.spans + excluded.spans, bytes = p.bytes + excluded.bytes`
}
