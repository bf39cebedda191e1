/** People whom an OpenID Connect provider vouches for: who they are here, with which role, and their session. */
import type { Sql } from 'postgres'
import type { Attempts } from '../../database/sql-access.ts'
import type { Person } from '../../people/oidc/claims.ts'
import { auditOf } from './audit.ts'
import { inTurn } from './in-turn.ts'
import { announcePeople, makingSession, type NewSession, userOfSession } from './sessions.ts'

/**
 * Makes a session for somebody, and a user of whom a role is given and who was none. In the oldest owner account their
 * membership is what the role says: it is made, changed and taken away, unless it was given by hand, which stays.
 * Undefined for whom is then no member of any account.
 *
 * A user who was there and gains the membership is signed out everywhere else and has no password afterwards: who owns
 * another account of theirs may have signed in as them with a link. Who gets another role, or loses it, is signed out too.
 */
export async function signInByOidc(
  sql: Sql,
  { email, name, role: given }: Person,
  session: NewSession,
  attempts: Attempts = { sent: false }
): Promise<number | undefined> {
  if (attempts.sent) {
    const known = await userOfSession(sql, session.digest)
    if (known !== undefined) return known
  }
  attempts.sent = true
  const role = given ?? null
  const means = 'oidc'
  const act = { by: null, detail: { email, role, means } } as const
  const [row] = await inTurn(
    sql,
    () => sql<{ userId: number | null }[]>`
    with account as (
      select id as account_id from accounts where type = 'owner' order by id limit 1
    ), known as (
      select id as user_id from users where email = ${email}
    ), newcomer as (
      insert into users (email, name) select ${email}, ${name} from account
      where ${role}::text is not null and not exists (select from known) returning id as user_id
    ), person as (
      select user_id from known union all select user_id from newcomer
    ), own as (
      select m.account_id, m.user_id, m.role, m.by_claim from memberships m
      join account a on a.account_id = m.account_id where m.user_id in (select user_id from known)
    ), gained as (
      insert into memberships (account_id, user_id, role, by_claim)
      select account_id, user_id, ${role}::text, true from account, person
      where ${role}::text is not null and not exists (select from own)
      returning user_id
    ), changed as (
      update memberships m set role = ${role}::text from own
      where m.account_id = own.account_id and m.user_id = own.user_id and own.by_claim and own.role <> ${role}::text
      returning m.user_id
    ), lost as (
      delete from memberships m using own
      where m.account_id = own.account_id and m.user_id = own.user_id and own.by_claim and ${role}::text is null
      returning m.user_id, m.account_id
    ), admitted as (
      select user_id from person where exists (select from gained) or exists (
        select from memberships m where m.user_id = person.user_id
          and not exists (select from lost l where l.account_id = m.account_id))
    ), entered as (
      select user_id from gained where user_id in (select user_id from known)
    ), ended as (
      delete from web_sessions where user_id in (
        select user_id from entered union all select user_id from changed union all select user_id from lost)
    ), links as (
      delete from sign_in_links where user_id in (select user_id from entered union all select user_id from lost)
    ), without_password as (
      update users set password = null where id in (select user_id from entered) and password is not null
    ), added as (
      ${auditOf(sql, { ...act, action: 'user.add' }, sql`newcomer`)}
    ), joined as (
      ${auditOf(sql, { ...act, action: 'member.add' }, sql`entered`)}
    ), moved as (
      ${auditOf(sql, { ...act, action: 'member.role' }, sql`changed`)}
    ), removed as (
      ${auditOf(sql, { ...act, action: 'member.remove' }, sql`lost`)}
    ), ${makingSession(sql, session, means, sql`admitted`)}
    select (select user_id from made) as "userId", (
      select ${announcePeople(sql)} from (
        select from entered union all select from changed union all select from lost) news limit 1
    ) as announced`
  )
  return row?.userId ?? undefined
}
