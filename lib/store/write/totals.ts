/** Corrects project counters when statements change traces, and compares the counters with the stored traces. */
import { isDeepStrictEqual } from 'node:util'
import type { Sql } from 'postgres'
import { ADVISORY_LOCK } from '../../database/advisory-locks.ts'
import { writeAudit } from '../audit.ts'
import { inTransaction } from '../transactions.ts'

/**
 * Slot for all corrections, which are rare. The slot's counts may become negative, because only the sum of all slots is
 * meaningful.
 */
const SLOT = 0

/** Clause that ends every insert into project_totals as p. Adds the new counts to the stored counts. */
export const ADD_UP = `on conflict (project_id, slot) do update
    set traces = p.traces + excluded.traces, spans = p.spans + excluded.spans, bytes = p.bytes + excluded.bytes`

/**
 * Returns SQL for a step that adds the counts returned by the earlier step `rows`: at most one row with the columns
 * traces, spans and bytes. The earlier step must do nothing unless `hasTotals` holds, because a statement must not
 * combine an inserting step with other steps (test/fixtures/statements/lint.ts).
 */
export const addTotals = (project: string, rows: string) => `
  update project_totals p
  set traces = p.traces + added.traces, spans = p.spans + added.spans, bytes = p.bytes + added.bytes
  from (select traces, spans, bytes from ${rows}) added
  where p.project_id = ${project} and p.slot = ${SLOT}`

/** Returns SQL for whether the row for corrections exists. */
export const hasTotals = (project: string) => `exists (
  select from project_totals where project_id = ${project} and slot = ${SLOT})`

/**
 * Creates the row for corrections if it does not exist. If a statement with `hasTotals` has no effect, for any reason,
 * the caller must call this function and then send the statement again.
 */
export async function makeTotals(sql: Sql, projectId: number): Promise<void> {
  await sql`
    insert into project_totals (project_id, slot, traces, spans, bytes) values (${projectId}, ${SLOT}, 0, 0, 0)
    on conflict do nothing`
}

export interface Totals {
  readonly traces: number
  readonly spans: number
  readonly bytes: number
}

/** A project's totals, once summed from its rows and once read from its counters. */
export interface TotalsCheck {
  readonly rows: Totals
  readonly counters: Totals
}

interface Row extends Totals {
  readonly countedTraces: number
  readonly countedSpans: number
  readonly countedBytes: number
}

/**
 * Compares a project's counters with its traces and spans. With `repair`, adds the difference to the counters. Spans
 * are counted by their rows because the count in a trace's row may be wrong (lib/store/trace/span-counts.ts).
 *
 * The repair is exact even during concurrent writes. Every write changes rows and counters by the same amount in one
 * transaction, so the difference between rows and counters is the same in every snapshot. One statement reads rows and
 * counters from one snapshot, and adds the difference to each counter's latest value. Two concurrent repairs would add
 * the difference twice, so an advisory lock, taken before the snapshot, lets only one repair run at a time.
 */
export async function checkTotals(sql: Sql, projectId: number, repair: boolean): Promise<TotalsCheck> {
  if (repair) {
    await makeTotals(sql, projectId)
    await sql`select pg_advisory_lock(${ADVISORY_LOCK.totals}, ${projectId})`
  }
  try {
    return await inTransaction(sql, async () => {
      const check = await compareTotals(sql, projectId, repair)
      const isRepaired = repair && !isDeepStrictEqual(check.rows, check.counters)
      if (isRepaired) await writeAudit(sql, { by: null, action: 'project.recount', projectId })
      return check
    })
  } finally {
    if (repair) await sql`select pg_advisory_unlock(${ADVISORY_LOCK.totals}, ${projectId})`
  }
}

async function compareTotals(sql: Sql, projectId: number, repair: boolean): Promise<TotalsCheck> {
  const [row] = await sql<[Row]>`
    with counted as materialized (
      select coalesce(sum(traces), 0)::bigint as traces, coalesce(sum(spans), 0)::bigint as spans,
        coalesce(sum(bytes), 0)::bigint as bytes
      from project_totals where project_id = ${projectId}
    ), found as materialized (
      select count(*) as traces, (select count(*) from spans where project_id = ${projectId}) as spans,
        coalesce(sum(estimated_bytes), 0)::bigint as bytes
      from traces where project_id = ${projectId}
    ), distance as (
      select f.traces - c.traces as traces, f.spans - c.spans as spans, f.bytes - c.bytes as bytes
      from found f, counted c
      where ${repair} and (f.traces, f.spans, f.bytes) <> (c.traces, c.spans, c.bytes)
    ), repaired as (${sql.unsafe(addTotals(String(projectId), 'distance'))})
    select f.traces, f.spans, f.bytes, c.traces as "countedTraces", c.spans as "countedSpans", c.bytes as "countedBytes"
    from found f, counted c`
  const { traces, spans, bytes, countedTraces, countedSpans, countedBytes } = row
  return {
    rows: { traces, spans, bytes },
    counters: { traces: countedTraces, spans: countedSpans, bytes: countedBytes }
  }
}
