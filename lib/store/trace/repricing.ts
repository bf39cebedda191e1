/** Reads stored calls for which the sender reported no cost, and writes their recomputed costs. */
import type { Sql } from 'postgres'
import { hashInSql } from '../../rows/list-numbers.ts'
import type { CallDetails } from '../../trace/call-details.ts'
import type { Repricing, StoredCall } from '../../trace/prices/repricing.ts'
import { addDeltas, DELTA_SOURCES, deltaInSql, deltasAsJson } from '../analytics/rollups/deltas.ts'
import type { ExportWindow } from '../answers/export-page.ts'
import { noteChanges } from '../changes/news.ts'
import { RANKED_IN_ALL } from '../rankings/rankings.ts'
import { inTransaction } from '../transactions.ts'
import { freshVersion } from '../write/trace-numbers.ts'

export interface GatheredTrace {
  readonly seq: number
  readonly traceId: string
  readonly spanCount: number
}

export interface GatheredTraces {
  readonly traces: readonly GatheredTrace[]
  /** Internal number of the last trace examined; null if no traces are left. */
  readonly lastSeq: number | null
}

/**
 * Examines the project's next `limit` traces in the order of their internal numbers. Returns the traces that were
 * recorded by OpenTelemetry and started within the bounds.
 */
export async function readGatheredTraces(
  sql: Sql,
  projectId: number,
  { from, to }: ExportWindow,
  range: { readonly afterSeq: number; readonly limit: number }
): Promise<GatheredTraces> {
  const rows = await sql<(GatheredTrace & { isMeant: boolean })[]>`
    select seq, replace(id::text, '-', '') as "traceId", span_count as "spanCount",
      (ranks is not null
        ${from === undefined ? sql`` : sql`and started_at >= ${from}`}
        ${to === undefined ? sql`` : sql`and started_at <= ${to}`}) as "isMeant"
    from traces where project_id = ${projectId} and seq > ${range.afterSeq}
    order by seq limit ${range.limit}`
  const traces = rows.filter(({ isMeant }) => isMeant).map(({ isMeant: _, ...trace }) => trace)
  return { traces, lastSeq: rows.at(-1)?.seq ?? null }
}

/** Reads the calls that have a model but no cost reported by the sender, grouped by the trace's internal number. */
export async function readUnreportedCalls(
  sql: Sql,
  projectId: number,
  seqs: readonly number[]
): Promise<Map<number, StoredCall[]>> {
  const rows = await sql<(Omit<StoredCall, 'details'> & { seq: number; details: string | null })[]>`
    select trace_seq as seq, encode(id, 'hex') as id, kind, provider, model, started_at as "startedAt",
      input_tokens as "inputTokens", output_tokens as "outputTokens", total_tokens as "totalTokens",
      cost_usd as "costUsd", call_details::text as details
    from spans
    where project_id = ${projectId} and trace_seq = any (${seqs}::bigint[]) and model is not null
      and kind in ('llm', 'embedding') and (cost_usd is null or call_details ->> 'computedCost' is not null)`
  const calls = new Map<number, StoredCall[]>()
  for (const { seq, details, ...call } of rows) {
    const stored = { ...call, details: details === null ? null : (JSON.parse(details) as CallDetails) }
    const others = calls.get(seq)
    if (others === undefined) calls.set(seq, [stored])
    else others.push(stored)
  }
  return calls
}

export interface TraceRepricing extends Repricing {
  readonly seq: number
  /** Version of the trace that the costs were computed from. */
  readonly version: number
}

const SET_COST = `cost_usd = c.cost_usd, ranked = ${RANKED_IN_ALL}`
const deltasOfCosts = (projectId: number) =>
  deltasAsJson(
    [
      `select ${deltaInSql('old', -1)} from changed c
        join traces old on old.project_id = ${projectId} and old.seq = c.seq
        where old.ended_at is not null`,
      `select ${deltaInSql('c', 1)} from changed c where c.ended_at is not null`
    ].join(' union all ')
  )

/**
 * Writes costs in one transaction. Skips traces that have changed since their costs were computed, and returns the
 * repricings that were written. Each written trace gets a new version, so that concurrent writes based on the old state
 * are decided again. The `onChanged` callback writes in the same transaction.
 */
export async function writeRepricings<T extends TraceRepricing>(
  sql: Sql,
  projectId: number,
  repricings: readonly T[],
  onChanged: (changed: readonly T[]) => Promise<void> = async () => {}
): Promise<readonly T[]> {
  const wanted = repricings.map(({ seq, version, costUsd }) => ({ seq, version, cost: costUsd }))
  return inTransaction(sql, async () => {
    const [{ seqs, deltas }] = await sql<[{ seqs: string | null; deltas: string | null }]>`
      with changed as (
        update traces t set cost_usd = w.cost, version = ${freshVersion()}, ranked = ${RANKED_IN_ALL}
        from json_to_recordset(${JSON.stringify(wanted)}::json) as w (seq bigint, version bigint, cost float8)
        where t.project_id = ${projectId} and t.seq = w.seq and t.version = w.version
        returning t.seq, t.id, t.tags, ${sql.unsafe(SOURCES)}
      ), changed_tags as (
        update trace_tags g set ${sql.unsafe(SET_COST)}
        from changed c, unnest(c.tags) as own (tag)
        where g.project_id = ${projectId} and g.tag_family = ${sql.unsafe(hashInSql('own.tag', 'c.family'))}
          and g.started_at = c.started_at and g.id = c.id
      )
      select (select json_agg(seq)::text from changed) as seqs, ${sql.unsafe(deltasOfCosts(projectId))} as deltas`
    const written = new Set<number>(seqs === null ? [] : JSON.parse(seqs))
    const changed = repricings.filter(({ seq }) => written.has(seq))
    if (changed.length === 0) return changed
    const spans = changed.flatMap(({ seq, spans }) =>
      spans.map(({ id, costUsd, callDetails }) => ({ seq, id, cost: costUsd, details: callDetails }))
    )
    await sql`
      update spans s set cost_usd = n.cost, call_details = n.details::json
      from json_to_recordset(${JSON.stringify(spans)}::json) as n (seq bigint, id text, cost float8, details text)
      where s.project_id = ${projectId} and s.trace_seq = n.seq and s.id = decode(n.id, 'hex')`
    await addDeltas(sql, projectId, deltas)
    await noteChanges(
      sql,
      projectId,
      changed.map(({ seq }) => seq)
    )
    await onChanged(changed)
    return changed
  })
}

const SOURCES = DELTA_SOURCES.split(', ')
  .map(column => `t.${column}`)
  .join(', ')
