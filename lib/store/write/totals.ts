/** A project's counters, corrected in the very statement that changes what they count; and counted anew. */
import type { Sql } from 'postgres'

/** Corrections are rare, so all go to one slot, which may well be negative: only the sum means something. */
const SLOT = 0

/** The end of every insert into project_totals as p: what is counted is added to what was counted before. */
export const ADD_UP = `on conflict (project_id, slot) do update
    set traces = p.traces + excluded.traces, spans = p.spans + excluded.spans, bytes = p.bytes + excluded.bytes`

/** The step of a statement that adds up `rows` (traces, spans, bytes), the name of an earlier step. */
export function addTotals(sql: Sql, projectId: number, rows: ReturnType<Sql>) {
  return sql`
    insert into project_totals as p (project_id, slot, traces, spans, bytes)
    select ${projectId}, ${SLOT}, traces, spans, bytes from ${rows}
    ${sql.unsafe(ADD_UP)}`
}

export interface Totals {
  readonly traces: number
  readonly spans: number
  readonly bytes: number
}

/** A project's totals, as its traces make them and as the counters have them. */
export interface TotalsCheck {
  readonly rows: Totals
  readonly counters: Totals
}

interface Row {
  readonly traces: number
  readonly spans: number
  readonly bytes: number
  readonly countedTraces: number
  readonly countedSpans: number
  readonly countedBytes: number
}

/**
 * Compares a project's counters with its traces, and with `repair` adds the difference to them.
 *
 * That is exact while others write. Whatever changes traces changes the counters in the same statement, by the same
 * amount, so in every snapshot the two are the same distance apart; only something that went around the service can have
 * moved them. The one statement here reads both from one snapshot, and adds that distance, which no writer in between can
 * have changed, to whatever the counter is by then. Two repairs at once would add it twice: the advisory lock, taken
 * before the snapshot, puts them in line.
 */
export async function checkTotals(sql: Sql, projectId: number, repair: boolean): Promise<TotalsCheck> {
  if (repair) await sql`select pg_advisory_lock(${REPAIR_LOCK}, ${projectId})`
  try {
    const [row] = await sql<[Row]>`
      with counted as materialized (
        select coalesce(sum(traces), 0)::bigint as traces, coalesce(sum(spans), 0)::bigint as spans,
          coalesce(sum(bytes), 0)::bigint as bytes
        from project_totals where project_id = ${projectId}
      ), found as materialized (
        select count(*) as traces, coalesce(sum(span_count), 0)::bigint as spans,
          coalesce(sum(estimated_bytes), 0)::bigint as bytes
        from traces where project_id = ${projectId}
      ), distance as (
        select f.traces - c.traces as traces, f.spans - c.spans as spans, f.bytes - c.bytes as bytes
        from found f, counted c
        where ${repair} and (f.traces, f.spans, f.bytes) <> (c.traces, c.spans, c.bytes)
      ), repaired as (${addTotals(sql, projectId, sql`distance`)})
      select f.traces, f.spans, f.bytes, c.traces as "countedTraces", c.spans as "countedSpans", c.bytes as "countedBytes"
      from found f, counted c`
    const { traces, spans, bytes, countedTraces, countedSpans, countedBytes } = row
    return {
      rows: { traces, spans, bytes },
      counters: { traces: countedTraces, spans: countedSpans, bytes: countedBytes }
    }
  } finally {
    if (repair) await sql`select pg_advisory_unlock(${REPAIR_LOCK}, ${projectId})`
  }
}

/** The first of the two keys of the advisory lock: any number that nothing else uses. */
const REPAIR_LOCK = 0x726563
