/** Implements `spoor project delete`. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { writeAudit } from '../../store/audit.ts'
import * as keyStore from '../../store/projects/keys.ts'
import { deleteProject } from '../../store/projects/projects.ts'
import { countSelected } from '../../store/trace/pruning.ts'
import type { Totals } from '../../store/write/totals.ts'
import { requireProject } from '../projects.ts'
import { type Pruned, type PruneOptions, pruneAll } from './pruning.ts'

export interface ProjectDeletion extends Totals {
  readonly projectId: number
  /** Number of keys that are not revoked. */
  readonly keys: number
}

export async function planProjectDeletion(sql: Sql, project: string): Promise<ProjectDeletion> {
  const projectId = await requireProject(sql, project)
  const keys = (await keyStore.readKeys(sql, projectId)).filter(({ revokedAt }) => revokedAt === null).length
  return { projectId, keys, ...(await countSelected(sql, projectId, {})) }
}

/**
 * Pause after the revocation. During the pause, servers that missed the notice stop accepting the keys
 * (lib/access/auth.ts), and requests made with the keys finish.
 */
const SETTLE_MS = 10_000

/**
 * Revokes a project's keys, deletes its traces in batches, and then deletes the project and its remaining rows. After
 * an interruption, running the command again continues the deletion.
 */
export async function applyProjectDeletion(
  sql: Sql,
  project: string,
  { projectId, traces: planned }: ProjectDeletion,
  { settleMs = SETTLE_MS, ...options }: PruneOptions & { readonly settleMs?: number } = {}
): Promise<Pruned> {
  const audit = { by: null, action: 'key.revoke', projectId, detail: { all: true } } as const
  await keyStore.setKeysRevoked(sql, projectId, audit)
  const revokedAt = performance.now()
  // The audit entry for the project's deletion is written last. Until then, a `trace.prune` entry records the number of
  // deleted traces.
  const detail = { slug: project, planned, traces: 0 }
  const pruning =
    planned === 0 ? undefined : await writeAudit(sql, { by: null, action: 'trace.prune', projectId, detail })
  const pruned = await pruneAll(sql, projectId, {}, { ...options, auditId: pruning })
  await delay(Math.max(0, settleMs - (performance.now() - revokedAt)), undefined, {
    ...(options.signal && { signal: options.signal })
  })
  const late = await pruneAll(sql, projectId, {}, { ...options, auditId: pruning, before: pruned.traces })
  const traces = pruned.traces + late.traces
  const deletion = { by: null, action: 'project.delete', projectId, detail: { slug: project, traces } } as const
  await deleteProject(sql, projectId, deletion)
  return { traces, spans: pruned.spans + late.spans, storedBytes: pruned.storedBytes + late.storedBytes, kept: 0 }
}
