/** The work of `spoor project recount`. */
import type { Sql } from 'postgres'
import { countOneDay, findWrongDays, recountDay } from '../../store/analytics/rollups/recount.ts'
import { checkTotals, type Totals } from '../../store/write/totals.ts'
import { requireProject } from '../projects.ts'
import { retried } from '../retried.ts'

export interface Recount {
  readonly project: string
  /** The sums over the stored traces of the project. */
  readonly rows: Totals
  /** The counters as they were. */
  readonly counters: Totals
  /** The days (UTC) whose sums over time were not those of the traces. */
  readonly wrongDays: readonly string[]
  /** Whether all was right. */
  readonly agree: boolean
  /** Whether what was not right was repaired. */
  readonly applied: boolean
}

/**
 * Compares a project's totals, and its sums over time, with its traces. With `apply`, repairs them, and counts the days of
 * before migration 6 that are not counted yet; others may write to the project meanwhile.
 */
export async function recountProject(sql: Sql, project: string, apply: boolean): Promise<Recount> {
  const projectId = await requireProject(sql, project)
  const { rows, counters } = await checkTotals(sql, projectId, apply)
  while (apply && (await retried(() => countOneDay(sql, projectId)))) {}
  const wrongDays = await findWrongDays(sql, projectId)
  if (apply) for (const day of wrongDays) await retried(() => recountDay(sql, projectId, day))
  const areTotals = rows.traces === counters.traces && rows.spans === counters.spans && rows.bytes === counters.bytes
  const agree = areTotals && wrongDays.length === 0
  return { project, rows, counters, wrongDays, agree, applied: apply && !agree }
}
