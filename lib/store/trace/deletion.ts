/** Deletes a trace with its spans, scores, tags and messages. */
import type { Sql } from 'postgres'
import type { Attempts } from '../../database/sql-access.ts'
import { hashInSql } from '../../rows/list-numbers.ts'
import { addDeltas, DELTA_SOURCES, deltaInSql, deltasAsJson } from '../analytics/rollups/deltas.ts'
import { type AuditEntry, writeAudit } from '../audit.ts'
import { inTransaction } from '../transactions.ts'
import { addTotals, hasTotals, makeTotals } from '../write/totals.ts'
import { CHANGED, compareAndSet } from './compare-and-set.ts'

/**
 * Deletes a trace with its spans, scores and tags, corrects the project's totals and rollups, and writes the audit
 * entry. Returns false if the trace does not exist.
 *
 * The statement deletes the trace only if it still has the version that the statement found; every write changes the
 * version. A span or score that arrives concurrently is therefore never left behind. If the version has changed, the
 * deletion is retried.
 */
export async function deleteTrace(
  sql: Sql,
  projectId: number,
  traceId: string,
  attempts: Attempts = { sent: false },
  audit?: AuditEntry
): Promise<boolean> {
  return compareAndSet(attempts, async send => {
    // If the trace no longer exists and an earlier attempt was sent, the earlier attempt deleted the trace.
    const [present] = await sql`select from traces where project_id = ${projectId} and id = ${traceId}`
    if (present === undefined) return attempts.sent
    return (await send(() => removeAudited(sql, audit, () => removeTrace(sql, projectId, traceId)))) || CHANGED
  })
}

/** Runs `remove` in a transaction and, if `remove` deletes something, writes the audit entry, if any. */
export const removeAudited = (sql: Sql, audit: AuditEntry | undefined, remove: () => Promise<boolean>) =>
  inTransaction(sql, async () => {
    const isGone = await remove()
    if (isGone && audit !== undefined) await writeAudit(sql, audit)
    return isGone
  })

/**
 * Returns SQL steps that delete all data belonging to the traces of the step `gone`, which returns seq, id, family,
 * started_at and tags. `returning` is the returning clause of the step `spans_gone`.
 */
export const removingParts = (project: string, returning = '') => `
  tags_gone as (
    delete from trace_tags g using gone, unnest(gone.tags) as own (tag)
    where g.project_id = ${project} and g.tag_family = ${hashInSql('own.tag', 'gone.family')}
      and g.started_at = gone.started_at and g.id = gone.id
  ), spans_gone as (
    delete from spans s using gone where s.project_id = ${project} and s.trace_seq = gone.seq ${returning}
  ), scores_gone as (
    delete from scores s using gone where s.project_id = ${project} and s.trace_seq = gone.seq
  ), messages_gone as (
    delete from span_messages m using gone where m.project_id = ${project} and m.trace_id = gone.id
  )`

/**
 * Returns SQL steps that delete the traces that `found` selects (seq and version), with all of their data, and correct
 * the totals. A trace that has changed since the statement began is not deleted. The step `gone` returns the deleted
 * traces.
 */
export const removingTraces = (project: string, found: string) => `
  found as materialized (${found}), gone as (
    delete from traces t using found
    where t.project_id = ${project} and t.seq = found.seq and t.version = found.version and ${hasTotals(project)}
    returning t.seq, t.id, t.tags, t.estimated_bytes, ${DELTA_SOURCES.replace(/\w+/g, 't.$&')}
  ), ${removingParts(project, 'returning 1')}, counted as (
    select -count(*) as traces, -(select count(*) from spans_gone) as spans, -sum(estimated_bytes)::bigint as bytes
    from gone having count(*) > 0
  ), totals as (${addTotals(project, 'counted')})`

/** SQL for the deltas of the traces of the step `gone`. */
export const DELTAS_OF_GONE = deltasAsJson(`select ${deltaInSql('gone', -1)} from gone where ended_at is not null`)

const REMOVE_TRACE = `
  with ${removingTraces('$1::int', 'select seq, version from traces where project_id = $1::int and id = $2::uuid')}
  select exists (select from gone) as "isDeleted", ${DELTAS_OF_GONE} as deltas`

/** Deletes the trace. Returns false if the trace is gone or has changed since the statement began. */
async function removeTrace(sql: Sql, projectId: number, traceId: string): Promise<boolean> {
  const [{ isDeleted, deltas }] = await sql.unsafe<[{ readonly isDeleted: boolean; readonly deltas: string | null }]>(
    REMOVE_TRACE,
    [projectId, traceId],
    { prepare: true }
  )
  if (!isDeleted) await makeTotals(sql, projectId)
  await addDeltas(sql, projectId, deltas)
  return isDeleted
}
