/**
 * How far a restore is: the rows `restore.begin` and `restore.end` of `audit` say it, so that one that was ended in the
 * middle can go on. And what stands in the way of one that begins.
 */
import type { Sql } from 'postgres'
import { ADVISORY_LOCK } from '../../database/advisory-locks.ts'
import type { InstanceHead } from './backup-head.ts'

/** The numbers that things of the backup have here, by those that they have there. */
export type Numbers = ReadonlyMap<number, number>

export interface Restoration {
  /** The id of the backup. */
  readonly backup: string
  /** Whether it goes beside what was there. If not, all numbers stay as they are. */
  readonly into: boolean
  readonly accounts: Numbers
  readonly projects: Numbers
  readonly users: Numbers
}

/** How far a restore of this backup is here: undefined if there was none. */
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

/** What stands in the way of a restore. */
export interface Occupation {
  readonly accounts: number
  readonly projects: number
  readonly users: number
  /** Those of the backup that are taken here. */
  readonly slugs: readonly string[]
  readonly keys: readonly string[]
}

export async function readOccupation(sql: Sql, { projects, keys }: InstanceHead): Promise<Occupation> {
  const [row] = await sql<[Occupation]>`
    select (select count(*) from accounts) as accounts, (select count(*) from projects) as projects,
      (select count(*) from users) as users,
      array(select slug from projects where slug = any (${projects.map(({ slug }) => slug)}::text[]) order by id) as slugs,
      array(select id from api_keys where id = any (${keys.map(({ id }) => id)}::text[]) order by id) as keys`
  return row
}

/** Whether this connection is the only one that restores. It stays so until `unlockRestore`, or until it is closed. */
export async function lockRestore(sql: Sql): Promise<boolean> {
  const [row] = await sql<[{ locked: boolean }]>`select pg_try_advisory_lock(${ADVISORY_LOCK.restore}) as locked`
  return row.locked
}

/** A connection that is lost has given the lock back already. */
export async function unlockRestore(sql: Sql): Promise<void> {
  await sql`select pg_advisory_unlock(${ADVISORY_LOCK.restore})`.catch(() => {})
}

/** Whether the database knows a KEY_DIGEST_SECRET. */
export async function hasFingerprint(sql: Sql): Promise<boolean> {
  const [row] = await sql<[{ has: boolean }]>`select exists (select from key_digest_secret) as has`
  return row.has
}
