/**
 * Sessions of signed-in users, and how they begin: by single-use links and by passwords (for providers, see oidc.ts). A
 * write that changes a session's permissions also tells all server processes, through KEYS_CHANNEL, to discard their
 * cached data.
 */
import type { Sql } from 'postgres'
import { ADVISORY_LOCK } from '../../database/advisory-locks.ts'
import type { Attempts } from '../../database/sql-access.ts'
import type { Role } from '../../schema/roles.ts'
import { auditOf, auditStep } from '../audit.ts'
import { KEYS_CHANNEL } from '../projects/keys.ts'
import { type ShownFactor, usingFactor } from './using-factor.ts'

/**
 * A session ends SESSION_DAYS after its last use or MOST_DAYS after its creation, whichever comes first. A session that
 * a sign-in provider began ends sooner (OIDC_SESSION), so that the provider must confirm again that it knows the
 * person.
 */
export const SESSION_DAYS = 30
const MOST_DAYS = 90
const MAX_AGENT = 200

/** A KEYS_CHANNEL notice. The notice contains spaces, so it cannot be mistaken for a key id. */
const PEOPLE_CHANGED = 'people have changed'

/** Returns SQL that notifies listeners of changes to users or sessions. */
export const announcePeople = (sql: Sql) => sql`pg_notify(${KEYS_CHANNEL}, ${PEOPLE_CHANGED})`

/**
 * A visitor and the requested project. The visitor is identified by a session digest or by an email address from a
 * trusted proxy.
 */
export interface Visiting {
  readonly digest: string | null
  readonly email: string | null
  readonly slug: string | null
}

export interface VisitRow {
  /** Position in the list of visits, from 1. */
  readonly place: number
  readonly userId: number
  readonly email: string
  readonly name: string
  readonly hasPassword: boolean
  readonly hasFactor: boolean
  /** Time of the session's last use; null if a trusted proxy authenticated the user. */
  readonly seenAt: string | null
  readonly expiresAt: string | null
  /** Time of the user's last proof of identity; null if unknown. */
  readonly provenAt: string | null
  /** The requested project's id; null unless the project exists and the user is a member of its account. */
  readonly projectId: number | null
  readonly accountId: number | null
  readonly role: Role | null
  /** Whether the project's account requires a second factor that this session does not have. */
  readonly lacksFactor: boolean
}

/** Reads the users of several visits and their roles in the projects. Visits without a user are omitted. */
export async function readVisits(sql: Sql, asked: readonly Visiting[]): Promise<VisitRow[]> {
  return sql<VisitRow[]>`
    select a.place::int as place, u.id as "userId", u.email, u.name, u.password is not null as "hasPassword",
      f.user_id is not null as "hasFactor", s.seen_at as "seenAt", s.expires_at as "expiresAt",
      s.proven_at as "provenAt", p.id as "projectId", m.account_id as "accountId", m.role,
      coalesce(c.requires_factor and s.means = 'password' and f.user_id is null, false) as "lacksFactor"
    from unnest(
      ${asked.map(({ digest }) => digest)}::bytea[], ${asked.map(({ email }) => email)}::text[],
      ${asked.map(({ slug }) => slug)}::text[]
    ) with ordinality as a (digest, email, slug, place)
    left join web_sessions s on s.digest = a.digest and s.expires_at > now()
    cross join lateral (
      select * from users where id = s.user_id
      union all
      select * from users where email = a.email
    ) u
    left join (projects p join memberships m on m.account_id = p.account_id) on p.slug = a.slug and m.user_id = u.id
    left join accounts c on c.id = m.account_id
    left join second_factors f on f.user_id = u.id and f.confirmed_at is not null`
}

/**
 * Extends sessions by setting their last use to the current time. Skips sessions marked in the last five
 * minutes.
 */
export async function touchSessions(sql: Sql, digests: readonly string[]): Promise<void> {
  await sql`
    update web_sessions s set seen_at = now(),
      expires_at = least(
        now() + ${SESSION_DAYS} * interval '1 day', s.created_at + ${MOST_DAYS} * interval '1 day', s.ends_at)
    from (
      select digest from web_sessions where digest = any (${digests as string[]}::bytea[])
        and seen_at <= now() - interval '5 minutes' and expires_at > now()
      order by digest for update
    ) due
    where s.digest = due.digest`
}

export interface NewSession {
  readonly digest: string
  readonly agent: string
  /** Address of the browser. */
  readonly client?: string | undefined
  /** Time after which the session ends even if it is used, in seconds. By default, MOST_DAYS. */
  readonly endsInS?: number | undefined
  /** The browser's previous session, which the new session replaces. */
  readonly replaces: string | undefined
}

/**
 * Proof of a user's identity. A link or a password proves the identity at the time of sign-in. An OpenID Connect
 * provider may have authenticated the user days ago, so the time that the provider reports is used.
 */
export type Proof =
  | { readonly means: 'link' | 'password' }
  | { readonly means: 'oidc'; readonly authTime: number | undefined }

