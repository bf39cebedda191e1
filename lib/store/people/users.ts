/** Users, and their roles in accounts. */
import type { Sql } from 'postgres'
import type { Role } from '../../schema/roles.ts'
import { auditOf, auditStep } from '../audit.ts'
import { announcePeople, inTurn } from './sessions.ts'

export interface UserRow {
  readonly id: number
  readonly email: string
  readonly name: string
  readonly hasPassword: boolean
  readonly createdAt: string
  /** The user's memberships as a JSON string, such as `[{"account":"1","role":"owner"}, …]`. */
  readonly memberships: string
  /** Latest use of any of the user's sessions; null if there are no sessions. */
  readonly seenAt: string | null
}

/** Returns all users, in order of creation. */
export async function readAllUsers(sql: Sql): Promise<UserRow[]> {
  return sql<UserRow[]>`${userRows(sql)} order by u.id`
}

/** Returns the user with this email address, which must be in lower case. */
export async function findUser(sql: Sql, email: string): Promise<UserRow | undefined> {
  const [row] = await sql<UserRow[]>`${userRows(sql)} where u.email = ${email}`
  return row
}

function userRows(sql: Sql) {
  return sql`
    select u.id, u.email, u.name, u.password is not null as "hasPassword", u.created_at as "createdAt",
      coalesce((
        select json_agg(json_build_object('account', account_id::text, 'role', role) order by account_id)
        from memberships where user_id = u.id
      ), '[]') as memberships,
      (select max(seen_at) from web_sessions where user_id = u.id and expires_at > now()) as "seenAt"
    from users u`
}

/**
 * Creates the first user, as owner of the oldest owner account, if there are no users. Does nothing if no owner account
 * exists. Of several concurrent processes, only one creates the user.
 */
export async function insertFirstUser(sql: Sql, email: string): Promise<void> {
  await insertInOldest(sql, { email, role: 'owner' }, sql`not exists (select from users)`)
}

/** Creates a user in the oldest owner account, if the condition holds. An existing user stays unchanged. */
async function insertInOldest(
  sql: Sql,
  detail: { readonly email: string; readonly role: Role; readonly means?: string },
  condition = sql`true`
): Promise<void> {
  const { email, role } = detail
  await sql`
    with account as (
      select id from accounts where type = 'owner' and ${condition} order by id limit 1
    ), made as (
      insert into users (email) select ${email} from account on conflict do nothing returning id as user_id
    ), added as (
      insert into memberships (account_id, user_id, role) select account.id, made.user_id, ${role} from account, made
    )
    ${auditOf(sql, { by: null, action: 'user.add', detail }, sql`made`)}`
}

/**
 * Returns the owner on whose behalf a server's terminal acts: the user with the address `firstUser`, or the oldest
 * owner.
 */
export async function findOperator(sql: Sql, firstUser: string): Promise<number | undefined> {
  const [row] = await sql<{ id: number }[]>`
    select u.id from users u
    where exists (select from memberships where user_id = u.id and role = 'owner')
    order by u.email <> ${firstUser}, u.id limit 1`
  return row?.id
}

export async function hasUsers(sql: Sql): Promise<boolean> {
  const [row] = await sql<[{ has: boolean }]>`select exists (select from users) as has`
  return row.has
}

/**
 * Makes a person a member of an account, and creates the user if necessary. Another account's owner may have used a
 * link to sign in as an existing user. An existing user is therefore signed out everywhere and, unless already a member
 * of this account, loses their password. An existing membership gets the new role.
 */
export async function addUserRow(
  sql: Sql,
  user: { readonly email: string; readonly name: string; readonly accountId: number; readonly role: Role }
): Promise<void> {
  const { email, name, accountId, role } = user
  const add = () => sql`
    with found as (
      select id as user_id from users where email = ${email}
    ), known as (
      select user_id from memberships where account_id = ${accountId} and user_id in (select user_id from found)
    ), made as (
      insert into users (email, name) values (${email}, ${name})
      on conflict (email) do update set
        name = case when excluded.name = '' then users.name else excluded.name end,
        password = case when exists (select from known) then users.password end
      returning id as user_id, ${announcePeople(sql)} as announced
    ), added as (
      insert into memberships (account_id, user_id, role) select ${accountId}, user_id, ${role} from made
      on conflict (account_id, user_id) do update set role = excluded.role, by_claim = false
    ), ended as (
      delete from web_sessions where user_id in (select user_id from found)
    ), links as (
      delete from sign_in_links where user_id in (select user_id from found)
    )
    ${auditOf(sql, { by: null, action: 'user.add', accountId, detail: { email, role } }, sql`made`)}`
  await inTurn(sql, add)
}

/** Creates a user authenticated by a trusted proxy, in the oldest owner account. Existing users stay unchanged. */
export const insertVouchedUser = (sql: Sql, email: string, role: Role): Promise<void> =>
  insertInOldest(sql, { email, role, means: 'proxy' })

/**
 * Deletes a user with all memberships, sessions and links. Deletes nothing and returns false if an account would lose
 * its last owner.
 */
export async function deleteUser(sql: Sql, userId: number, email: string): Promise<boolean> {
  const [row] = await sql<[{ gone: boolean }]>`
    with owned as (
      -- The rows are locked and reread, so that one owner remains if two leave at once.
      select account_id, user_id from memberships
      where role = 'owner' and account_id in (select account_id from memberships where user_id = ${userId} and role = 'owner')
      order by account_id, user_id for update
    ), orphaned as (
      select account_id from owned group by account_id having bool_and(user_id = ${userId})
    ), gone as (
      delete from users where id = ${userId} and not exists (select from orphaned)
      returning id as user_id, ${announcePeople(sql)} as announced
    )
    ${auditStep(sql, { by: null, action: 'user.remove', detail: { user: userId, email } }, sql`gone`)}
    select exists (select from gone) as gone`
  return row.gone
}

export interface SeenProject {
  readonly slug: string
  readonly name: string
  readonly role: Role
  /** Whether the project's traces can be searched by words. */
  readonly search: boolean
}

/** Returns the projects that a user may see, in order of creation. */
export async function listSeenProjects(sql: Sql, userId: number): Promise<SeenProject[]> {
  return sql<SeenProject[]>`
    select p.slug, p.name, m.role, p.search from memberships m join projects p on p.account_id = m.account_id
    where m.user_id = ${userId} order by p.id`
}

/** Returns the slug of the oldest project that the user may see and that contains this trace. */
export async function findSeenTrace(sql: Sql, userId: number, traceId: string): Promise<string | undefined> {
  const seen = await sql<{ id: number; slug: string }[]>`
    select p.id, p.slug from memberships m join projects p on p.account_id = m.account_id
    where m.user_id = ${userId} order by p.id`
  const ids = seen.map(({ id }) => id)
  const [found] = await sql<{ projectId: number }[]>`
    select project_id as "projectId" from traces where project_id = any (${ids}::int[]) and id = ${traceId}
    order by project_id limit 1`
  return found && seen.find(({ id }) => id === found.projectId)?.slug
}
