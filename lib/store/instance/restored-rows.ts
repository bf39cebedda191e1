/**
 * Writes a backup's contents, except traces. A restore has three stages: a transaction that creates the accounts,
 * projects and users; the import of the traces; and a transaction that restores access for people and keys.
 */
import type { Sql } from 'postgres'
import { NUMBERED_TABLES } from '../../database/tables.ts'
import { writeAudit } from '../audit.ts'
import type { ModelPrice } from '../projects/prices.ts'
import { writeProject } from '../projects/projects.ts'
import type { BackupAccount, BackupProject, BackupSecret, BackupUser, InstanceHead } from './backup-head.ts'
import type { Numbers, Restoration } from './restoration.ts'

/**
 * Creates the accounts, projects and users. Passwords and memberships are restored later, so nobody can sign in until
 * then. A user whose address exists here is mapped to the existing user. Must run in a transaction.
 */
export async function beginRestore(
  sql: Sql,
  backup: string,
  into: boolean,
  head: Pick<InstanceHead, 'accounts' | 'projects' | 'users'>
): Promise<Restoration> {
  const accounts = await numbered(head.accounts, account => insertAccount(sql, account, into))
  const projects = await numbered(head.projects, project =>
    insertProject(sql, { ...project, accountId: accounts.get(project.accountId) as number }, into)
  )
  const users = await numbered(head.users, user => insertUser(sql, user, into))
  if (!into) await raiseSequences(sql)
  const detail = { backup, into, accounts: [...accounts], projects: [...projects], users: [...users] }
  await writeAudit(sql, { by: null, action: 'restore.begin', detail })
  return { backup, into, accounts, projects, users }
}

/** A project in a backup, and the account and users that replace the project's own in this database. */
export interface FittedProject {
  readonly project: BackupProject
  readonly accountId: number
  readonly users: Numbers
  readonly slug: string
  readonly pendingSlug: string
}

/** Creates one project of a backup, under the slug that it has until the restore is complete. */
export async function beginProjectRestore(sql: Sql, backup: string, fitted: FittedProject): Promise<Restoration> {
  const { project, accountId, users, slug, pendingSlug } = fitted
  const id = await insertProject(sql, { ...project, accountId, slug: pendingSlug }, true)
  const accounts: Numbers = new Map([[project.accountId, accountId]])
  const projects: Numbers = new Map([[project.id, id]])
  const chosen = { id: project.id, slug }
  const detail = { backup, project: chosen, accounts: [...accounts], projects: [...projects], users: [...users] }
  await writeAudit(sql, { by: null, action: 'restore.begin', projectId: id, detail })
  return { backup, into: true, accounts, projects, users, project: chosen }
}

async function numbered<T extends { readonly id: number }>(items: readonly T[], insert: (item: T) => Promise<number>) {
  const numbers = new Map<number, number>()
  for (const item of items) numbers.set(item.id, await insert(item))
  return numbers
}

async function insertAccount(sql: Sql, account: BackupAccount, into: boolean) {
  const { id, name, type, trialUsed, createdAt, requiresFactor = false } = account
  const [row] = await sql<[{ id: number }]>`
    insert into accounts (id, name, type, trial_used, created_at, requires_factor) overriding system value
    values (${nextId(sql, 'accounts', id, into)}, ${name}, ${type}, ${trialUsed}, ${createdAt},
      ${requiresFactor}) returning id`
  return row.id
}

async function insertProject(sql: Sql, project: BackupProject, into: boolean): Promise<number> {
  const { id, accountId, name, slug, description, storageLimit, usageTags = [], retention, createdAt } = project
  const { days = null, keepsScored = false, keepsTags = [] } = retention ?? {}
  const [row] = await sql<[{ id: number }]>`
    insert into projects (id, account_id, name, slug, description, storage_limit, usage_tags, created_at,
      retention_days, retention_keeps_scored, retention_keeps_tags)
      overriding system value
    values (${nextId(sql, 'projects', id, into)}, ${accountId}, ${name}, ${slug}, ${description}, ${storageLimit},
      ${usageTags}::text[], ${createdAt}, ${days}, ${keepsScored}, ${keepsTags}::text[]) returning id`
  return row.id
}

