/**
 * Records in the audit log which person opened which trace, if AUDIT_VIEWS is on: one entry per person, trace and hour.
 * The entry is written before the trace is sent. A process remembers recent views, so that reading a trace in many
 * requests writes once.
 */
import type { App } from '../../lib/app.ts'
import type { RequestOf } from '../../lib/http/route.ts'
import { writeAudit } from '../../lib/store/audit.ts'
import { entryOf } from './acting.ts'

const HOUR_MS = 3_600_000
const MOST_REMEMBERED = 10_000

type Viewing = Pick<RequestOf<unknown>, 'visitor' | 'project' | 'client' | 'traceId'>

/** Records a view. Every route calls it once it has found the trace. */
export type NoteView = (viewing: Viewing) => Promise<void>

export function viewNoter({ sql, config }: Pick<App, 'sql' | 'config'>): NoteView {
  const seen = new Map<string, number>()
  return async viewing => {
    if (!config.auditViews) return
    const { visitor, project, traceId } = viewing
    const key = `${visitor.userId} ${project.id} ${traceId}`
    const now = performance.now()
    const before = seen.get(key)
    if (before !== undefined && now - before < HOUR_MS) return
    await sql.write(each => writeAudit(each, entryOf(viewing, 'trace.view', { traceId })))
    seen.delete(key)
    seen.set(key, now)
    if (seen.size > MOST_REMEMBERED) seen.delete(seen.keys().next().value!)
  }
}
