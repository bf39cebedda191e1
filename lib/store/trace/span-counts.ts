/**
 * Compares traces' span counts, error counts and classification as runs with the rows of their spans, and corrects
 * wrong values. The error count includes failed spans that were left out of the trace, if the trace remembers such
 * spans (lib/trace/states/left-out.ts).
 */
import type { Sql } from 'postgres'
import { countFailed, readLeftOut } from '../../trace/states/left-out.ts'
import { readRanks } from '../../trace/states/ranks.ts'
import { writeAudit } from '../audit.ts'
import { noteChanges } from '../changes/news.ts'
import { inTransaction } from '../transactions.ts'
import { freshVersion } from '../write/trace-numbers.ts'
import { RUN_KINDS_IN_SQL, statesCallInSql } from './runs.ts'

/** A trace whose counts or classification as a run disagree with its spans. */
export interface WrongTrace {
  readonly seq: number
  readonly id: string
  readonly version: number
  /** The correct values of the trace's counts and classification. */
  readonly spans: number
  readonly errors: number
  readonly isRun: boolean
}

export interface CheckedTraces {
  readonly wrong: readonly WrongTrace[]
  /** Internal number of the last trace examined; undefined if no traces are left. */
  readonly last: number | undefined
}

interface Row extends WrongTrace {
  readonly spanCount: number
  readonly errorCount: number
  /** Whether the stored classification as a run is wrong. */
  readonly isMisplaced: boolean
  /**
   * The trace's ranks as a JSON string, and the ids of its stored spans; null unless the trace remembers spans that
   * were left out.
   */
  readonly ranks: string | null
  readonly ids: string[] | null
}

/**
 * Limits on the number of traces checked by one statement, and on the number of their spans. The limits bound memory
 * use, because a trace's ranks can, in rare cases, reach a megabyte, and the ids of all of a trace's spans are read if
 * the trace remembers spans that were left out.
 */
const AT_ONCE = { traces: 500, spans: 100_000 }

/**
 * Checks the next traces with internal numbers above `after`, in order. It is not yet decided which traces with numbers
 * below `runsBelow` are runs.
 */
export async function checkSpanCounts(
  sql: Sql,
  projectId: number,
  after: number,
  runsBelow = 0
): Promise<CheckedTraces> {
  const rows = await sql<(Row & { readonly last: number })[]>`
    with looked as materialized (
      select * from (
        select *, sum(span_count) over (order by seq) - span_count as spans_before from (
          select seq, id, version, span_count, error_count, ranks::text like '%"leftOut.%' as remembers,
            is_run, ${sql.unsafe(statesCallInSql('traces'))} as states_call
          from traces where project_id = ${projectId} and seq > ${after} order by seq limit ${AT_ONCE.traces}
        ) next
      ) summed where spans_before < ${AT_ONCE.spans}
    ), counted as materialized (
      select l.*, c.spans, c.errors, l.states_call or c.runs as now_run from looked l cross join lateral (
        select count(*)::int as spans, (count(*) filter (where s.status = 'error'))::int as errors,
          (count(*) filter (where s.kind in (${sql.unsafe(RUN_KINDS_IN_SQL)}))) > 0 as runs
        from spans s where s.project_id = ${projectId} and s.trace_seq = l.seq
      ) c
    ), compared as (
      select *, is_run <> now_run and seq >= ${runsBelow}::bigint as misplaced from counted
    ), suspect as (
      select * from compared where remembers or misplaced or (span_count, error_count) <> (spans, errors)
    )
    select s.seq, replace(s.id::text, '-', '') as id, s.version, s.span_count as "spanCount", s.error_count as "errorCount",
      s.spans, s.errors, s.now_run as "isRun", s.misplaced as "isMisplaced", (select max(seq) from looked) as last,
      case when s.remembers then (select t.ranks from traces t where t.project_id = ${projectId} and t.seq = s.seq) end as ranks,
      case when s.remembers then
        array(select encode(p.id, 'hex') from spans p where p.project_id = ${projectId} and p.trace_seq = s.seq)
      end as ids
    from (select 1) always left join suspect s on true`
  const wrong = rows.flatMap(({ last: _, spanCount, errorCount, isMisplaced, ranks, ids, ...row }) => {
    // This row only reports the last trace examined.
    if (row.seq === null) return []
    const errors = row.errors + failedLeftOut(ranks, ids)
    return spanCount === row.spans && errorCount === errors && !isMisplaced ? [] : [{ ...row, errors }]
  })
  return { wrong, last: rows[0]?.last ?? undefined }
}

function failedLeftOut(ranks: string | null, ids: readonly string[] | null): number {
  if (ranks === null) return 0
  return countFailed(readLeftOut(readRanks(ranks), new Set(ids)))
}

/**
 * Corrects these traces, and returns the number of corrected traces. Skips traces that have changed since the
 * check. Each corrected trace gets a new version, so that concurrent writes based on the wrong counts are decided
 * again.
 */
export function mendSpanCounts(sql: Sql, projectId: number, wrong: readonly WrongTrace[]): Promise<number> {
  const column = (of: (trace: WrongTrace) => number) => wrong.map(of)
  return inTransaction(sql, async () => {
    const changed = await sql<{ seq: number }[]>`
      update traces t set span_count = w.spans, error_count = w.errors, is_run = w.runs > 0, version = w.fresh
      from unnest(${column(({ seq }) => seq)}::bigint[], ${column(({ version }) => version)}::bigint[],
        ${column(freshVersion)}::bigint[], ${column(({ spans }) => spans)}::int[],
        ${column(({ errors }) => errors)}::int[], ${column(({ isRun }) => Number(isRun))}::int[])
        as w (seq, version, fresh, spans, errors, runs)
      where t.project_id = ${projectId} and t.seq = w.seq and t.version = w.version
      returning t.seq`
    const count = changed.length
    await noteChanges(
      sql,
      projectId,
      changed.map(({ seq }) => seq)
    )
    if (count > 0) await writeAudit(sql, { by: null, action: 'project.recount', projectId, detail: { traces: count } })
    return count
  })
}
