/**
 * Reads a restore's progress from the `restore.begin` and `restore.end` rows of `audit`, so that an interrupted restore
 * can continue. Also finds rows that would conflict with a new restore.
 */
import type { Sql } from 'postgres'
import { ADVISORY_LOCK } from '../../database/advisory-locks.ts'
import type { InstanceHead } from './backup-head.ts'

/** Maps ids in the backup to ids in this instance. */
export type Numbers = ReadonlyMap<number, number>

export interface Restoration {
  /** Id of the backup. */
  readonly backup: string
  /** Whether the backup is restored into a database that already has rows. If false, all ids are kept. */
  readonly into: boolean
  readonly accounts: Numbers
  readonly projects: Numbers
  readonly users: Numbers
  /** If a single project is restored, its id in the backup and its final slug. */
  readonly project?: { readonly id: number; readonly slug: string }
}

/** Returns the progress of this backup's restore; undefined if no restore has begun. */
export async function readRestoration(
  sql: Sql,
  backup: string
): Promise<{ readonly ended: boolean; readonly restoration: Restoration } | undefined> {
  const rows = await sql<{ action: string; detail: string }[]>`
    select action, detail from audit
    where action in ('restore.begin', 'restore.end') and detail->>'backup' = ${backup}
      and detail->'project' is null
    order by id`
  const begun = rows.find(({ action }) => action === 'restore.begin')
  if (begun === undefined) return undefined
  const { into, accounts, projects, users } = JSON.parse(begun.detail)
  return {
    ended: rows.some(({ action }) => action === 'restore.end'),
    restoration: { backup, into, accounts: new Map(accounts), projects: new Map(projects), users: new Map(users) }
  }
}

/**
 * Returns the progress of the restore of one project. Returns undefined if none has begun, the last one has ended, or
 * the project that it created was deleted.
 */
export async function readProjectRestoration(
  sql: Sql,
  backup: string,
  { project, slug }: { readonly project: { readonly id: number }; readonly slug: string }
): Promise<{ readonly projectId: number; readonly restoration: Restoration } | undefined> {
  const [last] = await sql<{ action: string; detail: string; projectId: number | null }[]>`
    select a.action, a.detail, p.id as "projectId" from audit a left join projects p on p.id = a.project_id
    where action in ('restore.begin', 'restore.end') and detail->>'backup' = ${backup}
      and detail->'project'->>'id' = ${String(project.id)} and detail->'project'->>'slug' = ${slug}
    order by a.id desc limit 1`
  if (last === undefined || last.action === 'restore.end' || last.projectId === null) return undefined
  const { accounts, projects, users } = JSON.parse(last.detail)
  const numbers = { accounts: new Map(accounts), projects: new Map(projects), users: new Map(users) } as {
    [K in 'accounts' | 'projects' | 'users']: Numbers
  }
  return {
    projectId: last.projectId,
    restoration: { backup, into: true, ...numbers, project: { id: project.id, slug } }
  }
}

/** Returns a slug of the project that another project already uses, if any, and the project's keys that exist here. */
export async function readTaken(
  sql: Sql,
  { slug, pendingSlug, keys }: { slug: string; pendingSlug: string; keys: readonly { readonly id: string }[] },
  own: number | undefined
): Promise<{ readonly slug: string | undefined; readonly keys: readonly string[] }> {
  const [row] = await sql<[{ slugs: string[]; keys: string[] }]>`
    select array(
        select slug from projects where slug in (${slug}, ${pendingSlug}) and id <> ${own ?? 0} order by id
      ) as slugs,
      array(select id from api_keys where id = any (${keys.map(({ id }) => id)}::text[]) order by id) as keys`
  return { slug: row.slugs[0], keys: row.keys }
}

/** Maps the backup's users to the users here that have the same addresses. */
export async function findUsers(
  sql: Sql,
  users: readonly { readonly id: number; readonly email: string }[]
): Promise<Numbers> {
  const rows = await sql<{ id: number; email: string }[]>`
    select id, email from users where email = any (${users.map(({ email }) => email)}::text[])`
  const here = new Map(rows.map(({ id, email }) => [email, id]))
  return new Map(users.flatMap(({ id, email }) => (here.has(email) ? [[id, here.get(email) as number]] : [])))
}

/** Rows of this instance that may conflict with a restore. */
export interface Occupation {
  readonly accounts: number
  readonly projects: number
  readonly users: number
  /** Slugs of the backup that already exist here. */
  readonly slugs: readonly string[]
  /** Ids of the backup's keys that already exist here. */
  readonly keys: readonly string[]
}

export async function readOccupation(sql: Sql, head: Pick<InstanceHead, 'projects' | 'keys'>): Promise<Occupation> {
  const { projects, keys } = head
  const [row] = await sql<[Occupation]>`
    select (select count(*) from accounts) as accounts, (select count(*) from projects) as projects,
      (select count(*) from users) as users,
      array(select slug from projects where slug = any (${projects.map(({ slug }) => slug)}::text[]) order by id) as slugs,
      array(select id from api_keys where id = any (${keys.map(({ id }) => id)}::text[]) order by id) as keys`
  return row
}

/**
 * Takes the restore lock, which is held until `unlockRestore` is called or the connection ends. Returns false if the
 * lock is already held.
 */
export async function lockRestore(sql: Sql): Promise<boolean> {
  const [row] = await sql<[{ locked: boolean }]>`select pg_try_advisory_lock(${ADVISORY_LOCK.restore}) as locked`
  return row.locked
}

/** Releases the restore lock. Ignores errors, because a lost connection has already released the lock. */
export async function unlockRestore(sql: Sql): Promise<void> {
  await sql`select pg_advisory_unlock(${ADVISORY_LOCK.restore})`.catch(() => {})
}

/** Whether a KEY_DIGEST_SECRET's fingerprint is stored. */
export async function hasFingerprint(sql: Sql): Promise<boolean> {
  const [row] = await sql<[{ has: boolean }]>`select exists (select from key_digest_secret) as has`
  return row.has
}
