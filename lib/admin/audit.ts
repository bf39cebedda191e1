/** Describes entries of the audit log, for `spoor audit` and for the dashboard. */
import type { Sql } from 'postgres'
import { type AuditRow, type AuditSelection, readAudit } from '../store/audit.ts'
import { requireProject } from './projects.ts'

export interface AuditListing extends Omit<AuditRow, 'email' | 'detail'> {
  /**
   * A user's e-mail address, `command (OPERATING-SYSTEM USER)`, `key ID`, `server`, or
   * `unknown` for a failed sign-in with an address that belongs to no user.
   */
  readonly by: string
  readonly detail: Readonly<Record<string, unknown>>
}

/** Maximum number of entries listed. If there are more, the newest entries are listed. */
export const MOST_AUDIT_ENTRIES = 10_000

export interface AuditQuery extends Omit<AuditSelection, 'projectId'> {
  /** Slug of the project whose entries are listed. */
  readonly project?: string | undefined
}

/** Lists the audit entries of one project or of all projects, oldest first. */
export async function listAudit(sql: Sql, { project, ...query }: AuditQuery = {}): Promise<AuditListing[]> {
  const projectId = project === undefined ? undefined : await requireProject(sql, project)
  const rows = await readAudit(sql, { projectId, ...query }, MOST_AUDIT_ENTRIES)
  return rows.map(describeEntry)
}

/** Yields all entries with an id above `after`, in the order of their ids, for a copy that is kept up to date. */
export async function* auditAfter(sql: Sql, query: AuditQuery & { readonly after: number }) {
  let { after } = query
  for (;;) {
    const entries = await listAudit(sql, { ...query, after })
    yield* entries
    if (entries.length < MOST_AUDIT_ENTRIES) return
    after = entries.at(-1)!.id
  }
}

/** Names the actor of an entry, and parses its detail. */
export function describeEntry({ email, detail: text, ...entry }: AuditRow): AuditListing {
  const { systemUser, ...detail } = JSON.parse(text ?? '{}')
  return { ...entry, by: email ?? actorOf(systemUser, entry.action, detail.keyId), detail }
}

function actorOf(systemUser: string | undefined, action: string, keyId: string | undefined): string {
  if (systemUser !== undefined) return `command (${systemUser})`
  if (action === 'sign-in.fail') return 'unknown'
  const isByKey = keyId !== undefined && (action.endsWith('.delete') || action === 'key.use')
  return isByKey ? `key ${keyId}` : 'server'
}
