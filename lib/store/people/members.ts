/**
 * Lets owners list and change the members of their accounts. An owner can neither add a user from another owner's
 * account nor create a link for that user, because the link would also give access to the other account.
 */
import type { Sql } from 'postgres'
import type { Role } from '../../schema/roles.ts'
import { auditStep } from '../audit.ts'
import { announcePeople, INVITATION_MINUTES, inTurn, storingLink } from './sessions.ts'
import type { UserRow } from './users.ts'

/** A member; `createdAt` is the time of joining. */
export interface MemberRow extends Omit<UserRow, 'hasPassword' | 'memberships'> {
  readonly role: Role
  /** Whether an OpenID Connect provider assigned the role. If so, every sign-in updates the role. */
  readonly byClaim: boolean
  readonly hasFactor: boolean
}

export interface Acting {
  readonly by: number
  readonly accountId: number
  /** Address of the acting user's client. */
  readonly client?: string | undefined
}

/** Returns an account's members, in order of joining. */
export async function listMembers(sql: Sql, accountId: number): Promise<MemberRow[]> {
  return sql<MemberRow[]>`${memberRows(sql)} where m.account_id = ${accountId} order by m.created_at, m.user_id`
}

export async function readMember(sql: Sql, accountId: number, userId: number): Promise<MemberRow | undefined> {
  const [row] = await sql<MemberRow[]>`
    ${memberRows(sql)} where m.account_id = ${accountId} and m.user_id = ${userId}`
  return row
}

function memberRows(sql: Sql) {
  return sql`
    select u.id, u.email, u.name, m.role, m.by_claim as "byClaim",
      exists (select from second_factors f where f.user_id = u.id and f.confirmed_at is not null) as "hasFactor",
      m.created_at as "createdAt",
      (select max(seen_at) from web_sessions where user_id = u.id and expires_at > now()) as "seenAt"
    from memberships m join users u on u.id = m.user_id`
}

/**
 * Invites a person. Creates the user if necessary, and stores a membership and a link. Returns the user's id; `known`
 * if the person is already a member; `elsewhere` if the person is in an account that the acting owner does not own. A
 * user without memberships is treated as new.
 */
export async function inviteMember(
  sql: Sql,
  { by, accountId, client }: Acting,
  { email, role, link }: { readonly email: string; readonly role: Role; readonly link: string }
): Promise<number | 'known' | 'elsewhere'> {
  const invite = () => sql<[{ userId: number | null; isKnown: boolean }]>`
    with found as (
      select id as user_id from users where email = ${email}
    ), theirs as (
      select user_id, account_id from memberships where user_id in (select user_id from found)
    ), made as (
      insert into users (email) select ${email} where not exists (select from theirs)
      on conflict (email) do update set password = null
      returning id as user_id, ${announcePeople(sql)} as announced
    ), own as (
      select user_id from theirs group by user_id
      having not bool_or(account_id = ${accountId}) and bool_and(account_id in (${ownedBy(sql, by)}))
    ), invited as (
      select user_id from made union all select user_id from own
    ), added as (
      insert into memberships (account_id, user_id, role) select ${accountId}, user_id, ${role} from invited
      on conflict do nothing returning user_id
    ), links_before as (
      delete from sign_in_links where user_id in (select user_id from made)
    ), sessions_before as (
      delete from web_sessions where user_id in (select user_id from made)
    ), linked as (
      ${storingLink(sql, link, INVITATION_MINUTES, sql`added`)}
    )
    ${auditStep(sql, { by, client, action: 'member.add', accountId, detail: { email, role } }, sql`added`)}
    select (select user_id from added) as "userId",
      exists (select from theirs where account_id = ${accountId}) as "isKnown"`
  const [row] = await inTurn(sql, invite)
  if (row.userId !== null) return row.userId
  return row.isKnown ? 'known' : 'elsewhere'
}

const ownedBy = (sql: Sql, userId: number) => sql`
  select account_id from memberships where user_id = ${userId} and role = 'owner'`

/**
 * Stores another link for a member. Returns false if the user is not a member, or is also a member of another owner's
 * account.
 */
export async function linkMember(
  sql: Sql,
  { by, accountId, client }: Acting,
  userId: number,
  link: string
): Promise<boolean> {
  const store = () => sql<[{ linked: boolean }]>`
    with person as (
      select user_id from memberships where user_id = ${userId} group by user_id
      having bool_or(account_id = ${accountId}) and bool_and(account_id in (${ownedBy(sql, by)}))
    ), linked as (
      ${storingLink(sql, link, INVITATION_MINUTES, sql`person`)}
    )
    ${auditStep(sql, { by, client, action: 'link.make', accountId, adding: 'user' }, sql`person`)}
    select exists (select from person) as linked`
  const [row] = await inTurn(sql, store)
  return row.linked
}

