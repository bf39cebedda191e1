/** Stores projects, which have keys and traces. A project's totals are the sums of its slots. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from 'postgres'
import { ifUnique } from '../../database/failure.ts'
import type { Client } from '../../database/pooled/cancellation.ts'
import type { SqlAccess } from '../../database/sql-access.ts'
import { PROJECT_TABLES, SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'
import { SCOPES } from '../../schema/scopes.ts'
import { lockRollups } from '../analytics/rollups/deltas.ts'
import { type AuditEntry, auditStep } from '../audit.ts'
import { emptying } from '../emptying.ts'
import { inTransaction, WRITE_LIMIT_MS } from '../transactions.ts'
import { announceProject } from './keys.ts'
import { RETENTION_COLUMN } from './retention.ts'

export interface ProjectRow {
  readonly id: number
  readonly accountId: number
  readonly name: string
  readonly slug: string
  readonly description: string
  /** Storage limit in bytes; null if the server's STORAGE_LIMIT_BYTES applies. */
  readonly storageLimit: number | null
  readonly createdAt: string
  /** Whether the project's traces can be searched by words (lib/store/search). */
  readonly search: boolean
  /** The project's Retention as JSON; null if traces are kept without limit. */
  readonly retention: string | null
  readonly traceCount: number
  readonly spanCount: number
  readonly estimatedBytes: number
  readonly lastTraceAt: string | null
}

export type NewProject = Pick<ProjectRow, 'accountId' | 'name' | 'slug' | 'description' | 'storageLimit'>

/** Stores a new project and returns its id. Returns undefined and stores nothing if the slug is taken. */
export async function insertProject(sql: Sql, project: NewProject): Promise<number | undefined> {
  const [row] = await sql<{ id: number }[]>`
    with made as (
      insert into projects (account_id, name, slug, description, storage_limit)
      values (${project.accountId}, ${project.name}, ${project.slug}, ${project.description}, ${project.storageLimit})
      on conflict on constraint projects_slug do nothing
      returning id, id as project_id
    )
    ${auditStep(sql, { by: null, action: 'project.create', projectId: 'source', detail: { slug: project.slug } }, sql`made`)}
    select id from made`
  return row?.id
}

/**
 * A project's totals. The totals are stored on the same server as the project's traces; the project's row is stored on
 * the same server as its keys.
 */
type Holdings = Pick<ProjectRow, 'traceCount' | 'spanCount' | 'estimatedBytes' | 'lastTraceAt'>

/** Returns a project with its totals; undefined if the project does not exist. */
export async function readProject(sql: Sql, id: number): Promise<ProjectRow | undefined> {
  const [row] = await sql.unsafe<ProjectRow[]>(ONE_PROJECT, [id], { prepare: true })
  return row
}

/**
 * Like `readProject`, for requests. If the project's tables are on a different server from its row, queries both
 * servers concurrently.
 */
export async function readProjectNear(sql: Pick<SqlAccess, 'read' | 'readOf' | 'isApart'>, id: number, client: Client) {
  if (!sql.isApart(id)) return sql.read(each => readProject(each, id), client)
  // The project's server is queried first because this query takes longer.
  const [[holdings], [row]] = await Promise.all([
    sql.readOf(id, async (each, names) => each.unsafe<[Holdings]>(holdingsOf(names), [id], { prepare: true }), client),
    sql.read(async each => each.unsafe<Omit<ProjectRow, keyof Holdings>[]>(BARE, [id], { prepare: true }), client)
  ])
  return row && { ...row, ...holdings }
}

const COLUMNS = `p.id, p.account_id as "accountId", p.name, p.slug, p.description, p.storage_limit as "storageLimit",
  p.created_at as "createdAt", p.search, ${RETENTION_COLUMN}`

/**
 * Returns SQL for project $1's totals. The sums are cast because the driver would return sums of type numeric as
 * strings.
 */
const holdingsOf = ({ traces, project_totals: totals }: TableNames): string => `
  select coalesce(sum(traces), 0)::bigint as "traceCount", coalesce(sum(spans), 0)::bigint as "spanCount",
    coalesce(sum(bytes), 0)::bigint as "estimatedBytes",
    (select max(ingested_at) from ${traces} where project_id = $1) as "lastTraceAt"
  from ${totals} where project_id = $1`
const BARE = `select ${COLUMNS} from projects p where p.id = $1`
/**
 * Totals are summed before the join because the tables may be on different servers. With a materialized CTE, the query
 * took 7 µs longer.
 */
const ONE_PROJECT = `
  with held as (${holdingsOf(SCHEMA_NAMES)})
  select ${COLUMNS}, held.* from projects p cross join held where p.id = $1`

/** Fields of a project that can change. An undefined field stays unchanged. */
export type ProjectChanges = { readonly [K in keyof NewProject]?: NewProject[K] | undefined }

/**
 * Changes a project, notifies the servers and writes the audit entry. Returns undefined if the project does not exist,
 * or `taken` if another project has the slug.
 */
