/** The work of `spoor project recount`. */
import type { Sql } from 'postgres'
import { checkTotals, type Totals } from '../store/write/totals.ts'
import { requireProject } from './projects.ts'

export interface Recount {
  readonly project: string
  /** What the traces of the project add up to. */
  readonly rows: Totals
  /** What the counters said. */
  readonly counters: Totals
  /** The two are the same. */
  readonly agree: boolean
  /** The counters were repaired. */
  readonly applied: boolean
}

/** Compares a project's totals with its traces; with `apply`, repairs them while the project is written to. */
export async function recountProject(sql: Sql, project: string, apply: boolean): Promise<Recount> {
  const projectId = await requireProject(sql, project)
  const { rows, counters } = await checkTotals(sql, projectId, apply)
  const agree = rows.traces === counters.traces && rows.spans === counters.spans && rows.bytes === counters.bytes
  return { project, rows, counters, agree, applied: apply && !agree }
}
