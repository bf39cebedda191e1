/** Users: who there is, and what they are in which account. */
import type { Sql } from 'postgres'
import type { Role } from '../../schema/roles.ts'
import { auditOf } from '../audit.ts'
import { inTurn } from './in-turn.ts'
import { announcePeople } from './sessions.ts'

export interface UserRow {
  readonly id: number
  readonly email: string
  readonly name: string
  readonly hasPassword: boolean
  readonly createdAt: string
  /** By account, as JSON text of `[{"account":"1","role":"owner"}, …]`. */
  readonly memberships: string
  /** The latest use of one of their sessions; null if there is none. */
  readonly seenAt: string | null
}

/** All users, in the order in which they were made. */
export async function readAllUsers(sql: Sql): Promise<UserRow[]> {
  return sql<UserRow[]>`${userRows(sql)} order by u.id`
}

/** The user with this address, which is in lower case. */
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
 * Makes the first user, the owner of the oldest owner account, if there are no users but such an account. Of several
 * processes at once one does.
 */
export async function insertFirstUser(sql: Sql, email: string): Promise<void> {
  await sql`
    with owner as (
      select id from accounts where type = 'owner' and not exists (select from users) order by id limit 1
    ), made as (
      insert into users (email) select ${email} from owner on conflict do nothing returning id as user_id
    ), added as (
      insert into memberships (account_id, user_id, role) select owner.id, made.user_id, 'owner' from owner, made
    )
    ${auditOf(sql, { by: null, action: 'user.add', detail: { email, role: 'owner' } }, sql`made`)}`
}

/** The user whom the terminal of a server is taken for: the first one, else the oldest owner. */
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
 * Makes a person a member of an account, and a user if they are none. The owner of another of their accounts may have
 * signed in as them with a link. So an existing user is signed out everywhere and loses their password, unless they had
 * this membership already, whose role is then the new one.
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

/**
 * Makes a viewer of whom a trusted proxy vouches for, in the oldest owner account. Nothing is changed of a known user.
 */
export async function insertVouchedUser(sql: Sql, email: string, role: Role): Promise<void> {
  await sql`
    with account as (
      select id from accounts where type = 'owner' order by id limit 1
    ), made as (
      insert into users (email) select ${email} from account on conflict do nothing returning id as user_id
    ), added as (
      insert into memberships (account_id, user_id, role) select account.id, made.user_id, ${role} from account, made
    )
    ${auditOf(sql, { by: null, action: 'user.add', detail: { email, role, means: 'proxy' } }, sql`made`)}`
}

/** Removes a user with all memberships, sessions and links. False if an account would be left without an owner. */
export async function deleteUser(sql: Sql, userId: number, email: string): Promise<boolean> {
  const [row] = await sql<[{ gone: boolean }]>`
    with owned as (
      -- The rows are locked and looked at again, so that of two owners who go at the same moment one stays.
      select account_id, user_id from memberships
      where role = 'owner' and account_id in (select account_id from memberships where user_id = ${userId} and role = 'owner')
      order by account_id, user_id for update
    ), orphaned as (
      select account_id from owned group by account_id having bool_and(user_id = ${userId})
    ), gone as (
      delete from users where id = ${userId} and not exists (select from orphaned)
      returning id as user_id, ${announcePeople(sql)} as announced
    ), audited as (
      ${auditOf(sql, { by: null, action: 'user.remove', detail: { user: userId, email } }, sql`gone`)}
    )
    select exists (select from gone) as gone`
  return row.gone
}

/** A project that a user may see, and their role there. */
export interface SeenProject {
  readonly slug: string
  readonly name: string
  readonly role: Role
  /** Whether its traces are searched by their words. */
  readonly search: boolean
}

/** The projects that a user may see, in the order in which they were made. */
export async function listSeenProjects(sql: Sql, userId: number): Promise<SeenProject[]> {
  return sql<SeenProject[]>`
    select p.slug, p.name, m.role, p.search from memberships m join projects p on p.account_id = m.account_id
    where m.user_id = ${userId} order by p.id`
}

/** The slug of the project that has this trace, among those that a user may see; the oldest of several. */
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
