/** Names the person who sent a request, for the audit log. */
import type { RequestOf } from '../../lib/http/route.ts'
import type { AuditEntry } from '../../lib/store/audit.ts'
import type { Action } from '../../lib/store/audit-actions.ts'

type Acting = Pick<RequestOf<unknown>, 'visitor' | 'project' | 'client'>

export function entryOf(acting: Acting, action: Action, detail: AuditEntry['detail'] = {}): AuditEntry {
  return { ...actorOf(acting), action, detail }
}

export function actorOf({
  visitor,
  project,
  client
}: Acting): Pick<AuditEntry, 'by' | 'accountId' | 'projectId' | 'client'> {
  return { by: visitor.userId, accountId: project.accountId, projectId: project.id, client }
}