/**
 * Limits the reported time to the current time, because the provider's clock may be ahead. A missing time is handled
 * separately, because `least` would turn it into the current time.
 */
const whenProven = (sql: Sql, authTime: number | undefined) =>
  authTime === undefined ? sql`null::timestamptz` : sql`least(now(), to_timestamp(${authTime}::double precision))`

/** Returns steps that create a session for the user_id of the step `source`. The step `made` returns the user_id. */
export function makingSession(sql: Sql, session: NewSession, proof: Proof, source: ReturnType<Sql>) {
  const { digest, agent, client, endsInS = null, replaces = null } = session
  const { means } = proof
  // `least` ignores a null.
  const endsAt = sql`now() + ${endsInS}::float8 * interval '1 second'`
  const provenAt = proof.means === 'oidc' ? whenProven(sql, proof.authTime) : sql`now()`
  return sql`
    made as (
      insert into web_sessions (digest, user_id, expires_at, ends_at, agent, means, proven_at)
      select ${digest}::bytea, user_id, least(now() + ${SESSION_DAYS} * interval '1 day', ${endsAt}), ${endsAt},
        ${agent.slice(0, MAX_AGENT)}, ${means}, ${provenAt}
      from ${source}
      returning user_id
    ), replaced as (
      delete from web_sessions where digest = ${replaces}::bytea and exists (select from made)
    ), expired as (
      delete from web_sessions where expires_at <= now() and exists (select from made)
    ), audited as (
      ${auditOf(sql, { by: 'source', action: 'sign-in', detail: { means }, client }, sql`made`)}
    )`
}

/**
 * Returns the session's user if an earlier attempt has created the session. Otherwise, notes that an attempt is being
 * sent, and returns undefined.
 */
export async function userOfAttempt(sql: Sql, { digest }: NewSession, attempts: Attempts): Promise<number | undefined> {
  const wasSent = attempts.sent
  attempts.sent = true
  if (!wasSent) return undefined
  const [row] = await sql<{ userId: number }[]>`
    select user_id as "userId" from web_sessions where digest = ${digest}::bytea and expires_at > now()`
  return row?.userId
}

export interface SessionRow {
  /** The session's digest, which grants no access. */
  readonly id: string
  readonly createdAt: string
  readonly seenAt: string
  readonly expiresAt: string
  readonly agent: string
  readonly means: string
}

/** Returns a user's sessions, last used first. */
export async function listWebSessions(sql: Sql, userId: number): Promise<SessionRow[]> {
  return sql<SessionRow[]>`
    select digest as id, created_at as "createdAt", seen_at as "seenAt", expires_at as "expiresAt", agent, means
    from web_sessions where user_id = ${userId} and expires_at > now() order by seen_at desc, digest`
}

/** Ends one of a user's sessions. Returns false if there is no such session. */
export async function endSession(sql: Sql, userId: number, digest: string, client?: string): Promise<boolean> {
  const [row] = await sql<[{ ended: boolean }]>`
    with gone as (
      delete from web_sessions where digest = ${digest}::bytea and user_id = ${userId}
      returning user_id, ${announcePeople(sql)} as announced
    )
    ${auditStep(sql, { by: 'source', action: 'sign-out', client }, sql`gone`)}
    select exists (select from gone) as ended`
  return row.ended
}

/** Ends all of a user's sessions and deletes the user's links. Returns the number of ended sessions. */
export async function endAllSessions(sql: Sql, userId: number, by: number | null): Promise<number> {
  const [row] = await sql<[{ ended: number }]>`
    with gone as (
      delete from web_sessions where user_id = ${userId} returning user_id
    ), links as (
      delete from sign_in_links where user_id = ${userId}
    )
    ${auditStep(sql, { by, action: 'sign-out', adding: 'user' }, sql`gone`)}
    select count(*)::int as ended, ${announcePeople(sql)} as announced from gone`
  return row.ended
}

/** Returns the number of users and of unexpired sessions. */
export async function countSessions(sql: Sql): Promise<{ users: number; sessions: number }> {
  const [row] = await sql<[{ users: number; sessions: number }]>`
    select (select count(*)::int from users) as users,
      (select count(*)::int from web_sessions where expires_at > now()) as sessions`
  return row
}

/**
 * Serializes changes to memberships, and to members' links and passwords. Statements read memberships to ensure that no
 * owner gains access to another owner's account. A statement does not see rows committed after the statement began, so
 * a separate statement takes the lock first.
 */
export async function inTurn<T>(sql: Sql, work: () => Promise<T>): Promise<T> {
  await sql`select pg_advisory_lock(${ADVISORY_LOCK.people})`
  try {
    return await work()
  } finally {
    // A lost connection has already released the lock, and the work's own error is more specific.
    await sql`select pg_advisory_unlock(${ADVISORY_LOCK.people})`.catch(() => {})
  }
}

/** Link lifetimes in minutes. Invitations last longer because a recipient may read an invitation a day later. */
export const LINK_MINUTES = 15
export const INVITATION_MINUTES = 24 * 60

