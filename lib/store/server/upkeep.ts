/**
 * Reads what operators must fix before it causes an outage: backups, expiring keys, storage and PostgreSQL's settings.
 */
import type { Sql } from 'postgres'

export interface Upkeep {
  /** Settings of PostgreSQL that are off, although data may be lost or tables may bloat without them. */
  readonly careless: readonly string[]
  /** Age of the oldest transaction id in use. PostgreSQL stops writes a little before 2^31. */
  readonly transactionAge: number
  /** When `spoor backup` last completed; null if it never did. */
  readonly lastBackupAt: string | null
  /** Keys that are in use and expire soon, the first to expire first. */
  readonly expiringKeys: readonly ExpiringKey[]
  /** The largest share of its storage limit that a project uses. */
  readonly storageUsed: number
}

export interface ExpiringKey {
  readonly id: string
  readonly label: string
  readonly project: string
  readonly expiresAt: string
}

export const EXPIRY_DAYS = 14
/** A key that was made for a shorter time expires as intended. */
const LEAST_LIFE_DAYS = 30
/** The expiry of a key that was unused for this long needs no warning. */
const UNUSED_DAYS = 7
/** Number of audit entries among which the last backup is looked for, so that a long log costs little. */
const MOST_ENTRIES = 100_000

/** SQL for the names of the settings that are off although data may be lost or tables may bloat without them. */
export const carelessSettings = (sql: Sql) => sql`array(
  select name from pg_settings
  where name in ('fsync', 'synchronous_commit', 'full_page_writes', 'autovacuum') and setting = 'off' order by name
)`

export async function readUpkeep(sql: Sql, defaultLimitBytes: number): Promise<Upkeep> {
  const [row] = await sql<[Omit<Upkeep, 'expiringKeys'>]>`
    select
      ${carelessSettings(sql)} as careless,
      (select age(datfrozenxid) from pg_database where datname = current_database()) as "transactionAge",
      (
        select at from audit where action = 'backup' and id > (select max(id) from audit) - ${MOST_ENTRIES}
        order by id desc limit 1
      ) as "lastBackupAt",
      coalesce((
        select max(held.bytes / greatest(coalesce(p.storage_limit, ${defaultLimitBytes}), 1))
        from projects p
        join (select project_id, sum(bytes)::float8 as bytes from project_totals group by project_id) held
          on held.project_id = p.id
      ), 0) as "storageUsed"`
  const expiringKeys = await sql<ExpiringKey[]>`
    select k.id, k.label, p.slug as project, k.expires_at as "expiresAt"
    from api_keys k join projects p on p.id = k.project_id
    where k.revoked_at is null and k.expires_at > now() and k.expires_at < now() + ${EXPIRY_DAYS} * interval '1 day'
      and k.expires_at > k.created_at + ${LEAST_LIFE_DAYS} * interval '1 day'
      and k.last_used_at > now() - ${UNUSED_DAYS} * interval '1 day'
    order by k.expires_at, k.id`
  return { ...row, expiringKeys }
}
