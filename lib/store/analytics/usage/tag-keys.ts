/** Stores the keys of tags by which a project's usage is summed. */
import type { Sql } from 'postgres'
import { type AuditEntry, auditStep } from '../../audit.ts'
import { inTransaction } from '../../transactions.ts'
import { lockRollups } from '../rollups/deltas.ts'

/** Returns the keys. */
export async function readUsageTags(sql: Sql, projectId: number): Promise<readonly string[]> {
  const [row] = await sql<{ tags: string[] }[]>`select usage_tags as tags from projects where id = ${projectId}`
  return row?.tags ?? []
}

/**
 * Replaces the keys, deletes the sums of all other keys, and writes the audit entry. The sums of new keys are computed
 * in the background (lib/background/folding.ts).
 */
export function setUsageTags(sql: Sql, projectId: number, keys: readonly string[], audit: AuditEntry): Promise<void> {
  const tags = keys as string[]
  return inTransaction(sql, async () => {
    await lockRollups(sql, projectId)
    await sql`
      with changed as (
        update projects set usage_tags = ${tags}::text[] where id = ${projectId} and usage_tags <> ${tags}::text[]
        returning id
      )
      ${auditStep(sql, audit, sql`changed`)}
      select from changed`
    await sql`
      delete from usage_sums
      where project_id = ${projectId} and field like 'tag:%' and substr(field, 5) <> all (${tags}::text[])`
  })
}
