/**
 * Decides in SQL which stored traces are runs (lib/trace/runs.ts). Writers decide for the traces that they write. This
 * file decides for traces written by versions of spoor that did not store this decision.
 */
import type { Sql } from 'postgres'
import { RUN_KINDS } from '../../trace/runs.ts'

export const RUN_KINDS_IN_SQL = RUN_KINDS.map(kind => `'${kind}'`).join(', ')

/** Returns SQL that is true if a row of traces reports a model call itself. */
export const statesCallInSql = (trace: string): string =>
  `(${trace}.model is not null or ${trace}.cost_usd is not null)`

/**
 * Returns SQL that is true if a row of traces is a run, as `isRun` decides. Spans are read only if the trace's own
 * fields do not decide. `exists` is not used, because PostgreSQL might then read the spans of all the project's traces
 * at once.
 */
const isRunInSql = (trace: string, projectId: number): string =>
  `(case when ${statesCallInSql(trace)} then true else coalesce((
      select true from spans s
      where s.project_id = ${projectId} and s.trace_seq = ${trace}.seq and s.kind in (${RUN_KINDS_IN_SQL}) limit 1
    ), false) end)`

/** Number of traces that one statement decides. */
const AT_ONCE = 500

export interface UndecidedProject {
  readonly projectId: number
  /** Traces with a seq below this number are not decided. */
  readonly below: number
}

/** Returns a project with traces from before migration 17 that are not decided; undefined if there is none. */
export async function findUndecidedRuns(sql: Sql): Promise<UndecidedProject | undefined> {
  const [row] = await sql<UndecidedProject[]>`
    select id as "projectId", runs_below as below from projects where runs_below is not null order by id limit 1`
  return row
}

/** Returns the seq below which the project's traces are undecided; undefined if all traces are decided. */
export async function readRunsBelow(sql: Sql, projectId: number): Promise<number | undefined> {
  const [row] = await sql<{ below: number | null }[]>`
    select runs_below as below from projects where id = ${projectId}`
  return row?.below ?? undefined
}

/**
 * Decides the newest undecided traces and records the progress. Returns the seq below which traces remain undecided;
 * undefined if none remain. If a trace changes while the statement runs, the next call decides these traces again,
 * because the statement may not see the spans that came with the change. The traces' versions do not change, because no
 * write depends on the stored bit.
 */
export async function decideRuns(
  sql: Sql,
  { projectId, below }: UndecidedProject,
  atOnce = AT_ONCE
): Promise<number | undefined> {
  const [row] = await sql<[{ next: number | null; missed: number }]>`
    with next as materialized (
      select seq, version, is_run, model, cost_usd from traces
      where project_id = ${projectId} and seq < ${below}::bigint order by seq desc limit ${atOnce}
    ), wrong as materialized (
      select seq, version, not is_run as decided from next
      where is_run <> ${sql.unsafe(isRunInSql('next', projectId))}
    ), changed as (
      update traces t set is_run = w.decided from wrong w
      where t.project_id = ${projectId} and t.seq = w.seq and t.version = w.version
      returning 1
    )
    select (select min(seq) from next) as next,
      (select count(*) from wrong) - (select count(*) from changed) as missed`
  if (row.missed > 0) return below
  await sql`
    update projects set runs_below = ${row.next}
    where id = ${projectId} and runs_below is not null and (${row.next}::bigint is null or runs_below > ${row.next})`
  return row.next ?? undefined
}
