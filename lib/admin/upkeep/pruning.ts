/** Implements `spoor trace delete`, which deletes a project's matching traces in batches. */
import type { Sql } from 'postgres'
import { AdminError, InputError } from '../../admin-error.ts'
import type { ExportPlace } from '../../store/answers/export-page.ts'
import { amendAudit, writeAudit } from '../../store/audit.ts'
import { countSelected, pruneBatch } from '../../store/trace/pruning.ts'
import type { TraceConditions } from '../../store/trace/trace-conditions.ts'
import type { Totals } from '../../store/write/totals.ts'
import { requireProject } from '../projects.ts'
import { type BatchOptions, retried } from '../retried.ts'

export interface PruneRequest extends TraceConditions {
  readonly project: string
}

export interface PrunePlan extends Totals {
  readonly projectId: number
  readonly selection: TraceConditions
}

export interface Pruned {
  readonly traces: number
  readonly spans: number
  /** Approximate size of the deleted rows on disk, in bytes. New traces can reuse that space. */
  readonly storedBytes: number
  /** Traces that were not deleted because they kept changing. */
  readonly kept: number
}

export type PruneOptions = BatchOptions<Pruned>

/**
 * Maximum size of a batch. A batch takes a few tenths of a second, during which its traces can be read but not changed.
 */
const BATCH = { traces: 1000, spans: 10_000 }
/** Maximum number of attempts to delete a batch whose traces keep changing. */
const BATCH_PASSES = 5
/** Approximate size of a row on disk in bytes, including index entries but excluding strings. */
const TRACE_BYTES = 800
const SPAN_BYTES = 200

/** Counts the rows to delete, but deletes nothing. */
export async function planPruning(sql: Sql, request: PruneRequest): Promise<PrunePlan> {
  const { project, ...selection } = request
  if (Object.values(selection).every(value => value === undefined)) {
    throw new InputError('at least one condition is required, such as --before 90d')
  }
  const projectId = await requireProject(sql, project)
  return { projectId, selection, ...(await countSelected(sql, projectId, selection)) }
}

/**
 * Deletes all matching traces in batches, including traces that matched only after the plan was made. Finished batches
 * stay committed with exact totals, so running the command again after an interruption deletes the rest. The audit
 * entry records the number of planned traces and, after each batch, the number of deleted traces.
 */
export async function applyPruning(sql: Sql, plan: PrunePlan, options: PruneOptions = {}): Promise<Pruned> {
  const { projectId, selection, traces: planned } = plan
  if (planned === 0) return NOTHING
  const detail = { ...selection, planned, traces: 0 }
  const auditId = await writeAudit(sql, { by: null, action: 'trace.prune', projectId, detail })
  return pruneAll(sql, projectId, selection, { ...options, auditId })
}

const NOTHING: Pruned = { traces: 0, spans: 0, storedBytes: 0, kept: 0 }

/**
 * Deletes matching traces without a plan. The audit entry `auditId` records the number of deleted traces plus `before`.
 */
export async function pruneAll(
  sql: Sql,
  projectId: number,
  selection: TraceConditions,
  {
    onProgress,
    signal,
    auditId,
    before = 0
  }: PruneOptions & { readonly auditId?: number | undefined; before?: number } = {}
): Promise<Pruned> {
  let pruned = NOTHING
  let after: ExportPlace | null = null
  let pass = 1
  for (;;) {
    if (signal?.aborted) {
      throw new AdminError(`interrupted: ${pruned.traces} traces deleted; run the command again to continue`)
    }
    const { traces } = pruned
    const note = async (deleted: number) => {
      if (auditId !== undefined) await amendAudit(sql, auditId, { traces: before + traces + deleted })
    }
    const batch = await retried(() => pruneBatch(sql, projectId, selection, after, BATCH, note))
    const left = batch.selected - batch.deleted
    const again = left > 0 && pass < BATCH_PASSES
    pruned = {
      traces: pruned.traces + batch.deleted,
      spans: pruned.spans + batch.spans,
      storedBytes: pruned.storedBytes + batch.storedBytes + batch.deleted * TRACE_BYTES + batch.spans * SPAN_BYTES,
      kept: pruned.kept + (again ? 0 : left)
    }
    onProgress?.(pruned)
    pass = again ? pass + 1 : 1
    if (again) continue
    if (batch.last === null) return pruned
    after = batch.last
  }
}