/** Returns a statement step that stores a link for each user in `source`, which has the column user_id. */
export const storingLink = (sql: Sql, digest: string, minutes: number, source: ReturnType<Sql>) => sql`
  insert into sign_in_links (digest, user_id, expires_at)
  select ${digest}::bytea, user_id, now() + ${minutes} * interval '1 minute' from ${source}`

/** Stores a link for a user and deletes expired links. */
export async function insertLink(sql: Sql, userId: number, digest: string, by: number | null): Promise<void> {
  await sql`
    with expired as (
      delete from sign_in_links where expires_at <= now()
    ), person as (
      select id as user_id from users where id = ${userId}
    ), linked as (
      ${storingLink(sql, digest, LINK_MINUTES, sql`person`)}
    )
    ${auditOf(sql, { by, action: 'link.make', adding: 'user' }, sql`person`)}`
}

/**
 * Deletes a link and creates a session, or does neither. Returns the user's id; undefined if the link is unknown, was
 * already used, has expired, or belongs to a user other than `only` (if set).
 */
export async function signInByLink(
  sql: Sql,
  link: string,
  session: NewSession,
  attempts: Attempts = { sent: false },
  only: number | undefined = undefined
): Promise<number | undefined> {
  const known = await userOfAttempt(sql, session, attempts)
  if (known !== undefined) return known
  const [row] = await sql<{ userId: number }[]>`
    with used as (
      delete from sign_in_links where digest = ${link}::bytea and expires_at > now()
        and user_id = coalesce(${only ?? null}::int, user_id)
      returning user_id
    ), ${makingSession(sql, session, { means: 'link' }, sql`used`)}
    select user_id as "userId" from made`
  return row?.userId
}

/** Returns the id and the stored password of the user with this email address. */
export async function readPassword(sql: Sql, email: string) {
  const [row] = await sql<{ userId: number; password: string | null }[]>`
    select id as "userId", password from users where email = ${email}`
  return row
}

export async function hasPasswords(sql: Sql): Promise<boolean> {
  const [row] = await sql<[{ has: boolean }]>`select exists (select from users where password is not null) as has`
  return row.has
}

/** A verified password. */
export interface Proven {
  readonly userId: number
  /** Stored hash that the entered password was compared with. */
  readonly password: string
  /**
   * Signing in clears all attempts counted for `own`. For `network`, signing in clears only this attempt, because other
   * people on the same network may be guessing passwords.
   */
  readonly own: string
  readonly network: string | undefined
  /** The second factor that the person used, if any. */
  readonly factor: ShownFactor
}

/**
 * Creates a session and returns the user's id; undefined if the stored password has changed, the user no longer exists,
 * or the second factor is missing, wrong, or was used before.
 */
export async function signInByPassword(
  sql: Sql,
  { userId, password, own, network, factor }: Proven,
  session: NewSession,
  attempts: Attempts = { sent: false }
): Promise<number | undefined> {
  const known = await userOfAttempt(sql, session, attempts)
  if (known !== undefined) return known
  const audit = { by: 'source', action: 'factor.recover', client: session.client } as const
  const isRecovery = factor !== undefined && 'recovery' in factor
  const recovered = isRecovery ? sql`recovered as (${auditOf(sql, audit, sql`used`)}),` : sql``
  const [row] = await sql<{ userId: number }[]>`
    with ${usingFactor(sql, userId, factor)}, proven as (
      select id as user_id from users where id = ${userId} and password = ${password} and exists (select from factored)
    ), ${recovered} forgotten as (
      delete from sign_in_attempts where subject = ${own} and exists (select from proven)
    ), lessened as (
      update sign_in_attempts set attempts = attempts - 1
      where subject = ${network ?? null} and attempts > 0 and exists (select from proven)
    ), ${makingSession(sql, session, { means: 'password' }, sql`proven`)}
    select user_id as "userId" from made`
  return row?.userId
}

/**
 * Sets or removes (null) a user's password, deletes the user's links, and ends all sessions except `keep`. Returns
 * false if the user or the session to keep no longer exists.
 */
export async function setPassword(
  sql: Sql,
  userId: number,
  password: string | null,
  { by, keep = null, client }: { readonly by: number | null; readonly keep?: string | null; readonly client?: string }
): Promise<boolean> {
  const action = password === null ? 'password.remove' : 'password.set'
  const set = () => sql<[{ set: boolean }]>`
    with changed as (
      update users set password = ${password} where id = ${userId}
        and (${keep}::bytea is null or exists (select from web_sessions where digest = ${keep}::bytea))
      returning id as user_id, ${announcePeople(sql)} as announced
    ), ended as (
      delete from web_sessions where digest is distinct from ${keep}::bytea and user_id in (select user_id from changed)
    ), links as (
      delete from sign_in_links where user_id in (select user_id from changed)
    )
    ${auditStep(sql, { by, action, adding: 'user', client }, sql`changed`)}
    select exists (select from changed) as set`
  const [row] = await inTurn(sql, set)
  return row.set
}
