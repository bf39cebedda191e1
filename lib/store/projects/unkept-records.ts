/** Counts of log records and metrics that were received but not kept, by project, signal and name. */
import type { Sql } from 'postgres'

export interface UnkeptCount {
  readonly projectId: number
  readonly signal: 'logs' | 'metrics'
  readonly name: string
  readonly count: number
}

export interface UnkeptRow extends UnkeptCount {
  readonly firstAt: string
  readonly lastAt: string
}

/** Maximum number of names stored per project and signal. Further names are counted as OTHERS. */
const MOST_NAMES = 100
const OTHERS = 'others'
/** A count is deleted if it has not increased for this long. */
const FORGOTTEN_DAYS = 30

/** Adds counts to the stored counts. Projects deleted in the meantime are skipped. */
export async function addUnkept(sql: Sql, counts: readonly UnkeptCount[]): Promise<void> {
  const column = <T>(of: (each: UnkeptCount) => T) => counts.map(of)
  await sql`
    insert into unkept_records as u (project_id, signal, name, count)
    select project_id, signal, name, sum(count) from (
      select g.project_id, g.signal, g.count, case
        when exists (select from unkept_records k
          where k.project_id = g.project_id and k.signal = g.signal and k.name = g.name) then g.name
        when (select count(*) from unkept_records k where k.project_id = g.project_id and k.signal = g.signal)
          + row_number() over (partition by g.project_id, g.signal order by g.name) <= ${MOST_NAMES} then g.name
        else ${OTHERS} end as name
      from unnest(
        ${column(each => each.projectId)}::int[], ${column(each => each.signal)}::text[],
        ${column(each => each.name)}::text[], ${column(each => each.count)}::bigint[]
      ) as g (project_id, signal, name, count)
      join projects p on p.id = g.project_id
    ) named
    group by project_id, signal, name order by project_id, signal, name
    on conflict (project_id, signal, name) do update set count = u.count + excluded.count, last_at = now()`
}

export async function forgetUnkept(sql: Sql): Promise<void> {
  await sql`delete from unkept_records where last_at < now() - ${FORGOTTEN_DAYS} * interval '1 day'`
}

/** Returns the counts of a project, or of all projects, highest first. */
export function readUnkept(sql: Sql, projectId?: number): Promise<UnkeptRow[]> {
  return sql<UnkeptRow[]>`
    select project_id as "projectId", signal, name, count, first_at::timestamptz(3) as "firstAt",
      last_at::timestamptz(3) as "lastAt"
    from unkept_records where ${projectId === undefined ? sql`true` : sql`project_id = ${projectId}`}
    order by project_id, signal, count desc, name`
}