export async function writeProject(
  sql: Sql,
  id: number,
  { name, slug, description, accountId, storageLimit }: ProjectChanges,
  audit: AuditEntry
): Promise<true | 'taken' | undefined> {
  return ifUnique(async () => {
    const [row] = await sql<[{ updated: boolean }]>`
      with changed as (
        update projects
        set name = coalesce(${name ?? null}, name), slug = coalesce(${slug ?? null}, slug),
          description = coalesce(${description ?? null}, description),
          account_id = coalesce(${accountId ?? null}::int, account_id),
          storage_limit = case when ${storageLimit !== undefined} then ${storageLimit ?? null}::bigint else storage_limit end
        where id = ${id} returning id, ${announceProject(sql)}
      )
      ${auditStep(sql, audit, sql`changed`)}
      select exists (select from changed) as updated`
    return row.updated || undefined
  }, 'taken')
}

/**
 * Deletes a project with its remaining keys, traces and derived data. The caller must ensure that no more writes to the
 * project begin. Rows of writes that are still in progress are deleted once these have ended. Returns false if the
 * project does not exist.
 */
export async function deleteProject(sql: Sql, id: number, audit: AuditEntry): Promise<boolean> {
  const deleted = await inTransaction(sql, async () => {
    await lockRollups(sql, id)
    const [row] = await sql<[{ deleted: boolean }]>`
      with gone as (
        delete from projects where id = ${id} returning id
      ), keys_gone as (
        delete from api_keys where project_id = ${id}
      )
      ${auditStep(sql, audit)}
      select exists (select from gone) as deleted`
    await sql.unsafe(EMPTYING, [id])
    return row.deleted
  })
  await endOfWrites(sql)
  await inTransaction(sql, async () => {
    await lockRollups(sql, id)
    await sql.unsafe(EMPTYING, [id])
  })
  return deleted
}

const EMPTYING = emptying(PROJECT_TABLES)

/** Waits until the transactions that are writing now have ended, but no longer than a write may take. */
async function endOfWrites(sql: Sql): Promise<void> {
  const [{ next }] = await sql<[{ next: string }]>`select pg_snapshot_xmax(pg_current_snapshot())::text as next`
  const end = performance.now() + WRITE_LIMIT_MS
  for (let isOver = false; !isOver && performance.now() < end; ) {
    const [row] = await sql<[{ isOver: boolean }]>`
      select pg_snapshot_xmin(pg_current_snapshot()) >= ${next}::text::xid8 as "isOver"`
    isOver = row.isOver
    if (!isOver) await delay(WRITE_POLL_MS)
  }
}
const WRITE_POLL_MS = 50

export async function findProject(sql: Sql, slug: string): Promise<number | undefined> {
  const [row] = await sql<{ id: number }[]>`select id from projects where slug = ${slug}`
  return row?.id
}

/** Returns all projects with their totals, in order of creation. */
export async function readProjects(sql: Sql): Promise<ProjectRow[]> {
  return sql.unsafe<ProjectRow[]>(ALL_PROJECTS, [], { prepare: true })
}

/** Totals are summed before the join, as in ONE_PROJECT. */
const ALL_PROJECTS = `
  with held as materialized (
    select counted.*, newest.ingested_at
    from (
      select project_id, sum(traces)::bigint as traces, sum(spans)::bigint as spans, sum(bytes)::bigint as bytes
      from project_totals group by project_id
    ) counted
    cross join lateral (
      select max(ingested_at) as ingested_at from traces where project_id = counted.project_id
    ) newest
  )
  select ${COLUMNS}, coalesce(h.traces, 0) as "traceCount", coalesce(h.spans, 0) as "spanCount",
    coalesce(h.bytes, 0) as "estimatedBytes", h.ingested_at as "lastTraceAt"
  from projects p left join held h on h.project_id = p.id
  order by p.id`

export async function hasProjects(sql: Sql): Promise<boolean> {
  const [row] = await sql<[{ has: boolean }]>`select exists (select from projects) as has`
  return row.has
}

/**
 * In one statement, creates a project, a key with every scope and, if there is none, an owner account. Returns the
 * project's id. If a project already exists, creates nothing and returns undefined. If two processes start at the
 * same time, the slower statement fails as a whole because the slug is taken.
 */
export async function insertFirstProject(
  sql: Sql,
  key: { readonly id: string; readonly digest: Buffer },
  { slug, name }: Pick<NewProject, 'slug' | 'name'> = { slug: 'default', name: 'Default' }
): Promise<number | undefined> {
  return ifUnique(async () => {
    const [row] = await sql<{ projectId: number }[]>`
      with empty as (
        select 1 where not exists (select from projects)
      ), found as (
        select id from accounts where type = 'owner' order by id limit 1
      ), made as (
        insert into accounts (name) select 'owner' from empty where not exists (select from found) returning id
      ), project as (
        insert into projects (account_id, name, slug)
        select owner.id, ${name}, ${slug} from empty, (select id from found union all select id from made) owner
        returning id
      )
      insert into api_keys (id, digest, project_id, label, scopes)
      select ${key.id}, ${key.digest}::bytea, id, 'first start', ${[...SCOPES]}::text[] from project
      returning project_id as "projectId"`
    return row?.projectId
  }, undefined)
}
