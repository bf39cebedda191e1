/** Deletes a bounded number of the traces of a user or session, or of listed traces, for requests of the API. */
import type { Sql } from 'postgres'
import type { Attempts } from '../../database/sql-access.ts'
import { hashInSql } from '../../rows/list-numbers.ts'
import { MOST_REMAINING } from '../../schema/field-values.ts'
import { addDeltas } from '../analytics/rollups/deltas.ts'
import { type AuditEntry, writeAudit } from '../audit.ts'
import { inTransaction } from '../transactions.ts'
import { makeTotals } from '../write/totals.ts'
import { DELTAS_OF_GONE, removingTraces } from './deletion.ts'
import type { PruneBounds } from './pruning.ts'

/** Traces to delete. Ids are in lower case and listed once. */
export type DeletionTarget =
  | { readonly traceIds: readonly string[] }
  | { readonly userId: string }
  | { readonly sessionId: string }

/** A request deletes at most this many traces and spans, in a few tenths of a second. */
export const DELETION_BOUNDS: PruneBounds = { traces: 1000, spans: 10_000 }
/** Maximum number of attempts to delete traces that keep changing. */
const PASSES = 5

/** The progress of a request, which outlives the attempts of `SqlAccess.write`. */
export interface DeletionProgress {
  deleted: number
  /** Numbers of the traces in the last transaction. If the transaction's response was lost, they may exist or not. */
  sent: readonly number[]
}

/**
 * Deletes the next traces of the target, and returns how many traces are left, up to MOST_REMAINING. Each transaction
 * deletes traces with all of their data, corrects totals and rollups, and writes the audit entry that `auditOf` returns
 * for the ids of the deleted traces.
 *
 * As in lib/store/trace/deletion.ts, a trace is deleted only if it has the version that the statement found. Traces
 * that changed meanwhile are tried again a few times, and then remain.
 */
export async function deleteTargeted(
  sql: Sql,
  projectId: number,
  target: DeletionTarget,
  auditOf: (traceIds: readonly string[]) => AuditEntry,
  attempts: Attempts = { sent: false },
  progress: DeletionProgress = { deleted: 0, sent: [] },
  bounds = DELETION_BOUNDS
): Promise<number> {
  // If the response to an earlier attempt was lost, the traces that are gone by now were deleted by that attempt.
  if (attempts.sent) {
    progress.deleted += progress.sent.length - (await countExisting(sql, projectId, progress.sent))
    attempts.sent = false
  }
  let spans = 0
  for (let pass = 1; pass <= PASSES; pass++) {
    const left = { traces: bounds.traces - progress.deleted, spans: bounds.spans - spans }
    const chosen = left.traces > 0 ? withinBounds(await choose(sql, projectId, target, left.traces), left.spans) : []
    if (chosen.length === 0) break
    progress.sent = chosen.map(({ seq }) => seq)
    attempts.sent = true
    const gone = await inTransaction(sql, async () => {
      const ids = await remove(sql, projectId, target, progress.sent)
      if (ids.length > 0) await writeAudit(sql, auditOf(ids))
      return ids.length
    })
    attempts.sent = false
    progress.deleted += gone
    if (gone === chosen.length) break
    spans += chosen.reduce((sum, { spanCount }) => sum + spanCount, 0)
  }
  return countLeft(sql, projectId, target)
}

interface Chosen {
  readonly seq: number
  readonly spanCount: number
}

/** Returns the first traces that have fewer than `spans` spans before them. A trace with more spans comes alone. */
export function withinBounds(chosen: readonly Chosen[], spans: number): readonly Chosen[] {
  let before = 0
  const end = chosen.findIndex(({ spanCount }) => {
    const isBeyond = before >= spans
    before += spanCount
    return isBeyond
  })
  return end === -1 ? chosen : chosen.slice(0, end)
}

/**
 * Returns SQL for at most $3 of the target's traces, with `columns`. The order is that of an index, so that PostgreSQL
 * uses the index.
 */
function selectTarget(target: DeletionTarget, columns: string): string {
  if ('traceIds' in target) {
    return `select ${columns} from traces where project_id = $1::int and id = any ($2::uuid[])
      order by id limit $3::int`
  }
  if ('sessionId' in target) {
    return `select ${columns} from traces where project_id = $1::int and session_id = $2::text
      order by session_id, started_at, id limit $3::int`
  }
  return `select t.* from (select family from trace_families where project_id = $1::int) f cross join lateral (
      select ${columns} from traces
      where project_id = $1::int and user_family = ${hashInSql('$2::text', 'f.family')} and user_id = $2::text
      order by user_family, started_at, id limit $3::int
    ) t limit $3::int`
}

const givenOf = (target: DeletionTarget): string | string[] =>
  'traceIds' in target ? [...target.traceIds] : 'userId' in target ? target.userId : target.sessionId

const choose = (sql: Sql, projectId: number, target: DeletionTarget, most: number) =>
  sql.unsafe<Chosen[]>(selectTarget(target, 'seq, span_count as "spanCount"'), [projectId, givenOf(target), most], {
    prepare: true
  })

/** Counts the target's traces, up to MOST_REMAINING. */
export async function countLeft(sql: Sql, projectId: number, target: DeletionTarget): Promise<number> {
  const [row] = await sql.unsafe<[{ count: number }]>(
    `select count(*)::int as count from (${selectTarget(target, 'seq')}) found`,
    [projectId, givenOf(target), MOST_REMAINING],
    { prepare: true }
  )
  return row.count
}

async function countExisting(sql: Sql, projectId: number, seqs: readonly number[]): Promise<number> {
  const [row] = await sql<[{ count: number }]>`
    select count(*)::int as count from traces
    where project_id = ${projectId} and seq = any (${seqs as number[]}::bigint[])`
  return row.count
}

/** A trace that has moved to another user or session since it was chosen is not deleted. */
const stillOf = (target: DeletionTarget): string =>
  'traceIds' in target ? 'id = any ($3::uuid[])' : `${'userId' in target ? 'user_id' : 'session_id'} = $3::text`

const removal = (target: DeletionTarget): string => `
  with ${removingTraces(
    '$1::int',
    `select seq, version from traces
    where project_id = $1::int and seq = any ($2::bigint[]) and ${stillOf(target)}`
  )}
  select array(select replace(id::text, '-', '') from gone order by id) as ids, ${DELTAS_OF_GONE} as deltas`

/** Deletes the traces that have not changed since the statement began. Returns their ids. */
async function remove(sql: Sql, projectId: number, target: DeletionTarget, seqs: readonly number[]): Promise<string[]> {
  await makeTotals(sql, projectId)
  const [row] = await sql.unsafe<[{ readonly ids: string[]; readonly deltas: string | null }]>(
    removal(target),
    [projectId, seqs as number[], givenOf(target)],
    { prepare: true }
  )
  await addDeltas(sql, projectId, row.deltas)
  return row.ids
}
