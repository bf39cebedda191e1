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
}

/** Returns the progress of this backup's restore; undefined if no restore has begun. */
export async function readRestoration(
  sql: Sql,
  backup: string
): Promise<{ readonly ended: boolean; readonly restoration: Restoration } | undefined> {
  const rows = await sql<{ action: string; detail: string }[]>`
    select action, detail from audit
    where action in ('restore.begin', 'restore.end') and detail->>'backup' = ${backup}
    order by id`
  const begun = rows.find(({ action }) => action === 'restore.begin')
  if (begun === undefined) return undefined
  const { into, accounts, projects, users } = JSON.parse(begun.detail)
  return {
    ended: rows.some(({ action }) => action === 'restore.end'),
    restoration: { backup, into, accounts: new Map(accounts), projects: new Map(projects), users: new Map(users) }
  }
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
