/** Projects, which have keys and traces. The totals of a project are summed over its slots. */
import type { Sql } from 'postgres'

export interface ProjectRow {
  readonly id: number
  readonly accountId: number
  readonly name: string
  readonly slug: string
  readonly description: string
  /** In bytes; null if the server's STORAGE_LIMIT_BYTES applies. */
  readonly storageLimit: number | null
  readonly createdAt: string
  readonly traceCount: number
  readonly spanCount: number
  readonly estimatedBytes: number
  readonly lastTraceAt: string | null
}

export interface NewProject {
  readonly accountId: number
  readonly name: string
  readonly slug: string
  readonly description: string
  readonly storageLimit: number | null
}

/** Stores a new project and returns its id. Undefined, and nothing is stored, if the slug is taken. */
export async function insertProject(sql: Sql, project: NewProject): Promise<number | undefined> {
  const [row] = await sql<{ id: number }[]>`
    insert into projects (account_id, name, slug, description, storage_limit)
    values (${project.accountId}, ${project.name}, ${project.slug}, ${project.description}, ${project.storageLimit})
    on conflict on constraint projects_slug do nothing
    returning id`
  return row?.id
}

/** The project with its totals; undefined if there is none. */
export async function readProject(sql: Sql, id: number): Promise<ProjectRow | undefined> {
  const [row] = await sql<ProjectRow[]>`${projectRows(sql)} where p.id = ${id}`
  return row
}

/** The id of the project with this slug, or undefined. */
export async function findProject(sql: Sql, slug: string): Promise<number | undefined> {
  const [row] = await sql<{ id: number }[]>`select id from projects where slug = ${slug}`
  return row?.id
}

/** All projects with their totals, in the order in which they were made. */
export async function listProjects(sql: Sql): Promise<ProjectRow[]> {
  return sql<ProjectRow[]>`${projectRows(sql)} order by p.id`
}

/** The sums are cast to bigint, because a sum of bigints is numeric, which the driver returns as text. */
function projectRows(sql: Sql) {
  return sql`
    select p.id, p.account_id as "accountId", p.name, p.slug, p.description, p.storage_limit as "storageLimit",
      p.created_at as "createdAt", totals.traces as "traceCount", totals.spans as "spanCount",
      totals.bytes as "estimatedBytes", newest.ingested_at as "lastTraceAt"
    from projects p
    cross join lateral (
      select coalesce(sum(traces), 0)::bigint as traces, coalesce(sum(spans), 0)::bigint as spans,
        coalesce(sum(bytes), 0)::bigint as bytes
      from project_totals where project_id = p.id
    ) totals
    cross join lateral (select max(ingested_at) as ingested_at from traces where project_id = p.id) newest`
}
