/** Implements `spoor audit`. */
import type { Sql } from 'postgres'
import { type AuditRow, readAudit } from '../store/audit.ts'
import { requireProject } from './projects.ts'

export interface AuditListing extends Omit<AuditRow, 'id' | 'email' | 'detail'> {
  /** A user's e-mail address, `command (OPERATING-SYSTEM USER)`, `key ID`, or `server`. */
  readonly by: string
  readonly detail: Readonly<Record<string, unknown>>
}

/** Maximum number of entries listed. If there are more, the newest entries are listed. */
export const MOST_AUDIT_ENTRIES = 10_000

/** Lists the audit entries of one project or of all projects, oldest first. `since` is the earliest time. */
export async function listAudit(sql: Sql, project?: string, since?: string): Promise<AuditListing[]> {
  const projectId = project === undefined ? undefined : await requireProject(sql, project)
  const rows = await readAudit(sql, { projectId, since }, MOST_AUDIT_ENTRIES)
  return rows.map(({ at, action, email, project, account, detail: text }) => {
    const { systemUser, ...detail } = JSON.parse(text ?? '{}')
    return { at, by: email ?? actorOf(systemUser, action, detail.keyId), action, project, account, detail }
  })
}

function actorOf(systemUser: string | undefined, action: string, keyId: string | undefined): string {
  if (systemUser !== undefined) return `command (${systemUser})`
  return keyId !== undefined && action.endsWith('.delete') ? `key ${keyId}` : 'server'
}
