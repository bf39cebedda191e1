/** A route that deletes many traces: those of a user or session, or listed ones. */
import type { App } from '../lib/app.ts'
import type { Client } from '../lib/database/pooled/cancellation.ts'
import type { ProjectRead } from '../lib/database/sql-access.ts'
import { Refusal } from '../lib/errors.ts'
import { checkQueryTexts, refuseField } from '../lib/http/refuse.ts'
import { SharedGate } from '../lib/limits/shared-gate.ts'
import { checker } from '../lib/schema/check.ts'
import { DeletionBody, TracesDeleted } from '../lib/schema/history/deletion.ts'
import type { AuditEntry } from '../lib/store/audit.ts'
import { explainEmpty } from '../lib/store/hints/explain-empty.ts'
import { countLeft, type DeletionTarget, deleteTargeted } from '../lib/store/trace/bulk-deletion.ts'
import { readBody } from '../lib/trace/body.ts'

/** A project's deletions take turns, because deletions of the same traces would wait for each other in the database. */
const TURNS = { share: 1, capacity: 2 }
const MAX_BODY_BYTES = 16_384
const { check, explain } = checker(DeletionBody)
const ONE_TARGET = 'must have exactly one of traceIds, userId or sessionId'

export default function deletions(app: App): void {
  const remove = deleterOf(app)
  app.route({
    method: 'POST',
    path: '/api/v1/deletions',
    operation: 'deleteTraces',
    access: 'traces:delete',
    summary: "Delete a user's or session's traces, or a list of traces",
    description:
      'Deletes up to 1,000 traces per request, along with all their spans and scores. Repeat the same request until ' +
      '`remaining` is 0; repeating it is always safe. With `dryRun`, the traces are only counted.',
    body: DeletionBody,
    takesBody: true,
    maxBodyBytes: MAX_BODY_BYTES,
    replies: { 200: TracesDeleted },
    errors: ['invalid_request'],
    async handler(request) {
      const { projectId, keyId } = request.key
      const { target, dryRun } = readDeletion(request.payload)
      const explained = async (found: TracesDeleted) => {
        if ('traceIds' in target || found.deleted + found.remaining > 0) return found
        const read: ProjectRead<string> = (sql, names) =>
          explainEmpty(sql, projectId, { sought: 'trace', values: target }, names)
        const mayRead = request.key.scopes.includes('traces:read')
        return { ...found, hint: mayRead ? await app.sql.readOf(projectId, read, request) : describeNone(target) }
      }
      if (dryRun) {
        const remaining = await app.sql.read(sql => countLeft(sql, projectId, target), request)
        return { body: await explained({ ok: true, deleted: 0, remaining }) }
      }
      const auditOf = (traceIds: readonly string[]) =>
        ({
          by: null,
          action: 'trace.delete',
          projectId,
          client: request.client,
          detail: { ...detailOf(target, traceIds), keyId }
        }) as const
      return { body: await explained(await remove(projectId, target, auditOf, request)) }
    }
  })
}

/** Returns a hint for a key that may not know which users and sessions exist. */
const describeNone = (target: Exclude<DeletionTarget, { traceIds: unknown }>): string =>
  'userId' in target
    ? `No trace has the user ID ${JSON.stringify(target.userId)}.`
    : `No trace has the session ID ${JSON.stringify(target.sessionId)}.`

/** Returns a function that deletes the next traces of a target when it is the project's turn. */
export function deleterOf(app: App) {
  const turns = new SharedGate(TURNS)
  return async (
    projectId: number,
    target: DeletionTarget,
    auditOf: (traceIds: readonly string[]) => AuditEntry,
    client: Client
  ): Promise<TracesDeleted> => {
    const progress = { deleted: 0, sent: [] }
    const work = () =>
      app.sql.write((sql, attempts) => deleteTargeted(sql, projectId, target, auditOf, attempts, progress))
    const remaining = await turns.run(projectId, work, { client })
    return { ok: true, deleted: progress.deleted, remaining }
  }
}

/** Returns what the audit log says about deleted traces. */
export const detailOf = (target: DeletionTarget, traceIds: readonly string[]) => ({
  ...('traceIds' in target ? { traceIds } : target),
  traces: traceIds.length
})

/** Reads the body of a deletion. Throws `invalid_json` and `invalid_request`. */
export function readDeletion(payload: Uint8Array): { readonly target: DeletionTarget; readonly dryRun: boolean } {
  const { value, exact } = readBody(payload, 'invalid_request')
  if (!check(value, exact)) throw new Refusal('invalid_request', explain(exact))
  checkQueryTexts(value)
  const { dryRun = false, ...given } = value
  if (Object.keys(given).length !== 1) refuseField('body', ONE_TARGET)
  const { traceIds } = given
  if (traceIds === undefined) return { target: given as DeletionTarget, dryRun }
  return { target: { traceIds: [...new Set(traceIds.map(id => id.toLowerCase()))] }, dryRun }
}