/** Advances the sequences so that new ids follow the restored ids. */
async function raiseSequences(sql: Sql): Promise<void> {
  for (const table of NUMBERED_TABLES) {
    await sql`
      select setval(pg_get_serial_sequence(${table}, 'id'), (select max(id) from ${sql(table)}))
      where exists (select from ${sql(table)})`
  }
}

/** Rows that grant access (passwords, memberships, keys and their secret's fingerprint), and users' saved views. */
export interface Admissions extends Pick<InstanceHead, 'prices' | 'projects' | 'users' | 'members' | 'keys'> {
  /** Fingerprint to store; if undefined, the existing fingerprint is kept. */
  readonly secret: BackupSecret | undefined
  readonly revokeKeys: boolean
}

const BATCH_ROWS = 1000

/**
 * Completes a restore. Must run in the transaction that stores the audit entries. A project restored on its own gets
 * its slug now; returns false if another project has taken the slug, and the transaction must then be rolled back.
 */
export async function endRestore(sql: Sql, restoration: Restoration, admissions: Admissions): Promise<boolean> {
  const { users, members, keys, secret, revokeKeys } = admissions
  const { backup, accounts, projects } = restoration
  const searched = admissions.projects.flatMap(({ id, search }) => (search ? [projects.get(id) as number] : []))
  await admitUsers(sql, restoration.users, users, members)
  for (const { accountId, userId, role, byClaim = false, createdAt } of members) {
    await sql`
      insert into memberships (account_id, user_id, role, by_claim, created_at)
      values (${accounts.get(accountId) ?? null}, ${restoration.users.get(userId) ?? null}, ${role}, ${byClaim}, ${createdAt})`
  }
  for (const { id, views = [] } of admissions.projects) {
    for (const { userId, name, page, query, createdAt } of views) {
      const owner = userId === null ? null : (restoration.users.get(userId) as number)
      await sql`
        insert into saved_views (project_id, user_id, name, page, query, created_at)
        values (${projects.get(id) ?? null}, ${owner}, ${name}, ${page}, ${query}, ${createdAt})`
    }
  }
  // If the backup is restored into a database that already has projects, the database's prices for all projects stay
  // unchanged.
  if (!restoration.into) await insertPrices(sql, null, admissions.prices)
  for (const { id, prices = [] } of admissions.projects) await insertPrices(sql, projects.get(id) as number, prices)
  for (const { id, scoreDefinitions = [] } of admissions.projects) {
    for (const [i, each] of scoreDefinitions.entries()) {
      const { name, dataType, minimum, maximum, categories, description } = each
      // Definitions are listed by the time at which they were created, so their times follow their order in the backup.
      await sql`
        insert into score_definitions (project_id, name, data_type, minimum, maximum, categories, description,
          created_at)
        values (${projects.get(id) as number}, ${name}, ${dataType}, ${minimum}, ${maximum}, ${categories}::text[],
          ${description}, now() + ${i} * interval '1 microsecond')`
    }
  }
  if (secret !== undefined) {
    await sql`
      insert into key_digest_secret (salt, fingerprint, made_at)
      values (${secret.salt}, ${secret.fingerprint}, ${secret.madeAt})
      on conflict (single) do update
        set salt = excluded.salt, fingerprint = excluded.fingerprint, made_at = excluded.made_at`
  }
  for (let at = 0; at < keys.length; at += BATCH_ROWS) {
    const rows = keys
      .slice(at, at + BATCH_ROWS)
      .map(key => ({ ...key, projectId: projects.get(key.projectId) ?? null }))
    await sql`
      insert into api_keys (id, project_id, label, scopes, environment, digest, created_at, expires_at, last_used_at,
        revoked_at)
      select id, "projectId", label, scopes, environment, decode(digest, 'hex'), "createdAt", "expiresAt", "lastUsedAt",
        case when ${revokeKeys} then coalesce("revokedAt", now()) else "revokedAt" end
      from json_to_recordset(${JSON.stringify(rows)}::json) as r (
        id text, "projectId" int, label text, scopes text[], environment text, digest text, "createdAt" timestamptz,
        "expiresAt" timestamptz, "lastUsedAt" timestamptz, "revokedAt" timestamptz
      )`
  }
  // Search is enabled only now, so that the backup's traces are indexed like traces from before search was turned on.
  await sql`update projects set search = true where id = any (${searched}::int[])`
  const { project } = restoration
  if (project === undefined) {
    await writeAudit(sql, { by: null, action: 'restore.end', detail: { backup } })
    return true
  }
  const projectId = projects.get(project.id) as number
  const audit = { by: null, action: 'restore.end', projectId, detail: { backup, project } } as const
  return (await writeProject(sql, projectId, { slug: project.slug }, audit)) === true
}

