/** People authenticated by an OpenID Connect provider: their users, roles and sessions. */
import type { Sql } from 'postgres'
import type { Attempts } from '../../database/sql-access.ts'
import type { Role } from '../../schema/roles.ts'
import { auditOf, auditStep } from '../audit.ts'
import { announcePeople, inTurn, makingSession, type NewSession, userOfAttempt } from './sessions.ts'

/**
 * A person's identity at a provider. `authTime` is the time of the last authentication in seconds since 1970, if known.
 */
export interface Identity {
  readonly issuer: string
  readonly subject: string
  readonly authTime: number | undefined
}

/** A person's details as reported by the provider, and the resulting role. */
export interface Person {
  readonly email: string
  /**
   * Why the address is accepted: the provider verified it, or OIDC_TRUST_EMAIL is set. Undefined if the address is not
   * accepted.
   */
  readonly proof: 'verified' | 'trusted' | undefined
  readonly name: string
  /** The highest role that a rule gives; undefined if no rule applies. */
  readonly role: Role | undefined
}

/**
 * Reason why no session is created. `unknown`: nobody added the person, and no rule gives the person a role. `taken`:
 * the email address belongs to a user with another identity. `unproven`: nothing proves that the address is the
 * person's own.
 */
export type Refused = 'unknown' | 'taken' | 'unproven'

/**
 * Creates a session for a person, identified by issuer and subject. A new identity is linked to the user who has the
 * same email address, unless that user already has an identity. Linking requires that the address is proven, or that
 * the user signed in through a provider before identities were stored (`oidc_email_until`). If no user has the address,
 * a person with a role and a proven address becomes a new user.
 *
 * The person's membership in the oldest owner account is added, changed or removed to match the role. A membership
 * assigned by hand stays unchanged. If the person is then not a member of any account, the result is `unknown`.
 *
 * An existing user who gains the membership is signed out everywhere else and loses their password, because another
 * account's owner may have used a link to sign in as that user. A user whose role changes or is removed is also signed
 * out.
 */
export async function signInByOidc(
  sql: Sql,
  { issuer, subject, authTime }: Identity,
  { email, proof: proven, name, role: given }: Person,
  session: NewSession,
  attempts: Attempts = { sent: false }
): Promise<number | Refused> {
  const known = await userOfAttempt(sql, session, attempts)
  if (known !== undefined) return known
  const role = given ?? null
  const proof = proven ?? null
  const means = 'oidc'
  const { client } = session
  const audit = { by: null, detail: { email, role, means }, client } as const
  const identity = { issuer, subject, email }
  const signIn = () => sql<[{ userId: number | null; refused: Refused }]>`
    with account as (
      select id as account_id from accounts where type = 'owner' order by id limit 1
    ), identified as (
      select user_id from oidc_identities where issuer = ${issuer} and subject = ${subject}
    ), named as (
      select u.id as user_id, exists (select from oidc_identities i where i.user_id = u.id) as is_taken,
        case when ${proof}::text is not null then ${proof}::text when u.oidc_email_until > now() then 'before' end as proof
      from users u where u.email = ${email} and not exists (select from identified)
    ), linkable as (
      select user_id, proof from named where not is_taken and proof is not null
    ), refused as (
      select user_id, case when is_taken then 'taken' else 'unproven' end as reason from named
      where user_id not in (select user_id from linkable)
    ), known as (
      select user_id from identified union all select user_id from linkable
    ), newcomer as (
      insert into users (email, name) select ${email}, ${name} from account
      where ${role}::text is not null and ${proof}::text is not null
        and not exists (select from identified) and not exists (select from named)
      returning id as user_id
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
    ), linked as (
      insert into oidc_identities (issuer, subject, user_id)
      select ${issuer}, ${subject}, user_id from admitted where not exists (select from identified)
      returning user_id
    ), settled as (
      -- A statement can change a row only once.
      update users set oidc_email_until = null,
        password = case when id in (select user_id from entered) then null else password end
      where id in (select user_id from entered union all select user_id from linked)
    ), proven as (
      select l.user_id, coalesce(k.proof, ${proof}::text) as proof from linked l left join linkable k on k.user_id = l.user_id
    ), noted as (
      ${auditOf(sql, { by: 'source', action: 'oidc.link', detail: identity, adding: 'proof', client }, sql`proven`)}
    ), turned_away as (
      ${auditOf(sql, { by: null, action: 'oidc.refuse', detail: identity, adding: 'reason', client }, sql`refused`)}
    ), added as (
      ${auditOf(sql, { ...audit, action: 'user.add' }, sql`newcomer`)}
    ), joined as (
      ${auditOf(sql, { ...audit, action: 'member.add' }, sql`entered`)}
    ), moved as (
      ${auditOf(sql, { ...audit, action: 'member.role' }, sql`changed`)}
    ), removed as (
      ${auditOf(sql, { ...audit, action: 'member.remove' }, sql`lost`)}
    ), ${makingSession(sql, session, { means, authTime }, sql`admitted`)}
    select (select user_id from made) as "userId",
      coalesce((select reason from refused), case
        when ${proof}::text is null and ${role}::text is not null and not exists (select from known) then 'unproven'
        else 'unknown' end) as refused, (
      select ${announcePeople(sql)} from (
        select from entered union all select from changed union all select from lost) news limit 1
    ) as announced`
  const [row] = await inTurn(sql, signIn)
  return row.userId ?? row.refused
}

/** Deletes a user's identities, and ends the user's sessions and links. Returns the number of deleted identities. */
export async function unlinkIdentities(sql: Sql, userId: number): Promise<number> {
  const unlink = () => sql<[{ unlinked: number }]>`
    with gone as (
      delete from oidc_identities where user_id = ${userId} returning user_id
    ), person as (
      -- From now on, nobody can sign in by this address without proof of it.
      update users set oidc_email_until = null where id = ${userId} and oidc_email_until is not null
    ), ended as (
      delete from web_sessions where user_id in (select user_id from gone)
    ), links as (
      delete from sign_in_links where user_id in (select user_id from gone)
    )
    ${auditStep(sql, { by: null, action: 'oidc.unlink', adding: 'user' }, sql`gone`)}
    select count(*)::int as unlinked, (select ${announcePeople(sql)} from gone limit 1) as announced from gone`
  const [row] = await inTurn(sql, unlink)
  return row.unlinked
}
