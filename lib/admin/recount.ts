/** The work of `spoor project recount`. */
import type { Sql } from 'postgres'
import { checkTotals, type Totals } from '../store/write/totals.ts'
import { requireProject } from './projects.ts'

export interface Recount {
  readonly project: string
  /** The sums over the stored traces of the project. */
  readonly rows: Totals
  /** The counters as they were. */
  readonly counters: Totals
  /** Whether the two are the same. */
  readonly agree: boolean
  /** Whether the counters were repaired. */
  readonly applied: boolean
}

/**
 * Compares a project's totals with its traces. With `apply`, repairs them; others may write to the project meanwhile.
 */
export async function recountProject(sql: Sql, project: string, apply: boolean): Promise<Recount> {
  const projectId = await requireProject(sql, project)
  const { rows, counters } = await checkTotals(sql, projectId, apply)
  const agree = rows.traces === counters.traces && rows.spans === counters.spans && rows.bytes === counters.bytes
  return { project, rows, counters, agree, applied: apply && !agree }
}
