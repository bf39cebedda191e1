/** Implements `spoor retention`: how long projects keep their traces. Only `retention run` deletes traces. */
import type { Sql } from 'postgres'
import { InputError } from '../admin-error.ts'
import { writeAudit } from '../store/audit.ts'
import { readProjects } from '../store/projects/projects.ts'
import { expiredAt, parseRetention, type Retention, writeRetention } from '../store/projects/retention.ts'
import { countSelected } from '../store/trace/pruning.ts'
import type { TraceConditions } from '../store/trace/trace-conditions.ts'
import type { Totals } from '../store/write/totals.ts'
import { requireProject } from './projects.ts'
import { checkText } from './text.ts'
import { type Pruned, type PruneOptions, pruneAll } from './upkeep/pruning.ts'

export interface DescribedRetention extends Retention {
  readonly project: string
}

/** Maximum number of tags that keep a trace, and maximum age in days. */
const MOST = { tags: 20, days: 36_500 }

export async function setRetention(sql: Sql, project: string, retention: Retention): Promise<DescribedRetention> {
  const { days, keepsScored, keepsTags } = retention
  if (!Number.isInteger(days) || days < 1 || days > MOST.days) {
    throw new InputError(`the age must be from 1d to ${MOST.days}d, in whole days, not ${days} days`)
  }
  if (keepsTags.length > MOST.tags) throw new InputError(`--keep-tag can be repeated at most ${MOST.tags} times`)
  const tags = [...new Set(keepsTags.map(tag => checkText('the tag', tag, 1, 200)))]
  const own = { days, keepsScored, keepsTags: tags }
  const projectId = await requireProject(sql, project)
  await writeRetention(sql, projectId, own, { by: null, action: 'retention.set', projectId, detail: own })
  return { project, ...own }
}

/** Removes the retention period, so that traces are kept without limit. Returns whether there was one. */
export async function unsetRetention(sql: Sql, project: string): Promise<boolean> {
  const projectId = await requireProject(sql, project)
  return writeRetention(sql, projectId, null, { by: null, action: 'retention.unset', projectId })
}

export async function listRetentions(sql: Sql): Promise<DescribedRetention[]> {
  return (await withRetention(sql)).map(({ slug, retention }) => ({ project: slug, ...retention }))
}

async function withRetention(sql: Sql) {
  return (await readProjects(sql)).flatMap(({ id, slug, retention }) => {
    const own = parseRetention(retention)
    return own === null ? [] : [{ id, slug, retention: own }]
  })
}

export interface ExpiryPlan extends DescribedRetention, Totals {
  readonly projectId: number
  readonly selection: TraceConditions
}

/** Counts the traces that projects no longer keep. With `project`, plans only for that project. */
export async function planRetention(sql: Sql, project?: string, now = Date.now()): Promise<ExpiryPlan[]> {
  if (project !== undefined) await requireProject(sql, project)
  const chosen = (await withRetention(sql)).filter(({ slug }) => project === undefined || slug === project)
  if (project !== undefined && chosen.length === 0) {
    throw new InputError(
      `project ${project} has no retention period: set one with \`spoor retention set ${project} 90d\``
    )
  }
  const plans: ExpiryPlan[] = []
  for (const { id, slug, retention } of chosen) {
    const selection = expiredAt(retention, now)
    plans.push({
      project: slug,
      projectId: id,
      ...retention,
      selection,
      ...(await countSelected(sql, id, selection))
    })
  }
  return plans
}

/**
 * Deletes a project's expired traces in batches, like `trace delete`. The audit entry records the number of planned
 * traces and, after each batch, the number of deleted traces. A run that finds no expired traces leaves no entry.
 */
export async function applyExpiry(sql: Sql, plan: ExpiryPlan, options: PruneOptions = {}): Promise<Pruned> {
  const { projectId, selection, days, traces: planned } = plan
  if (planned === 0) return { traces: 0, spans: 0, storedBytes: 0, kept: 0 }
  const detail = { ...selection, retentionDays: days, planned, traces: 0 }
  const auditId = await writeAudit(sql, { by: null, action: 'trace.prune', projectId, detail })
  return pruneAll(sql, projectId, selection, { ...options, auditId })
}
