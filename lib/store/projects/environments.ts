/** Relabels stored traces (specification 2.10.8). No other code changes a stored trace's environment. */
import type { Sql } from 'postgres'
import { hashInSql, listsInSql, tagListsInSql } from '../../rows/list-numbers.ts'
import { addDeltas, deltaInSql, deltasAsJson } from '../analytics/rollups/deltas.ts'
import { RANKED_IN_ALL } from '../rankings/rankings.ts'
import { inTransaction } from '../transactions.ts'
import { freshVersion } from '../write/trace-numbers.ts'

/** Selects a project's traces. A trace must meet every condition that is set. */
export interface TraceSelection {
  /** The key that recorded the traces. */
  readonly keyId?: string | undefined
  readonly tag?: string | undefined
  /** Inclusive bounds of startedAt, as canonical timestamps. */
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export interface Relabelling {
  /** The new environment in its stored form: a label or 'unassigned'. */
  readonly environment: string
  /** Whether recorded environments ('unassigned' included) also change. If false, only missing environments are set. */
  readonly overwrite: boolean
}

export interface EnvironmentCount {
  /** The stored form; null if the environment was never recorded. */
  readonly environment: string | null
  readonly traces: number
  /** Highest internal number among the traces. */
  readonly lastSeq: number
}

/** Counts the selected traces with internal numbers above `afterSeq`, grouped by environment. */
export async function countEnvironments(sql: Sql, projectId: number, selection: TraceSelection, afterSeq = 0) {
  return sql<EnvironmentCount[]>`
    select environment, count(*) as traces, max(seq) as "lastSeq"
    from traces where ${selected(sql, projectId, selection)} and seq > ${afterSeq}
    group by environment
    order by environment nulls first`
}

const assignments = (values: Readonly<Record<string, string>>) =>
  Object.entries(values)
    .map(([column, value]) => `${column} = ${value}`)
    .join(', ')
const SET_LISTS = assignments({
  ...listsInSql({ status: 'status', environment: 'label', model: 'model', name: 'name', userId: 'user_id' }),
  ranked: String(RANKED_IN_ALL)
})
const SET_TAG_LISTS = assignments({
  ...tagListsInSql('own.tag', { family: 'c.family', namedFamily: 'c.named_family', userFamily: 'c.user_family' }),
  ranked: String(RANKED_IN_ALL)
})

/** The statement's snapshot predates the update, so it shows traces with their previous families. */
const OLD = `from changed c join traces old on old.project_id = $project and old.seq = c.seq where old.ended_at is not null`
const deltasOfMoves = (projectId: number) =>
  deltasAsJson(
    [`select ${deltaInSql('old', -1)} ${OLD}`, `select ${deltaInSql('old', 1, 'c.family')} ${OLD}`]
      .join(' union all ')
      .replaceAll('$project', String(projectId))
  )

export interface RelabelledBatch {
  /** Number of selected traces (`matched`) and number of changed traces, from one snapshot. */
  readonly matched: number
  readonly changed: number
  /** All traces up to this internal number have been processed; null if no traces are left. */
  readonly lastSeq: number | null
}

/**
 * Relabels the selected traces among the project's next `limit` traces, in the order of their internal numbers. A batch
 * is one transaction, so the batch is applied completely or not at all, and locks only its own traces. Each relabelled
 * trace gets a new version, so that concurrent writes based on the old state are decided again.
 *
 * `is true` makes PostgreSQL use the primary key. With an index on one of the conditions, every batch would read all
 * matching traces again. The `onChanged` callback writes in the same transaction.
 */
export async function relabelTraces(
  sql: Sql,
  projectId: number,
  selection: TraceSelection,
  { environment, overwrite }: Relabelling,
  range: { readonly afterSeq: number; readonly upToSeq: number; readonly limit: number },
  onChanged: (traces: number) => Promise<void> = async () => {}
): Promise<RelabelledBatch> {
  const changes = overwrite ? sql`environment is distinct from ${environment}` : sql`environment is null`
  const version = freshVersion()
  const { afterSeq, upToSeq, limit } = range
  return inTransaction(sql, async () => {
    const [{ deltas, ...row }] = await sql<[RelabelledBatch & { readonly deltas: string | null }]>`
      with range as materialized (
        select max(seq) as last_seq from (
          select seq from traces
          where project_id = ${projectId} and seq > ${afterSeq} and seq <= ${upToSeq}
          order by seq
          limit ${limit}
        ) next
      ), changed as (
        update traces set environment = label, version = ${version}, ${sql.unsafe(SET_LISTS)}
        from (select ${environment}::text as label) new
        where project_id = ${projectId} and seq > ${afterSeq} and seq <= (select last_seq from range)
          and (${changes} and ${selected(sql, projectId, selection)}) is true
        returning seq, named_family, family, user_family, id, started_at, tags
      ), relabelled_tags as (
        update trace_tags g set named_family = c.named_family, family = c.family, ${sql.unsafe(SET_TAG_LISTS)}
        from changed c join traces old on old.project_id = ${projectId} and old.seq = c.seq, unnest(c.tags) as own (tag)
        where g.project_id = ${projectId} and g.tag_family = ${sql.unsafe(hashInSql('own.tag', 'old.family'))}
          and g.started_at = c.started_at and g.id = c.id
      )
      select (select count(*) from changed) as changed, ${sql.unsafe(deltasOfMoves(projectId))} as deltas, (select last_seq from range) as "lastSeq",
        (select count(*) from traces
          where project_id = ${projectId} and seq > ${afterSeq} and seq <= (select last_seq from range)
            and (${selected(sql, projectId, selection)}) is true) as matched`
    if (row.changed > 0) {
      await sql`
        insert into trace_families (project_id, family, status, environment, model)
        select distinct on (family) project_id, family, status, environment, model from traces
        where project_id = ${projectId} and seq > ${afterSeq} and seq <= ${row.lastSeq} and version = ${version}
        order by family
        on conflict (project_id, family) do nothing`
      await sql`
        insert into change_news (project_id, seqs)
        select project_id, array_agg(seq) from traces
        where project_id = ${projectId} and seq > ${afterSeq} and seq <= ${row.lastSeq} and version = ${version}
        group by project_id`
    }
    await addDeltas(sql, projectId, deltas)
    if (row.changed > 0) await onChanged(row.changed)
    return row
  })
}

function selected(sql: Sql, projectId: number, { keyId, tag, from, to }: TraceSelection) {
  return sql`
    project_id = ${projectId}
    ${keyId === undefined ? sql`` : sql`and key_id = ${keyId}`}
    ${tag === undefined ? sql`` : sql`and tags @> array[${tag}]`}
    ${from === undefined ? sql`` : sql`and started_at >= ${from}`}
    ${to === undefined ? sql`` : sql`and started_at <= ${to}`}`
}
