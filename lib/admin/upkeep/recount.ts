/** Implements `spoor project recount`. */
import type { Sql } from 'postgres'
import { countOneDay, findWrongDays, recountDay } from '../../store/analytics/rollups/recount.ts'
import { decideRuns, readRunsBelow } from '../../store/trace/runs.ts'
import { checkSpanCounts, mendSpanCounts } from '../../store/trace/span-counts.ts'
import { checkTotals, type Totals } from '../../store/write/totals.ts'
import { requireProject } from '../projects.ts'
import { retried } from '../retried.ts'

export interface Recount {
  readonly project: string
  /** Totals computed from the rows of the project's traces and spans. */
  readonly rows: Totals
  /** The counters before any repair. */
  readonly counters: Totals
  /** Days (UTC) whose rollups did not match the day's traces. */
  readonly wrongDays: readonly string[]
  /**
   * Number of traces whose stored span count, error count or classification as a run was wrong, and the ids of some of
   * these traces.
   */
  readonly wrongTraces: { readonly count: number; readonly ids: readonly string[] }
  /** Whether all checked values were correct. */
  readonly agree: boolean
  /** Whether wrong values were repaired. */
  readonly applied: boolean
}

/** Maximum number of wrong traces that the report names. */
const NAMED = 10
/** Maximum number of checks of a trace that keeps changing before it can be repaired. */
const LOOKS = 5

/**
 * Checks a project's totals, its rollups, its traces' span counts, and its traces' classification as runs against the
 * stored rows. With `apply`, repairs wrong values, counts any uncounted days from before migration 6, and decides which
 * traces from before migration 17 are runs. Other writes may continue during the recount.
 */
export async function recountProject(sql: Sql, project: string, apply: boolean): Promise<Recount> {
  const projectId = await requireProject(sql, project)
  const { rows, counters } = await checkTotals(sql, projectId, apply)
  while (apply && (await retried(() => countOneDay(sql, projectId)))) {}
  const wrongDays = await findWrongDays(sql, projectId)
  if (apply) for (const day of wrongDays) await retried(() => recountDay(sql, projectId, day))
  if (apply) await decideAllRuns(sql, projectId)
  const wrongTraces = await checkTraces(sql, projectId, apply)
  const agree = areSumsRight({ rows, counters, wrongDays }) && wrongTraces.count === 0
  return { project, rows, counters, wrongDays, wrongTraces, agree, applied: apply && !agree }
}

/** Returns whether the totals and the rollups were correct. */
export const areSumsRight = ({
  rows,
  counters,
  wrongDays
}: Pick<Recount, 'rows' | 'counters' | 'wrongDays'>): boolean =>
  rows.traces === counters.traces &&
  rows.spans === counters.spans &&
  rows.bytes === counters.bytes &&
  wrongDays.length === 0

async function decideAllRuns(sql: Sql, projectId: number): Promise<void> {
  for (let below = await readRunsBelow(sql, projectId); below !== undefined; ) {
    const project = { projectId, below }
    below = await retried(() => decideRuns(sql, project))
  }
}

async function checkTraces(sql: Sql, projectId: number, apply: boolean): Promise<Recount['wrongTraces']> {
  const runsBelow = await readRunsBelow(sql, projectId)
  const ids = new Set<string>()
  let after: number | undefined = Number.MIN_SAFE_INTEGER
  while (after !== undefined) {
    const from: number = after
    for (let look = 1; look <= LOOKS; look++) {
      const { wrong, last } = await checkSpanCounts(sql, projectId, from, runsBelow)
      after = last
      for (const { id } of wrong) ids.add(id)
      if (!apply || wrong.length === 0) break
      if ((await retried(() => mendSpanCounts(sql, projectId, wrong))) === wrong.length) break
    }
  }
  return { count: ids.size, ids: [...ids].slice(0, NAMED) }
}
