/** Reads and restores the users of a backup. */
import type { Sql } from 'postgres'

export interface BackupUser {
  readonly id: number
  readonly email: string
  readonly name: string
  /** Stored hash, never the password itself. */
  readonly password: string | null
  readonly createdAt: string
  /** Identities at OpenID Connect providers. Absent in backups made before identities were stored. */
  readonly identities?: BackupIdentity[]
  /** Time until which an identity can be linked to the user by email address alone (sql/0012-identities.sql). */
  readonly oidcEmailUntil?: string | null
}

export interface BackupIdentity {
  readonly issuer: string
  readonly subject: string
  readonly linkedAt: string
}

export async function readUsers(sql: Sql): Promise<BackupUser[]> {
  const users = await sql<BackupUser[]>`
    select id, email, name, password, created_at as "createdAt", oidc_email_until as "oidcEmailUntil"
    from users order by id`
  const identities = await sql<(BackupIdentity & { userId: number })[]>`
    select user_id as "userId", issuer, subject, linked_at as "linkedAt"
    from oidc_identities order by user_id, issuer, subject`
  const byUser = new Map<number, BackupIdentity[]>(users.map(({ id }) => [id, []]))
  for (const { userId, ...identity } of identities) byUser.get(userId)?.push(identity)
  return users.map(user => ({ ...user, identities: byUser.get(user.id) ?? [] }))
}

/** Creates a user without a password. A user whose address exists here is mapped to the existing user. */
export async function insertUser(sql: Sql, { id, email, name, createdAt }: BackupUser, into: boolean): Promise<number> {
  const [row] = await sql<{ id: number }[]>`
    insert into users (id, email, name, created_at) overriding system value
    values (${nextId(sql, 'users', id, into)}, ${email}, ${name}, ${createdAt})
    on conflict on constraint users_email do nothing returning id`
  if (row !== undefined) return row.id
  const [known] = await sql<[{ id: number }]>`select id from users where email = ${email}`
  return known.id
}

/**
 * Restores users' passwords and identities. Must run before memberships are restored, because users who already belong
 * to an account in this database keep their passwords and identities. `restored` maps users' ids in the backup to ids
 * here.
 */
export async function admitUsers(
  sql: Sql,
  restored: ReadonlyMap<number, number>,
  users: readonly BackupUser[],
  members: readonly { readonly userId: number; readonly byClaim?: boolean }[]
): Promise<void> {
  for (const { id, password, identities, oidcEmailUntil = null } of users) {
    const own = restored.get(id) as number
    const [changed] = await sql`
      update users u set password = coalesce(password, ${password}), oidc_email_until = ${oidcEmailUntil} where id = ${own}
        and not exists (select from memberships m where m.user_id = u.id)
      returning id`
    if (changed !== undefined) await insertIdentities(sql, own, identities ?? [])
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

/** Stores identities. An identity that is already linked to a user here stays linked to that user. */
async function insertIdentities(sql: Sql, userId: number, identities: readonly BackupIdentity[]): Promise<void> {
  for (const { issuer, subject, linkedAt } of identities) {
    await sql`
      insert into oidc_identities (issuer, subject, user_id, linked_at)
      values (${issuer}, ${subject}, ${userId}, ${linkedAt}) on conflict do nothing`
  }
}

/** Returns SQL for a new id if the database already has rows, otherwise for the row's original id. */
export const nextId = (sql: Sql, table: string, id: number, into: boolean) =>
  into ? sql`nextval(pg_get_serial_sequence(${table}, 'id'))` : sql`${id}::int`