async function insertPrices(sql: Sql, projectId: number | null, prices: readonly ModelPrice[]): Promise<void> {
  for (const { model, from, input, output, cacheRead, cacheWrite } of prices) {
    await sql`
      insert into model_prices (project_id, model, valid_from, input, output, cache_read, cache_write)
      values (${projectId}, ${model}, ${from}, ${input}, ${output}, ${cacheRead}, ${cacheWrite})`
  }
}

/** Creates a user without a password. A user whose address exists here is mapped to the existing user. */
async function insertUser(sql: Sql, { id, email, name, createdAt }: BackupUser, into: boolean): Promise<number> {
  const [row] = await sql<{ id: number }[]>`
    insert into users (id, email, name, created_at) overriding system value
    values (${nextId(sql, 'users', id, into)}, ${email}, ${name}, ${createdAt})
    on conflict on constraint users_email do nothing returning id`
  if (row !== undefined) return row.id
  const [known] = await sql<[{ id: number }]>`select id from users where email = ${email}`
  return known.id
}

/**
 * Restores users' passwords, second factors and identities. Must run before memberships are restored, because users
 * who already belong to an account in this database keep theirs. `restored` maps users' ids in the backup to ids here.
 */
async function admitUsers(
  sql: Sql,
  restored: ReadonlyMap<number, number>,
  users: readonly BackupUser[],
  members: readonly { readonly userId: number; readonly byClaim?: boolean }[]
): Promise<void> {
  for (const { id, password, identities, factor, oidcEmailUntil = null } of users) {
    const own = restored.get(id) as number
    const [changed] = await sql`
      update users u set password = coalesce(password, ${password}), oidc_email_until = ${oidcEmailUntil} where id = ${own}
        and not exists (select from memberships m where m.user_id = u.id)
      returning id`
    if (changed === undefined) continue
    if (factor !== undefined) {
      const { secret, confirmedAt, recovery } = factor
      await sql`
        insert into second_factors (user_id, secret, confirmed_at, recovery)
        values (${own}, ${secret}, ${confirmedAt}, ${recovery}) on conflict do nothing`
    }
    // An identity that is already linked to a user here stays linked to that user.
    for (const { issuer, subject, linkedAt } of identities ?? []) {
      await sql`
        insert into oidc_identities (issuer, subject, user_id, linked_at)
        values (${issuer}, ${subject}, ${own}, ${linkedAt}) on conflict do nothing`
    }
  }
  // A backup without identities predates sql/0012-identities.sql, so its users are treated as that migration treats
  // existing users.
  const before = users.filter(({ identities }) => identities === undefined).map(({ id }) => id)
  const claimed = members.filter(({ userId, byClaim }) => byClaim === true && before.includes(userId))
  await sql`
    update users u set oidc_email_until = now() + interval '90 days'
    where id = any (${claimed.map(({ userId }) => restored.get(userId) as number)}::int[])
      and not exists (select from memberships m where m.user_id = u.id)`
}

/** Returns SQL for a new id if the database already has rows, otherwise for the row's original id. */
const nextId = (sql: Sql, table: string, id: number, into: boolean) =>
  into ? sql`nextval(pg_get_serial_sequence(${table}, 'id'))` : sql`${id}::int`
