/** Implements `spoor environment backfill`, which sets the environment of stored traces. */
import type { Sql } from 'postgres'
import { AdminError } from '../../admin-error.ts'
import { amendAudit, writeAudit } from '../../store/audit.ts'
import {
  countEnvironments,
  type Relabelling,
  relabelTraces,
  type TraceSelection
} from '../../store/projects/environments.ts'
import { readKey } from '../../store/projects/keys.ts'
import { parseEnvironment, UNASSIGNED } from '../../trace/environment.ts'
import { requireProject } from '../projects.ts'
import { type BatchOptions, retried } from '../retried.ts'
import { quoteKeyId } from '../text.ts'

export interface BackfillRequest extends TraceSelection {
  readonly project: string
  /** An environment label in any letter case, or `unassigned`. */
  readonly environment: string
  /** Whether to also change traces that have an environment or are unassigned. */
  readonly overwrite: boolean
}

export interface BackfillPlan {
  readonly projectId: number
  readonly selection: TraceSelection
  readonly relabelling: Relabelling
  /** Number of selected traces, and the number whose environment would change. */
  readonly matched: number
  readonly changing: number
  /**
   * Number of selected traces per environment. `environment` is null for traces whose environment was never recorded.
   */
  readonly environments: readonly { readonly environment: string | null; readonly traces: number }[]
  /** The highest `seq` to change. Traces stored after the plan was made stay unchanged. */
  readonly upToSeq: number
}

/**
 * Maximum number of traces in a batch. A batch takes a few milliseconds, during which its traces can be read but not
 * changed.
 */
const BATCH_TRACES = 500

/** Counts the changes without making them. */
export async function planBackfill(sql: Sql, request: BackfillRequest): Promise<BackfillPlan> {
  const { project, environment, overwrite, ...selection } = request
  const label = environment.toLowerCase() === UNASSIGNED ? UNASSIGNED : parseEnvironment(environment)
  const projectId = await requireProject(sql, project)
  const environments = await countEnvironments(sql, projectId, selection)
  if (environments.length === 0) await requireKey(sql, projectId, project, selection.keyId)
  const changing = environments.filter(each => each.environment === null || (overwrite && each.environment !== label))
  return {
    projectId,
    selection,
    relabelling: { environment: label, overwrite },
    matched: sum(environments),
    changing: sum(changing),
    environments,
    upToSeq: Math.max(0, ...changing.map(each => each.lastSeq))
  }
}

/**
 * Applies a plan in batches. Finished batches stay committed, so a new plan after an interruption covers the rest. The
 * result may differ from the plan because of concurrent writes. In the result, `matched` is never less than `changed`,
 * because selected traces up to `upToSeq` are counted when their batch is processed, and later traces at the end.
 */
export async function applyBackfill(sql: Sql, plan: BackfillPlan, options: BatchOptions<number> = {}) {
  const { projectId, selection, relabelling, upToSeq } = plan
  if (plan.changing === 0) return { matched: sum(await countEnvironments(sql, projectId, selection)), changed: 0 }
  const detail = { ...selection, ...relabelling, planned: plan.changing, traces: 0 }
  const auditId = await writeAudit(sql, { by: null, action: 'environment.backfill', projectId, detail })
  let matched = 0
  let changed = 0
  let afterSeq = 0
  for (;;) {
    if (options.signal?.aborted) {
      throw new AdminError(
        `interrupted: ${changed} of ${plan.changing} traces changed; run the command again to continue`
      )
    }
    const range = { afterSeq, upToSeq, limit: BATCH_TRACES }
    const batch = await retried(() =>
      relabelTraces(sql, projectId, selection, relabelling, range, more =>
        amendAudit(sql, auditId, { traces: changed + more })
      )
    )
    if (batch.lastSeq === null) break
    matched += batch.matched
    changed += batch.changed
    options.onProgress?.(changed)
    afterSeq = batch.lastSeq
  }
  return { matched: matched + sum(await countEnvironments(sql, projectId, selection, upToSeq)), changed }
}

/**
 * Throws unless the key belongs to the project or is recorded in the project's traces. Imported traces may refer to
 * keys of other databases.
 */
async function requireKey(sql: Sql, projectId: number, project: string, keyId: string | undefined): Promise<void> {
  if (keyId === undefined || (await readKey(sql, keyId))?.projectId === projectId) return
  if ((await countEnvironments(sql, projectId, { keyId })).length > 0) return
  const advice = `see \`spoor key list --project ${project}\``
  throw new AdminError(
    `project ${project} has no key ${quoteKeyId(keyId)}, and no traces were recorded with it: ${advice}`
  )
}

function sum(counts: readonly { readonly traces: number }[]): number {
  return counts.reduce((total, { traces }) => total + traces, 0)
}
