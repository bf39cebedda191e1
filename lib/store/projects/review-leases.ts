/**
 * Leases traces to reviewers, so that no two people judge the same trace. A lease expires. It is kept when its
 * trace is judged, because another reviewer may have looked for judged traces a moment before.
 */
import type { Sql } from 'postgres'
import type { TableNames } from '../../database/tables.ts'

export const LEASE_MINUTES = 10

export interface Reviewer {
  readonly projectId: number
  readonly userId: number
  /** The name of the score that the reviewer gives. */
  readonly scoreName: string
}

/**
 * Leases the first of these traces that nobody else has leased, or renews the reviewer's own lease. Returns undefined
 * if others have leased all of them. Ended leases of the project are removed.
 */
export async function leaseFirst(
  sql: Sql,
  { projectId, userId, scoreName }: Reviewer,
  traceIds: readonly string[]
): Promise<string | undefined> {
  const [row] = await sql<{ traceId: string }[]>`
    with free as (
      select id from unnest(${traceIds}::text[]) with ordinality as wanted(id, place)
      where not exists (
        select from review_leases l
        where l.project_id = ${projectId} and l.score_name = ${scoreName} and l.trace_id = wanted.id
          and l.user_id <> ${userId} and l.until > now())
      order by place limit 1
    ), ended as (
      delete from review_leases
      where project_id = ${projectId} and until < now() - interval '1 hour' and not trace_id = any (${traceIds}::text[])
    )
    insert into review_leases as l (project_id, score_name, trace_id, user_id, until)
    select ${projectId}::int, ${scoreName}::text, id, ${userId}::int, now() + ${LEASE_MINUTES} * interval '1 minute'
    from free
    on conflict (project_id, score_name, trace_id) do update set user_id = excluded.user_id, until = excluded.until
      where l.user_id = excluded.user_id or l.until <= now()
    returning trace_id as "traceId"`
  return row?.traceId
}

/** Returns which of these traces have an annotation of this name on the whole trace, by anyone. */
export async function readJudged(
  sql: Sql,
  projectId: number,
  scoreName: string,
  traceIds: readonly string[],
  names: TableNames
): Promise<Set<string>> {
  const rows = await sql<{ id: string }[]>`
    select distinct replace(t.id::text, '-', '') as id
    from ${sql.unsafe(names.traces)} t join ${sql.unsafe(names.scores)} s
      on s.project_id = t.project_id and s.trace_seq = t.seq
    where t.project_id = ${projectId} and t.id = any (${traceIds}::uuid[]) and s.project_id = ${projectId}
      and s.name = ${scoreName} and s.source = 'annotation' and s.span_id is null`
  return new Set(rows.map(({ id }) => id))
}

/** Returns which of these traces are still running. Reviewers get them last, because their outputs may still change. */
export async function readRunning(
  sql: Sql,
  projectId: number,
  traceIds: readonly string[],
  names: TableNames
): Promise<Set<string>> {
  const rows = await sql<{ id: string }[]>`
    select replace(id::text, '-', '') as id from ${sql.unsafe(names.traces)}
    where project_id = ${projectId} and id = any (${traceIds}::uuid[]) and status = 'running'`
  return new Set(rows.map(({ id }) => id))
}
