/** The work of `spoor project recount`. */
import type { Sql } from 'postgres'
import { countOneDay, findWrongDays, recountDay } from '../../store/analytics/rollups/recount.ts'
import { checkSpanCounts, mendSpanCounts } from '../../store/trace/span-counts.ts'
import { checkTotals, type Totals } from '../../store/write/totals.ts'
import { requireProject } from '../projects.ts'
import { retried } from '../retried.ts'

export interface Recount {
  readonly project: string
  /** The sums over the rows of the project's traces and spans. */
  readonly rows: Totals
  /** The counters as they were. */
  readonly counters: Totals
  /** The days (UTC) whose sums over time differed from their traces. */
  readonly wrongDays: readonly string[]
  /** The number of traces whose counts of spans or errors differed from their spans, and the ids of some of them. */
  readonly wrongTraces: { readonly count: number; readonly ids: readonly string[] }
  /** Whether all was right. */
  readonly agree: boolean
  /** Whether what was not right was repaired. */
  readonly applied: boolean
}

/** The report names at most this many wrong traces. */
const NAMED = 10
/** A trace that changes between the look and the repair is looked at again, so often at most. */
const LOOKS = 5

/**
 * Compares a project's totals, its sums over time, and the numbers of spans in its traces with the rows. With `apply`,
 * repairs them, and counts the days from before migration 6 that are not counted yet; others may write to the project
 * meanwhile.
 */
export async function recountProject(sql: Sql, project: string, apply: boolean): Promise<Recount> {
  const projectId = await requireProject(sql, project)
  const { rows, counters } = await checkTotals(sql, projectId, apply)
  while (apply && (await retried(() => countOneDay(sql, projectId)))) {}
  const wrongDays = await findWrongDays(sql, projectId)
  if (apply) for (const day of wrongDays) await retried(() => recountDay(sql, projectId, day))
  const wrongTraces = await checkTraces(sql, projectId, apply)
  const agree = areSumsRight({ rows, counters, wrongDays }) && wrongTraces.count === 0
  return { project, rows, counters, wrongDays, wrongTraces, agree, applied: apply && !agree }
}

/** Whether the totals and the sums over time were right. */
export const areSumsRight = ({
  rows,
  counters,
  wrongDays
}: Pick<Recount, 'rows' | 'counters' | 'wrongDays'>): boolean =>
  rows.traces === counters.traces &&
  rows.spans === counters.spans &&
  rows.bytes === counters.bytes &&
  wrongDays.length === 0

async function checkTraces(sql: Sql, projectId: number, apply: boolean): Promise<Recount['wrongTraces']> {
  const ids = new Set<string>()
  let after: number | undefined = Number.MIN_SAFE_INTEGER
  while (after !== undefined) {
    const from: number = after
    for (let look = 1; look <= LOOKS; look++) {
      const { wrong, last } = await checkSpanCounts(sql, projectId, from)
      after = last
      for (const { id } of wrong) ids.add(id)
      if (!apply || wrong.length === 0) break
      if ((await retried(() => mendSpanCounts(sql, projectId, wrong))) === wrong.length) break
    }
  }
  return { count: ids.size, ids: [...ids].slice(0, NAMED) }
}
