/**
 * Deletes many of a project's traces in batches. Only a command does this; the server never deletes traces
 * automatically.
 */
import type { Sql } from 'postgres'
import { VACUUMED_TABLES } from '../../database/tables.ts'
import { addDeltas, DELTA_SOURCES } from '../analytics/rollups/deltas.ts'
import type { ExportPlace } from '../answers/export-page.ts'
import { inTransaction } from '../transactions.ts'
import { addTotals, makeTotals, type Totals } from '../write/totals.ts'
import { DELTAS_OF_GONE, removingParts } from './deletion.ts'
import { fitting, started, type TraceConditions } from './trace-conditions.ts'

/** Counts the selected traces, and sums the estimated bytes of their documents. */
export async function countSelected(sql: Sql, projectId: number, selection: TraceConditions): Promise<Totals> {
  const [row] = await sql<[Totals]>`
    select count(*) as traces, coalesce(sum(span_count), 0)::bigint as spans,
      coalesce(sum(estimated_bytes), 0)::bigint as bytes
    from traces t where project_id = ${projectId} and ${started(sql, selection)} and ${fitting(sql, selection)}`
  return row
}

/** Maximum number of traces in a batch, and of spans in these traces. A trace with more spans forms its own batch. */
export type PruneBounds = Pick<Totals, 'traces' | 'spans'>

export interface PrunedBatch {
  /** Numbers of selected and of deleted traces. A selected trace is not deleted if it changes during the deletion. */
  readonly selected: number
  readonly deleted: number
  readonly spans: number
  /** Bytes of the deleted texts on disk. */
  readonly storedBytes: number
  /** The last trace examined; null if no traces are left. */
  readonly last: ExportPlace | null
}

const TRACE_TEXTS = ['input', 'output', 'metadata']
const SPAN_TEXTS = ['input', 'output', 'attributes', 'events', 'packed']
const storedBytes = (table: string, columns: readonly string[]) =>
  columns.map(column => `coalesce(pg_column_size(${table}.${column}), 0)`).join(' + ')

/**
 * Deletes the selected traces among the next traces after `after`, together with all of their data. Totals and rollups
 * are corrected in the same transaction, so a batch is deleted completely or not at all. As in
 * lib/store/trace/deletion.ts, a trace is deleted only if it has the version that the statement found, so that a
 * concurrently arriving span is never left behind.
 *
 * `is true` makes PostgreSQL scan the index on startedAt. With an index on one of the conditions, every batch would
 * read all matching traces again. The `onDeleted` callback writes in the same transaction.
 */
export function pruneBatch(
  sql: Sql,
  projectId: number,
  selection: TraceConditions,
  after: ExportPlace | null,
  bounds: PruneBounds,
  onDeleted: (traces: number) => Promise<void> = async () => {}
): Promise<PrunedBatch> {
  return inTransaction(sql, async () => {
    const { deltas, ...batch } = await prune(sql, projectId, selection, after, bounds)
    await addDeltas(sql, projectId, deltas)
    if (batch.deleted > 0) await onDeleted(batch.deleted)
    return batch
  })
}

async function prune(
  sql: Sql,
  projectId: number,
  selection: TraceConditions,
  after: ExportPlace | null,
  bounds: PruneBounds
): Promise<PrunedBatch & { readonly deltas: string | null }> {
  await makeTotals(sql, projectId)
  const behind = after === null ? sql`true` : sql`(started_at, id) > (${after.startedAt}, ${after.id})`
  const [row] = await sql<[PrunedRow]>`
    with next as materialized (
      select seq, version, started_at, id, span_count, (${fitting(sql, selection)}) is true as selected
      from traces t where project_id = ${projectId} and ${behind} and ${started(sql, selection)}
      order by started_at, id limit ${bounds.traces}
    ), looked as materialized (
      select * from (
        select *, sum(span_count) over (order by started_at, id) - span_count as spans_before from next
      ) counted where spans_before < ${bounds.spans}
    ), found as materialized (
      select seq, version from looked where selected
    ), texts as materialized (
      -- Sizes depend on how a value is stored, so not every server lets a deletion return them.
      select seq, sum(bytes) as bytes from (
        select t.seq, ${sql.unsafe(storedBytes('t', TRACE_TEXTS))} as bytes
        from traces t join found on t.seq = found.seq where t.project_id = ${projectId}
        union all
        select s.trace_seq, ${sql.unsafe(storedBytes('s', SPAN_TEXTS))}
        from spans s join found on s.trace_seq = found.seq where s.project_id = ${projectId}
      ) stored group by seq
    ), last as (
      select started_at, replace(id::text, '-', '') as id from looked order by started_at desc, looked.id desc limit 1
    ), gone as (
      delete from traces t using found
      where t.project_id = ${projectId} and t.seq = found.seq and t.version = found.version
      returning t.seq, t.id, t.tags, t.estimated_bytes, ${sql.unsafe(DELTA_SOURCES.replace(/\w+/g, 't.$&'))}
    ), ${sql.unsafe(removingParts(String(projectId), 'returning 1'))}, counted as (
      select -count(*) as traces, -(select count(*) from spans_gone) as spans, -sum(estimated_bytes)::bigint as bytes
      from gone having count(*) > 0
    ), totals as (${sql.unsafe(addTotals(String(projectId), 'counted'))})
    select (select count(*) from found) as selected, (select count(*) from gone) as deleted,
      (select count(*) from spans_gone) as spans,
      (select coalesce(sum(texts.bytes), 0)::bigint from texts join gone using (seq)) as "storedBytes",
      (select started_at from last) as "lastStartedAt", (select id from last) as "lastId", ${sql.unsafe(DELTAS_OF_GONE)} as deltas`
  const { lastStartedAt, lastId, ...counts } = row
  return {
    ...counts,
    last: lastStartedAt === null || lastId === null ? null : { startedAt: lastStartedAt, id: lastId }
  }
}

interface PrunedRow extends Omit<PrunedBatch, 'last'> {
  readonly lastStartedAt: string | null
  readonly lastId: string | null
  readonly deltas: string | null
}

/**
 * Vacuums the tables, so that the space of deleted rows can be reused. The vacuum also returns free space at the ends
 * of tables to the operating system.
 */
export async function reclaimRoom(sql: Sql): Promise<void> {
  await sql.unsafe(`vacuum ${VACUUMED_TABLES.join(', ')}`)
}
