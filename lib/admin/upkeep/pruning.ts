/** The work of `spoor trace delete`: deletes the traces of a project that meet conditions, batch by batch. */
import type { Sql } from 'postgres'
import { AdminError, InputError } from '../../admin-error.ts'
import { amendAudit, writeAudit } from '../../store/audit.ts'
import { countSelected, type PrunePlace, pruneBatch, type SelectedTotals } from '../../store/trace/pruning.ts'
import type { TraceConditions } from '../../store/trace/trace-conditions.ts'
import { parseEnvironment, UNASSIGNED } from '../../trace/environment.ts'
import { requireProject } from '../projects.ts'
import { retried } from '../retried.ts'

export interface PruneRequest extends TraceConditions {
  readonly project: string
}

/** The rows that a deletion would remove. */
export interface PrunePlan extends SelectedTotals {
  readonly projectId: number
  readonly selection: TraceConditions
}

export interface Pruned {
  readonly traces: number
  readonly spans: number
  /** The approximate size of the deleted rows on disk. New traces can use that space. */
  readonly storedBytes: number
  /** Traces that were changed again and again while they were to be deleted. They are still there. */
  readonly kept: number
}

export interface PruneOptions {
  /** Called after every batch. */
  readonly onProgress?: (pruned: Pruned) => void
  /** Aborts after the batch under way. */
  readonly signal?: AbortSignal
}

/** A batch takes some tenths of a second, in which others can read its traces but not change them. */
const BATCH = { traces: 1000, spans: 10_000 }
/** How often a batch is tried in which traces are just being changed. */
const BATCH_PASSES = 5
/** The size of a row on disk besides its texts, with its entries in indexes. */
const TRACE_BYTES = 800
const SPAN_BYTES = 200

/** Counts what is to be deleted, and changes nothing. */
export async function planPruning(sql: Sql, request: PruneRequest): Promise<PrunePlan> {
  const { project, environment, ...rest } = request
  if ([environment, ...Object.values(rest)].every(value => value === undefined)) {
    throw new InputError('name at least one condition, such as --before 90d')
  }
  const label = environment?.toLowerCase() === UNASSIGNED ? UNASSIGNED : environment && parseEnvironment(environment)
  const selection = { ...rest, environment: label }
  const projectId = await requireProject(sql, project)
  return { projectId, selection, ...(await countSelected(sql, projectId, selection)) }
}

/**
 * Deletes what was planned, and what fits by now, batch by batch. What is done stays done, with exact totals; after an
 * interruption the same command does the rest. The audit entry that is written down says how many traces were planned,
 * and with each batch how many are deleted.
 */
export async function applyPruning(sql: Sql, plan: PrunePlan, options: PruneOptions = {}): Promise<Pruned> {
  const { projectId, selection, traces: planned } = plan
  if (planned === 0) return NOTHING
  const detail = { ...selection, planned, traces: 0 }
  const auditId = await writeAudit(sql, { by: null, action: 'trace.prune', projectId, detail })
  return pruneAll(sql, projectId, selection, { ...options, auditId })
}

const NOTHING: Pruned = { traces: 0, spans: 0, storedBytes: 0, kept: 0 }

/** The same without a plan. `auditId` names the audit entry that counts the deleted traces, to which `before` are
 * added. */
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
  let after: PrunePlace | null = null
  let pass = 1
  for (;;) {
    if (signal?.aborted) {
      throw new AdminError(`interrupted: ${pruned.traces} traces are deleted; run it again to go on`)
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