/** Outcome of a change. `missing`: there is no such member. `last`: the account would be left without an owner. */
export type MemberChange = 'done' | 'missing' | 'last'

/**
 * Returns steps that find the account's other owners. The rows are locked and reread, so that one owner remains if two
 * owners leave at the same time.
 */
const otherOwners = (sql: Sql, accountId: number, userId: number) => sql`
  owners as (
    select user_id from memberships where account_id = ${accountId} and role = 'owner' order by user_id for update
  ), others as (
    select user_id from owners where user_id <> ${userId}
  )`

/** The acting user (null for a command), the account, and the session to keep. */
interface Actor {
  readonly by: number | null
  readonly accountId: number
  readonly client?: string | undefined
  readonly keep?: string | null
}

/** Sets a member's role and ends the member's sessions except `keep`. Sign-ins no longer update the role. */
export async function setRole(
  sql: Sql,
  { by, accountId, client, keep = null }: Actor,
  userId: number,
  role: Role
): Promise<MemberChange> {
  const [row] = await sql<[{ isThere: boolean; isDone: boolean }]>`
    with ${otherOwners(sql, accountId, userId)}, member as (
      select user_id, role from memberships where account_id = ${accountId} and user_id = ${userId}
    ), changed as (
      update memberships m set role = ${role}, by_claim = false
      where m.account_id = ${accountId} and m.user_id = ${userId} and m.role <> ${role}
        and (m.role <> 'owner' or exists (select from others))
      returning m.user_id, ${announcePeople(sql)} as announced
    ), ended as (
      delete from web_sessions where user_id in (select user_id from changed) and digest is distinct from ${keep}::bytea
    )
    ${auditStep(sql, { by, client, action: 'member.role', accountId, detail: { role }, adding: 'user' }, sql`changed`)}
    select exists (select from member) as "isThere",
      exists (select from changed) or exists (select from member where role = ${role}) as "isDone"`
  return row.isDone ? 'done' : row.isThere ? 'last' : 'missing'
}

/** Removes a member from the account, and ends the member's sessions and links. */
export async function removeMember(sql: Sql, { by, accountId, client }: Actor, userId: number): Promise<MemberChange> {
  const [row] = await sql<[{ isThere: boolean; isDone: boolean }]>`
    with ${otherOwners(sql, accountId, userId)}, member as (
      select user_id from memberships where account_id = ${accountId} and user_id = ${userId}
    ), gone as (
      delete from memberships m
      where m.account_id = ${accountId} and m.user_id = ${userId}
        and (m.role <> 'owner' or exists (select from others))
      returning m.user_id, ${announcePeople(sql)} as announced
    ), ended as (
      delete from web_sessions where user_id in (select user_id from gone)
    ), links as (
      delete from sign_in_links where user_id in (select user_id from gone)
    )
    ${auditStep(sql, { by, client, action: 'member.remove', accountId, adding: 'user' }, sql`gone`)}
    select exists (select from member) as "isThere", exists (select from gone) as "isDone"`
  return row.isDone ? 'done' : row.isThere ? 'last' : 'missing'
}

export async function readRequiresFactor(sql: Sql, accountId: number): Promise<boolean> {
  const [row] = await sql<{ requires: boolean }[]>`
    select requires_factor as requires from accounts where id = ${accountId}`
  return row?.requires === true
}

/** Sets whether people with a password need a second factor to see the account's projects. */
export async function setRequiresFactor(sql: Sql, { by, accountId, client }: Acting, requires: boolean): Promise<void> {
  const action = requires ? 'factor.require' : 'factor.unrequire'
  await sql`
    with changed as (
      update accounts set requires_factor = ${requires} where id = ${accountId} and requires_factor <> ${requires}
      returning null::int as user_id, ${announcePeople(sql)} as announced
    )
    ${auditStep(sql, { by, client, action, accountId }, sql`changed`)}
    select from changed`
}

/** Whether a user is a member of another account too. Only commands may then remove the user's second factor. */
export async function isElsewhere(sql: Sql, accountId: number, userId: number): Promise<boolean> {
  const rows = await sql`select from memberships where user_id = ${userId} and account_id <> ${accountId} limit 1`
  return rows.length > 0
}
